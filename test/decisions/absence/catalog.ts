/** A V2 whose collections come in parts, in other pages, or with half of what they relate to. */
import { V2_STREAMS } from '../../../src/config/lists.ts';
import type { Random } from '../../../src/lib/random.ts';
import type { PdmStream } from '../../../src/mirror/catalog/pdm.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { createPdmStream } from '../../../src/sync/streams/pdm.ts';
import { answerJson } from '../../client/support.ts';
import { runsOn } from '../../sync/pull.ts';
import { runnerOf, startClients } from '../../sync/support.ts';
import { CATALOG, type Resource } from './goods.ts';

const PAGE_ROWS = 16;
export const GUARD = { absolute: 1_000, share: 0.3 };
const PATHS: Readonly<Record<string, string>> = {
  styles: 'styles',
  'style-colors': 'styleColors',
  colors: 'colors',
  brands: 'pdmBrands',
};

function related(row: Resource, change: (data: unknown) => object): Resource {
  const entries = Object.entries(row.relationships).map(([name, relationship]) => [
    name,
    change(Object(relationship).data),
  ]);
  return { ...row, relationships: Object.fromEntries(entries) };
}

const half = (data: unknown): object =>
  Array.isArray(data) ? { data: data.slice(1) } : { data: null };

/** Ways in which a row comes without a part of itself. */
const CUTS = {
  whole: (row: Resource) => row,
  bare: (row: Resource) => ({ ...row, attributes: { styleNo: row.attributes.styleNo } }),
  'links only': (row: Resource) => related(row, () => ({ links: { related: '/x' } })),
  'half a relation': (row: Resource) => related(row, half),
  'no relations': (row: Resource) => ({ ...row, relationships: {} }),
  'another brand': (row: Resource) =>
    'brand' in row.relationships
      ? {
          ...row,
          relationships: { ...row.relationships, brand: { data: { type: 'brand', id: '2' } } },
        }
      : row,
} as const;
export type Cut = keyof typeof CUTS;
export const CUT_NAMES: readonly Cut[] = [
  ...(['whole', 'whole', 'whole', 'whole', 'whole'] as const),
  ...(['bare', 'links only', 'half a relation', 'no relations', 'another brand'] as const),
];

export async function startCatalog(store: SqliteStore) {
  const given: { rows: Record<string, readonly Resource[]>; pageRows: number; withLinks: boolean } =
    { rows: { ...CATALOG }, pageRows: PAGE_ROWS, withLinks: true };
  const { v2 } = await startClients(
    (request, response) => {
      if (request.url?.endsWith('/auth/login')) {
        answerJson(response, 200, { data: { token: 'a' } });
        return;
      }
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
      const rows = given.rows[PATHS[pathname.split('/').at(-1) ?? ''] ?? ''] ?? [];
      const offset = Number(searchParams.get('page[offset]') ?? 0);
      const asked = Number(searchParams.get('page[limit]') ?? PAGE_ROWS);
      const end = offset + Math.min(asked, given.pageRows);
      const next = end < rows.length ? `?page[offset]=${end}` : null;
      answerJson(response, 200, {
        data: rows.slice(offset, end),
        ...(given.withLinks ? { links: { next } } : {}),
        meta: { pageToken: 't' },
      });
    },
    { resourceRows: PAGE_ROWS },
  );
  const { run } = runsOn(runnerOf(store));
  return {
    /** Draws the pages of what comes next; tells them. */
    drawPages(random: Random): string {
      given.pageRows = random.pick([7, PAGE_ROWS, 100]);
      given.withLinks = random.chance(0.7);
      return `pages of ${given.pageRows}${given.withLinks ? '' : ' without links'}`;
    },
    async pull(stream: PdmStream, rows: readonly Resource[], cut: Cut): Promise<string> {
      given.rows[stream] = rows.map(CUTS[cut]);
      const { outcome } = await run(createPdmStream(v2, stream, GUARD));
      return outcome;
    },
    async pullAll(): Promise<void> {
      const all: Readonly<Record<string, readonly Resource[]>> = CATALOG;
      for (const stream of V2_STREAMS) {
        const rows = all[stream];
        if (!rows) continue;
        await this.pull(stream, rows, 'whole');
        await this.pull(stream, rows, 'whole');
      }
    },
  };
}
