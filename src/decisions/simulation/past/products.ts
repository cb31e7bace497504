/** What the lists of variants told of the goods of a delivery at a past moment, besides prices. */
import { sql } from 'kysely';
import { spellingsOf } from '../../../lib/strings.ts';
import { barcodeSpellings, formsMeant } from '../../../mirror/catalog/spelt.ts';
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

/**
 * The variant with this barcode that was listed then, or the only one that is spelt alike; null:
 * there was none; undefined: that is unclear.
 */
function listedThen(variants: readonly Variant[], barcode: string, moment: Moment) {
  let alike: VariantRow | null | undefined = null;
  let isOnly = true;
  for (const variant of variants) {
    const then = rowAt(variant, moment);
    if (!then) return undefined;
    if (then.state !== 'live') continue;
    if (then.row.barcode === barcode) return then.row;
    isOnly &&= alike === null || alike.barcode === then.row.barcode;
    alike = then.row;
  }
  return isOnly ? alike : null;
}

const NO_FACTS = extraFacts(null);

export function createPastProducts(db: Db, after: number): PastProducts {
  const known = new Map<string, readonly [readonly Variant[], readonly Variant[]]>();
  const told = new WeakMap<VariantRow, ExtraFacts>();
  const factsOf = (row: VariantRow): ExtraFacts => {
    const facts = told.get(row) ?? extraFacts(row.extra);
    told.set(row, facts);
    return facts;
  };
  const read = async (barcodes: readonly string[]): Promise<void> => {
    const more = barcodes.filter((barcode) => !known.has(barcode));
    if (more.length === 0) return;
    const spelt = more.flatMap(barcodeSpellings);
    const [stock, ahead] = [
      await readVariants(db, LISTS[0], spelt, after),
      await readVariants(db, LISTS[1], spelt, after),
    ];
    for (const barcode of more) {
      const spellings = new Set(barcodeSpellings(barcode));
      const forms = [...stock, ...ahead].flatMap(({ row }) =>
        spellings.has(row.barcode) ? row.barcode : [],
      );
      const meant = new Set(formsMeant(barcode, forms));
      const isSpelt = ({ row }: Variant): boolean => meant.has(row.barcode);
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
      const facts: ExtraFacts[] = [];
      for (const { barcode } of delivery.lines) {
        const [stock = [], ahead = []] = known.get(barcode ?? '') ?? [];
        const inSeason =
          spelt.size === 0 ? [] : ahead.filter(({ row }) => spelt.has(row.season_name ?? ''));
        const inStock = listedThen(stock, barcode ?? '', moment);
        const about = inStock === null ? listedThen(inSeason, barcode ?? '', moment) : inStock;
        if (about === undefined) return undefined;
        facts.push(about ? factsOf(about) : NO_FACTS);
      }
      return facts;
    },
  };
}
