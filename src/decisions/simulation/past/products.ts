/** What the lists of variants told of the goods of a delivery at a past moment, besides prices. */
import { sql } from 'kysely';
import { spellingsOf } from '../../../lib/strings.ts';
import { byBarcode } from '../../../mirror/catalog/spelt.ts';
import type { Facts } from '../../../rules/facts/plain.ts';
import { inKeys, type SqlRow } from '../../../store/bulk.ts';
import type { Db } from '../../../store/store.ts';
import { extraFacts } from '../../facts/lines.ts';
import { type ChangedRow, changesOf, type Moment, rowAt, withChanges } from './rows.ts';

interface VariantRow extends SqlRow {
  readonly key: string;
  readonly barcode: string;
  readonly season_name: string | null;
  readonly extra: string | null;
  readonly deleted_at: number | null;
}

type Variant = ChangedRow<VariantRow>;
type ExtraFacts = ReturnType<typeof extraFacts>;

/** Both lists of variants, with the column that their changes are kept by. */
const LISTS = [
  ['stock_variant', 'barcode'],
  ['season_variant', 'season_barcode'],
] as const;

export interface PastProducts {
  /** Facts of each line's product; undefined: that is unclear. */
  of(facts: Facts, moment: Moment): Promise<readonly ExtraFacts[] | undefined>;
}

async function readVariants(
  db: Db,
  [entity, key]: (typeof LISTS)[number],
  barcodes: readonly string[],
  after: number,
): Promise<readonly Variant[]> {
  const isMeant = inKeys('barcode', barcodes);
  const { rows } = await sql<VariantRow>`
    select ${sql.ref(key)} key, barcode, season_name, extra, deleted_at
    from ${sql.table(entity)} where ${isMeant}`.execute(db);
  const keys = sql`select ${sql.ref(key)} key from ${sql.table(entity)} where ${isMeant}`;
  const changes = await changesOf(db, { entity, keys, columns: ['extra'], after });
  return withChanges(rows, changes, (row) => row.key);
}

const NONE_LISTED: ReadonlyMap<string, VariantRow> = new Map();

/** Variants with one of these barcodes that were listed then; undefined: that is unclear. */
async function listedThen(
  variants: readonly Variant[],
  barcodes: readonly string[],
  moment: Moment,
): Promise<ReadonlyMap<string, VariantRow> | undefined> {
  if (variants.length === 0) return NONE_LISTED;
  const then = variants.map((variant) => rowAt(variant, moment));
  if (then.includes(undefined)) return undefined;
  const listed = then.flatMap((one) => (one?.state === 'live' ? [one.row] : []));
  return byBarcode(barcodes, async (asked) => listed.filter((row) => asked.includes(row.barcode)));
}

export function createPastProducts(db: Db, after: number): PastProducts {
  const known = new Map<string, readonly [readonly Variant[], readonly Variant[]]>();
  const read = async (barcodes: readonly string[]): Promise<void> => {
    const more = barcodes.filter((barcode) => !known.has(barcode));
    if (more.length === 0) return;
    const spelt = more.flatMap(spellingsOf);
    const [stock, ahead] = [
      await readVariants(db, LISTS[0], spelt, after),
      await readVariants(db, LISTS[1], spelt, after),
    ];
    for (const barcode of more) {
      const spellings = new Set(spellingsOf(barcode));
      const isSpelt = ({ row }: Variant): boolean => spellings.has(row.barcode);
      known.set(barcode, [stock.filter(isSpelt), ahead.filter(isSpelt)]);
    }
  };
  return {
    async of({ delivery, order }, moment) {
      const all = delivery.lines.flatMap(({ barcode }) => (barcode ? [barcode] : []));
      const barcodes = [...new Set(all)];
      await read(barcodes);
      const season = order.season ?? null;
      const spelt = new Set(season === null ? [] : spellingsOf(season));
      const isOfSeason = ({ row }: Variant): boolean => spelt.has(row.season_name ?? '');
      const lists = barcodes.map((barcode) => known.get(barcode));
      const inStock = lists.flatMap((list) => list?.[0] ?? []);
      const inSeason = lists.flatMap((list) => list?.[1].filter(isOfSeason) ?? []);
      const stock = await listedThen([...new Set(inStock)], barcodes, moment);
      const ahead = await listedThen([...new Set(inSeason)], barcodes, moment);
      if (!stock || !ahead) return undefined;
      return delivery.lines.map(({ barcode }) => {
        const about = stock.get(barcode ?? '') ?? ahead.get(barcode ?? '');
        return extraFacts(about?.extra ?? null);
      });
    },
  };
}
