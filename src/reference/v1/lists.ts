/**
 * Lists of variants, whole or by page. What is listed, and with which quantity, is a matter of the
 * source: stock, stock with what is on order, or a season's pre-order quantities.
 */
import type { Range } from '../world/catalog/catalog.ts';
import type { Stock } from '../world/catalog/stock.ts';
import type { RowWriter } from './variant-rows.ts';

/** Rows per piece of a whole list: some 250 kB of detailed rows. */
const PIECE_ROWS = 250;
const LIST_HEAD = '{"status":200,"message":"OK","data":{"count":';
const LIST_TAIL = ']}}';

export interface RowSource {
  count(range: Range): number;
  /** The n-th (from 0) listed variant of the range, or -1. */
  nth(range: Range, n: number): number;
  /** Undefined when the variant is not listed. */
  quantity(variant: number): number | undefined;
  /** The same, unmoved by what happens from now on: a whole list takes a while. */
  frozen(): Pick<RowSource, 'quantity'>;
}

export function stockSource(stock: Stock): RowSource {
  const listed = (quantity: number): number | undefined => (quantity > 0 ? quantity : undefined);
  return {
    count: ([from, to]) => stock.stockedIn(from, to),
    nth: ([from, to], n) => stock.nth(from, to, n),
    quantity: (variant) => listed(stock.of(variant)),
    frozen() {
      const quantities = stock.frozen();
      return { quantity: (variant) => listed(quantities[variant] ?? 0) };
    },
  };
}

/** Stock, and `extras` with quantity 0 where they are not in stock. */
export function onOrderSource(stock: Stock, extras: ReadonlySet<number>): RowSource {
  const base = stockSource(stock);
  const within = ([from, to]: Range): number => {
    let count = 0;
    for (const variant of extras) {
      if (variant >= from && variant < to && stock.of(variant) <= 0) count += 1;
    }
    return count;
  };
  const quantity = (variant: number): number | undefined =>
    base.quantity(variant) ?? (extras.has(variant) ? 0 : undefined);
  return {
    count: (range) => base.count(range) + within(range),
    nth([from, to], n) {
      let left = n;
      for (let variant = from; variant < to; variant += 1) {
        if (quantity(variant) === undefined) continue;
        if (left === 0) return variant;
        left -= 1;
      }
      return -1;
    },
    quantity,
    frozen() {
      const then = base.frozen();
      return {
        quantity: (variant) => then.quantity(variant) ?? (extras.has(variant) ? 0 : undefined),
      };
    },
  };
}

/** Every variant of the season, with what may still be ordered ahead. */
export function seasonSource(stock: Stock): RowSource {
  const quantity = (variant: number): number => stock.preOrderable(variant);
  return {
    count: ([from, to]) => to - from,
    nth: ([from, to], n) => (from + n < to ? from + n : -1),
    quantity,
    frozen: () => ({ quantity }),
  };
}

function total(source: RowSource, ranges: readonly Range[]): number {
  return ranges.reduce((sum, range) => sum + source.count(range), 0);
}

/** The envelope with all rows of the ranges, piece by piece. */
export function* wholeList(
  source: RowSource,
  ranges: readonly Range[],
  write: RowWriter,
): Generator<string> {
  const then = source.frozen();
  let piece = `${LIST_HEAD}${total(source, ranges)},"variants":[`;
  let rows = 0;
  for (const [from, to] of ranges) {
    for (let variant = from; variant < to; variant += 1) {
      const quantity = then.quantity(variant);
      if (quantity === undefined) continue;
      piece += rows === 0 ? write(variant, quantity) : `,${write(variant, quantity)}`;
      rows += 1;
      if (rows % PIECE_ROWS !== 0) continue;
      yield piece;
      piece = '';
    }
  }
  yield piece + LIST_TAIL;
}

/** The envelope with one page of rows; `page` counts from 1, `count` is of all pages. */
export function onePage(
  source: RowSource,
  ranges: readonly Range[],
  write: RowWriter,
  { page, limit }: { readonly page: number; readonly limit: number },
): string {
  const rows: string[] = [];
  let skip = (page - 1) * limit;
  let count = 0;
  for (const range of ranges) {
    const listed = source.count(range);
    count += listed;
    const skipped = Math.min(skip, listed);
    skip -= skipped;
    if (skipped === listed || rows.length === limit) continue;
    for (let at = source.nth(range, skipped); at >= 0 && at < range[1]; at += 1) {
      const quantity = source.quantity(at);
      if (quantity === undefined) continue;
      rows.push(write(at, quantity));
      if (rows.length === limit) break;
    }
  }
  return `${LIST_HEAD}${count},"variants":[${rows.join(',')}${LIST_TAIL}`;
}
