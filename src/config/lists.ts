/**
 * Lists of the service that are mirrored as a whole, each declared once: its words for people, when
 * it is pulled, and what its deletion guard allows.
 *
 * A new list is an entry here, its table in a migration, what its columns tell of people in
 * `store/tables/people.ts`, its rows at the service (`client/v1/short-lists.ts` or
 * `client/v2/resources.ts`) and in the mirror (`mirror/catalog/names.ts` or `pdm.ts`). Then
 * `npm run references` writes the types of the tables and the pages again. It may also need, in V1,
 * the level that has it (`STREAM_NEEDS` in `level.ts`) with a sibling that tells a wrong one
 * (`sync/streams/at-level.ts`), and times that people may set (`schema/streams.ts` and
 * `config/selvedge.yaml`; then without `schedule` and `freshness` here).
 */

interface DeclaredList {
  /** Name of a row's entity in the mirror. */
  readonly entity: string;
  readonly words: readonly [one: string, all: string];
  /** Values that are no settings; a time that is left out is a setting. */
  readonly fixed: {
    readonly schedule?: string;
    readonly freshness?: number;
    /** Limits, in rows and as a share: a run that deletes more waits for a person. */
    readonly deletionGuard: { readonly absolute: number; readonly share: number };
  };
}

const HOUR_MS = 3_600_000;

const guard = (absolute: number, share: number) => ({ absolute, share });

/** Short lists of V1, by the name of their stream. */
export const V1_LISTS = {
  brands: {
    entity: 'brand',
    words: ['brand', 'brands'],
    fixed: { deletionGuard: guard(20, 0.2) },
  },
  freight: {
    entity: 'freight_option',
    words: ['freight option', 'freight options'],
    fixed: { deletionGuard: guard(10, 0.3) },
  },
  seasons: {
    entity: 'season',
    words: ['season', 'seasons'],
    fixed: { deletionGuard: guard(3, 0.3) },
  },
} as const satisfies Readonly<Record<string, DeclaredList>>;

/** All streams of V2, by their names; most of these lists hardly ever change. */
export const V2_LISTS = {
  styles: {
    type: 'style',
    entity: 'style',
    words: ['style', 'styles'],
    fixed: { deletionGuard: guard(200, 0.1) },
  },
  styleColors: {
    type: 'styleColor',
    entity: 'style_color',
    words: ['color of a style', 'colors of styles'],
    fixed: { deletionGuard: guard(500, 0.1) },
  },
  colors: {
    type: 'color',
    entity: 'color',
    words: ['color', 'colors'],
    fixed: { schedule: '21 */3 * * *', freshness: 7 * HOUR_MS, deletionGuard: guard(50, 0.2) },
  },
  pdmBrands: {
    type: 'brand',
    entity: 'pdm_brand',
    words: ['brand of styles', 'brands of styles'],
    fixed: { schedule: '22 */3 * * *', freshness: 7 * HOUR_MS, deletionGuard: guard(20, 0.2) },
  },
  types: {
    type: 'type',
    entity: 'style_type',
    words: ['type of styles', 'types of styles'],
    fixed: { schedule: '24 */3 * * *', freshness: 7 * HOUR_MS, deletionGuard: guard(20, 0.2) },
  },
  genders: {
    type: 'gender',
    entity: 'gender',
    words: ['gender', 'genders of styles'],
    fixed: { schedule: '26 */12 * * *', freshness: 25 * HOUR_MS, deletionGuard: guard(5, 0.3) },
  },
  countries: {
    type: 'country',
    entity: 'country',
    words: ['country', 'countries'],
    fixed: { schedule: '28 */12 * * *', freshness: 25 * HOUR_MS, deletionGuard: guard(20, 0.2) },
  },
} as const satisfies Readonly<Record<string, DeclaredList & { readonly type: string }>>;

type V1List = keyof typeof V1_LISTS;
type V2List = keyof typeof V2_LISTS;

/** Names of the streams of V1's short lists, and of those of V2. */
export const V1_STREAMS = Object.keys(V1_LISTS).filter((name): name is V1List =>
  Object.hasOwn(V1_LISTS, name),
);
export const V2_STREAMS = Object.keys(V2_LISTS).filter((name): name is V2List =>
  Object.hasOwn(V2_LISTS, name),
);

/** Words for the streams of lists, by their names. */
export function wordsOfLists(lists: Readonly<Record<string, DeclaredList>>) {
  return Object.fromEntries(Object.entries(lists).map(([name, { words }]) => [name, words[1]]));
}

/** Words for one row of each list, by its entity. */
export function wordsOfRows(lists: Readonly<Record<string, DeclaredList>>) {
  return Object.fromEntries(Object.values(lists).map(({ entity, words }) => [entity, words[0]]));
}
