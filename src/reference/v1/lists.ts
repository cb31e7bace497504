/**
 * Lists of variants, whole or by page. A source decides which variants are listed, and with which
 * quantity: stock, stock with variants on order, or a season's pre-order quantities.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ListedRow } from '../dialect/lists.ts';
import type { Range } from '../world/catalog/catalog.ts';
import type { Stock } from '../world/catalog/stock.ts';
import { createByteSink } from './bytes.ts';
import type { RowWriter } from './variant-rows.ts';

/** Bytes of the pieces in which a whole list is sent. */
const PIECE_BYTES = 262_144;
/** Bytes by which the last row of a piece may exceed the piece's size. */
const SLACK_BYTES = 2_048;
const LIST_HEAD = '{"status":200,"message":"OK","data":{"count":';
const LIST_TAIL = ']}}';

export interface RowSource {
  count(range: Range): number;
  /** The n-th (from 0) listed variant of the range; -1: there are fewer. */
  nth(range: Range, n: number): number;
  /** Quantity of a variant; undefined: it is not listed. */
  quantity(variant: number): number | undefined;
  /** The same quantities, unchanged by later events, because a whole list takes a while. */
  frozen(): Pick<RowSource, 'quantity'>;
}

/** Source of the stock list, which leaves out sold-out variants unless the account lists all. */
export function stockSource(stock: Stock, withSoldOut = false): RowSource {
  if (withSoldOut) return everySource((variant) => stock.of(variant));
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

/**
 * Source of the stock list together with `extras`, which have quantity 0 where they are not in
 * stock.
 */
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

/** Source that lists every variant of a range. */
function everySource(quantity: (variant: number) => number): RowSource {
  return {
    count: ([from, to]) => to - from,
    nth: ([from, to], n) => (from + n < to ? from + n : -1),
    quantity,
    frozen: () => ({ quantity }),
  };
}

/** Source of a season's list: every variant, with the quantity that may still be pre-ordered. */
export function seasonSource(stock: Stock): RowSource {
  return everySource((variant) => stock.preOrderable(variant));
}

/** Encodes the envelope with rows that were put together before, each with its own season. */
export function* givenRows(
  count: number,
  rows: readonly ListedRow[],
  writerOf: (season: number | undefined) => RowWriter,
): Generator<Buffer, void> {
  const sink = createByteSink(() => Buffer.allocUnsafe(PIECE_BYTES + SLACK_BYTES));
  const writers = new Map<number | undefined, RowWriter>();
  sink.ascii(`${LIST_HEAD}${count},"variants":[`);
  let comma = '';
  for (const { variant, quantity, season } of rows) {
    const write = writers.get(season) ?? writerOf(season);
    writers.set(season, write);
    sink.ascii(comma);
    comma = ',';
    write(sink, variant, quantity);
    if (sink.length() >= PIECE_BYTES) yield sink.take();
  }
  sink.ascii(LIST_TAIL);
  yield sink.take();
}

function total(source: RowSource, ranges: readonly Range[]): number {
  return ranges.reduce((sum, range) => sum + source.count(range), 0);
}

/** Encodes the envelope with all rows of the ranges, piece by piece. */
export function* wholeList(
  source: RowSource,
  ranges: readonly Range[],
  write: RowWriter,
): Generator<Buffer, void> {
  const then = source.frozen();
  const sink = createByteSink(() => Buffer.allocUnsafe(PIECE_BYTES + SLACK_BYTES));
  sink.ascii(`${LIST_HEAD}${total(source, ranges)},"variants":[`);
  let comma = '';
  for (const [from, to] of ranges) {
    for (let variant = from; variant < to; variant += 1) {
      const quantity = then.quantity(variant);
      if (quantity === undefined) continue;
      sink.ascii(comma);
      comma = ',';
      write(sink, variant, quantity);
      if (sink.length() >= PIECE_BYTES) yield sink.take();
    }
  }
  sink.ascii(LIST_TAIL);
  yield sink.take();
}

/**
 * Gives the pieces one by one, each in a turn of the event loop of its own: other requests are
 * answered in between, as at a service that has more than one thread.
 */
export async function* inTurns(pieces: Iterable<Buffer>): AsyncGenerator<Buffer, void> {
  for (const piece of pieces) {
    yield piece;
    await nextTurn();
  }
}

export interface PageRequest {
  /** Number of the page, from 1. */
  readonly page: number;
  readonly limit: number;
  /** Buffer to write the page into, if it is large enough. */
  readonly buffer: Buffer;
}

/** Encodes the envelope with one page of rows; its `count` is that of all pages. */
export function onePage(
  source: RowSource,
  ranges: readonly Range[],
  write: RowWriter,
  { page, limit, buffer }: PageRequest,
): Buffer {
  const sink = createByteSink(() => buffer);
  sink.ascii(`${LIST_HEAD}${total(source, ranges)},"variants":[`);
  let skip = (page - 1) * limit;
  let rows = 0;
  for (const range of ranges) {
    if (rows === limit) break;
    const listed = skip > 0 ? source.count(range) : 0;
    if (skip > 0 && skip >= listed) {
      skip -= listed;
      continue;
    }
    for (let at = source.nth(range, skip); at >= 0 && at < range[1] && rows < limit; at += 1) {
      const quantity = source.quantity(at);
      if (quantity === undefined) continue;
      if (rows > 0) sink.ascii(',');
      write(sink, at, quantity);
      rows += 1;
    }
    skip = 0;
  }
  sink.ascii(LIST_TAIL);
  return sink.take();
}
