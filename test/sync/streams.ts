/** Every stream that there is, for tests that hold them all to the same. */
import { BRAND, FREIGHT_OPTION, SEASON } from '../../src/mirror/catalog/names.ts';
import type { Traits } from '../../src/sync/account-traits.ts';
import type { Stream } from '../../src/sync/stream.ts';
import { createPdmStream } from '../../src/sync/streams/pdm.ts';
import { createSeasonStream } from '../../src/sync/streams/season.ts';
import { readSeasons } from '../../src/sync/streams/seasons.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { type Clients, DELETION_GUARD } from './pull.ts';

/** Written down once more than in the program: a stream that it forgets must not be missed here. */
export const PDM_STREAMS = [
  'styles',
  'styleColors',
  'colors',
  'pdmBrands',
  'types',
  'genders',
  'countries',
] as const;

/** All but those of the orders, which need a refetcher (orders-support.ts). */
export function listStreams(
  { v1, v2 }: Pick<Clients, 'v1' | 'v2'>,
  mode: 'stream' | 'pages',
  deletionGuard = DELETION_GUARD,
  traits?: Traits,
): Stream[] {
  const level = { detailed: true, detailedPricing: false };
  const paging = { mode, pageRows: 50, deletionGuard, traits };
  const short = { deletionGuard };
  return [
    createStockStream(v1, { ...paging, level: { ...level, includeVariantsOnOrder: false } }),
    createSeasonStream(v1, { ...paging, level }),
    createShortListStream({
      ...short,
      name: 'brands',
      entity: BRAND,
      read: (call) => v1.shortList('brands', call),
    }),
    createShortListStream({
      ...short,
      name: 'freight',
      entity: FREIGHT_OPTION,
      read: (call) => v1.shortList('freight', call),
    }),
    createShortListStream({
      ...short,
      name: 'seasons',
      entity: SEASON,
      read: (call) => (traits ? readSeasons({ v1, traits }, call) : v1.shortList('seasons', call)),
    }),
    ...PDM_STREAMS.map((name) => createPdmStream(v2, name, deletionGuard)),
  ];
}
