/**
 * The stream `season`: variants that can be pre-ordered, one part per current season, and per brand
 * where the account wants brands named. A season removed since it was listed keeps the run from
 * being complete, but not other seasons from being read.
 */
import type { VariantLevel } from '../../client/v1/catalog.ts';
import type { V1Client } from '../../client/v1/client.ts';
import { barcodeOfKey, seasonOfKey, seasonVariants } from '../../mirror/catalog/variant.ts';
import { upsertRows } from '../../mirror/entity.ts';
import { copied } from '../../mirror/members.ts';
import type { SqlValue } from '../../store/bulk.ts';
import type { Traits } from '../account-traits.ts';
import {
  type DeletionGuard,
  doubtsIn,
  type Stream,
  type StreamEnd,
  type StreamRun,
} from '../stream.ts';
import { readBrands, wholeOrByBrand } from './by-brand.ts';
import { endOfParts, firstRows, type ListPart, pullParts } from './parts.ts';
import { countsOfSeasons, namedSeasons, readSeasons } from './seasons.ts';
import type { ListPaging } from './stock.ts';

export interface SeasonOptions extends ListPaging {
  readonly level: Required<VariantLevel>;
  readonly deletionGuard: DeletionGuard;
  /** Traits of the account that were learned; undefined: the account is as in the contract. */
  readonly traits?: Traits | undefined;
}

type SeasonClient = Pick<V1Client, 'shortList' | 'seasonVariant' | 'seasonVariants'>;

interface Season {
  readonly seasonName: string;
  /** Brands that list the season; undefined: unknown. */
  readonly brands: readonly string[] | undefined;
}

function partOf(seasonName: string, brandName?: string): ListPart {
  if (brandName === undefined) {
    return { list: { kind: 'season', seasonName }, what: seasonName, group: seasonName };
  }
  const list = { kind: 'season', seasonName, brandName } as const;
  return { list, what: `${seasonName} of ${brandName}`, group: seasonName };
}

/** Counts the variants' keys per season. */
async function rowsBySeason(_db: unknown, keys: readonly SqlValue[]) {
  const rows = new Map<string, number>();
  for (const key of keys) {
    const season = seasonOfKey(String(key));
    rows.set(season, (rows.get(season) ?? 0) + 1);
  }
  return rows;
}

async function pullSeasons(
  v1: SeasonClient,
  { level, traits }: Pick<SeasonOptions, 'level' | 'traits'>,
  context: StreamRun,
): Promise<StreamEnd> {
  const { run, call } = context;
  const listing = await readSeasons({ v1, traits }, call);
  const { names, doubts: odd } = namedSeasons(listing);
  const before = [...doubtsIn(run.checkpoint), ...odd, ...listing.doubts];
  const seasons = names.map((seasonName): Season => {
    return { seasonName, brands: listing.brandsOf?.get(seasonName) };
  });
  const open = ({ list }: ListPart, about: Parameters<V1Client['seasonVariants']>[2]) =>
    v1.seasonVariants(list.kind === 'season' ? list.seasonName : '', level, about);
  const pull = async (parts: readonly ListPart[], doubts: readonly string[]) => {
    const pulled = await pullParts(context, open, parts, doubts);
    const end = endOfParts(parts, pulled, ({ group }) => group);
    return { ...end, counts: [...countsOfSeasons(listing), ...(end.counts ?? [])] };
  };
  return wholeOrByBrand(traits, 'season', {
    whole: () => {
      const parts = seasons.map(({ seasonName }) => partOf(seasonName));
      return pull(parts, before);
    },
    async byBrand() {
      const brands = await readBrands(v1, call);
      const parts = seasons.flatMap(({ seasonName, brands: own }) =>
        (own ?? brands.names).map((brandName) => partOf(seasonName, brandName)),
      );
      return pull(parts, [...before, ...brands.doubts]);
    },
    isEmpty: ({ expectedRows }) => expectedRows === 0 && seasons.length > 0,
    async tryOne() {
      const [season] = seasons;
      const [brandName] = season?.brands ?? (await readBrands(v1, call)).names;
      if (season === undefined || brandName === undefined) return 0;
      return firstRows(v1.seasonVariants(season.seasonName, level, { ...call, brandName }));
    },
  });
}

export function createSeasonStream(v1: SeasonClient, options: SeasonOptions): Stream {
  const { mode, pageRows, level, deletionGuard, traits } = options;
  const perBrand = traits && traits.needs.mode !== 'auto' ? { perBrand: traits.needs.mode } : {};
  return {
    name: 'season',
    options: { ...level, mode, pageRows, ...perBrand },
    list: {
      entity: seasonVariants(''),
      deletionGuard,
      isPaged: mode === 'pages',
      isLong: true,
      rowsByPart: rowsBySeason,
      async lookUp(key, call) {
        const seasonName = seasonOfKey(key);
        const barcode = barcodeOfKey(key);
        const { value } = await v1.seasonVariant(seasonName, barcode, level, call);
        const entity = seasonVariants(seasonName);
        const row = entity.toRow(copied(value));
        return {
          write: (tx, provenance) => upsertRows(tx, entity, [row], provenance),
          isSoldOut: value.quantity !== null && value.quantity <= 0,
        };
      },
    },
    pull: (context) => pullSeasons(v1, options, context),
  };
}
