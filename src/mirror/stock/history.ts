/** List of every change of a style's or a variant's stock. */
import { z } from 'zod';
import { decimalOf, formatDecimal } from '../../lib/money.ts';
import { inKeys, type SqlRow, type SqlValue } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';
import { list, type Page, pageOfAll } from '../../surface/lists.ts';
import { text, time } from '../../surface/members.ts';
import { changedColumns, stockWords } from '../point-in-time.ts';
import { mirrored, named, pieces } from './members.ts';
import { variantOfBarcode, variantsOfStyle } from './past.ts';
import { requireStyle } from './styles.ts';

/** Columns of the mirror that are in ten-thousandths. */
const MONEY = new Set([
  'price',
  'wsp_price',
  'price_original',
  'b2c_sale_price',
  'net_price',
  'price_before_discount',
  'discount_percent',
]);

/** Converts a value to a decimal number if its column is in ten-thousandths. */
export function plain(column: string, value: SqlValue): SqlValue {
  return MONEY.has(column) && typeof value === 'number' ? decimalOf(value) : value;
}

const value = z.union([z.string(), z.number(), z.null()]);

const row = {
  at: time('Time'),
  barcode: mirrored('Barcode'),
  color: mirrored('Colour').nullable(),
  size: mirrored('Size').nullable(),
  what: text('What'),
  changed: z.array(z.strictObject({ column: z.string(), before: value, after: value })),
  currency: mirrored('Currency').nullable(),
  seq: pieces('Number', { about: 'Its number in the change feed' }),
};
type Movement = { readonly [K in keyof typeof row]: z.output<(typeof row)[K]> };

export function textOf(of: SqlValue | undefined): string | null {
  return typeof of === 'string' && of !== '' ? of : null;
}

function shown(column: string, of: SqlValue, currency: string | null): string {
  if (of === null) return '-';
  return MONEY.has(column) && typeof of === 'number' ? formatDecimal(of, currency) : String(of);
}

/**
 * Changes of variants, the newest first. What a change did to the stock follows from all that came
 * after it, so that a later page reads those before it as well.
 */
async function readMovements(db: Db, rows: readonly SqlRow[], page: Page): Promise<Movement[]> {
  const variants = new Map(rows.map((one) => [String(one.barcode), one]));
  const isFirst = page.after === undefined && page.back === undefined;
  const query = db
    .selectFrom('change')
    .select(['seq', 'key', 'at', 'op', 'diff'])
    .where('entity', '=', 'stock_variant')
    .where(inKeys('key', [...variants.keys()]))
    .orderBy('seq', 'desc');
  const changes = await (isFirst ? query.limit(page.limit) : query).execute();
  const words = [...Map.groupBy(changes, ({ key }) => key)].flatMap(([key, newest]) => {
    const oldest = newest.toReversed();
    const said = stockWords(variants.get(key) ?? {}, oldest);
    return oldest.map(({ seq }, index) => [seq, said[index] ?? ''] as const);
  });
  const whatOf = new Map(words);
  return changes.map((change) => {
    const of = variants.get(change.key) ?? {};
    const changed = changedColumns(change).filter(({ column }) => column !== 'extra');
    return {
      at: change.at,
      barcode: change.key,
      color: textOf(of.color_name),
      size: textOf(of.size),
      what: whatOf.get(change.seq) ?? '',
      changed: changed.map(({ column, before, after }) => ({
        column,
        before: plain(column, before),
        after: plain(column, after),
      })),
      currency: textOf(of.currency),
      seq: change.seq,
    };
  });
}

export const history = list({
  name: 'stock.history',
  command: 'stock --history',
  operation: 'listStockChanges',
  path: '/stock/{id}/history',
  title: 'Movements',
  about: 'every change of the stock, sold out and back in stock included, the newest first',
  examples: [],
  args: ['style'],
  thing: 'style',
  query: { style: named },
  row,
  shown: [
    'at',
    'barcode',
    'color',
    'size',
    'what',
    {
      title: 'From → to',
      text: ({ changed, currency }) =>
        changed
          .map(({ column, before, after }) => {
            const from = shown(column, before, currency);
            return `${column} ${from} → ${shown(column, after, currency)}`;
          })
          .join(', '),
    },
  ],
  terminal: ['Time', 'Barcode', 'What', 'From → to'],
  empty: 'The feed has no change of it: it keeps them for store.retention.changes.',
  async read({ db }, { style: name }, page) {
    const one = await variantOfBarcode(db, name, undefined);
    const found =
      one.length > 0
        ? one
        : await variantsOfStyle(db, (await requireStyle(db, name)).style, undefined);
    const rows = found.map((variant) => variant.row);
    return pageOfAll(await readMovements(db, rows, page), page, ({ seq }) => String(seq));
  },
  place: ({ seq }) => String(seq),
});
