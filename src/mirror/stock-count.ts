/**
 * Counts the stock for reports: the sums of the day (`stock_day`) and the order of the sizes that
 * occur (`size_rank`). Reads the variants in small pieces, so that nobody waits for a whole list: a
 * count of a million rows is spread over seconds, and each row counts as it is when it is read.
 */
import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { sortSizes } from '../lib/sizes.ts';
import { insertRows, lastChange, type SqlRow } from '../store/bulk.ts';
import { readState, writeState } from '../store/state.ts';
import type { Db, Store, Tx } from '../store/store.ts';

const DAY_MS = 86_400_000;
/** A quarter of an hour, because a count of a million rows takes a second or two of the CPU. */
const EVERY_MS = 900_000;
/** Rows that are read at once: a few milliseconds. */
const ROWS_MAX = 4_000;
/** Between two pieces, so that others get their turn. */
const PAUSE_MS = 20;

export interface StockCountDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Sizes in an order of their own (reports.sizeOrder). */
  readonly sizeOrder: readonly string[];
}

/** Sums of one piece of the list, by what they are kept by and the size. */
interface Sums {
  readonly brand_name: string;
  readonly season_name: string;
  readonly currency: string;
  readonly size: string;
  readonly variants: number;
  readonly in_stock: number;
  readonly pieces: number;
  readonly wsp_value: number;
  readonly unpriced: number;
}

type DaySums = Omit<Sums, 'size'>;

interface Count {
  readonly sums: readonly DaySums[];
  readonly sizes: ReadonlySet<string>;
}

/** Keeps what `quantity` of either list counts, onHand or free, where views find it. */
export async function setQuantities(
  { store, clock }: Pick<StockCountDeps, 'store' | 'clock'>,
  { stockQuantity, seasonQuantity }: Readonly<Record<'stockQuantity' | 'seasonQuantity', string>>,
): Promise<void> {
  const wanted = [
    ['stock_quantity', stockQuantity],
    ['season_quantity', seasonQuantity],
  ] as const;
  for (const [key, counts] of wanted) {
    if ((await readState(store.db, key)) === counts) continue;
    await writeState(store.db, key, counts, clock);
  }
}

async function lastRow(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{ readonly last: number | null }>`
    select max(rowid) last from ${sql.table(table)}`.execute(db);
  return rows[0]?.last ?? 0;
}

async function sumsBetween(db: Db, after: number, last: number): Promise<readonly Sums[]> {
  const { rows } = await sql<Sums>`
    select trim(coalesce(brand_name, '')) brand_name,
      trim(coalesce(season_name, '')) season_name,
      upper(trim(coalesce(currency, ''))) currency, coalesce(size, '') size,
      count(*) variants, sum(coalesce(quantity, 0) > 0) in_stock,
      sum(coalesce(quantity, 0)) pieces,
      sum(max(0, coalesce(quantity, 0)) * coalesce(wsp_price, 0)) wsp_value,
      sum(iif(wsp_price is null, max(0, coalesce(quantity, 0)), 0)) unpriced
    from stock_variant_row
    where rowid > ${after} and rowid <= ${last} and deleted_at is null
    group by 1, 2, 3, 4`.execute(db);
  return rows;
}

async function sizesBetween(db: Db, after: number, last: number): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly size: string }>`
    select distinct size from season_variant_row
    where rowid > ${after} and rowid <= ${last} and size is not null`.execute(db);
  return rows.map(({ size }) => size);
}

/** Calls `read` for the rows of a table piece by piece; stops early when the signal aborts. */
async function piecewise(
  { store, clock }: Pick<StockCountDeps, 'store' | 'clock'>,
  table: string,
  signal: AbortSignal,
  read: (after: number, last: number) => Promise<void>,
): Promise<void> {
  const last = await lastRow(store.db, table);
  for (let after = 0; after < last && !signal.aborted; after += ROWS_MAX) {
    if (after > 0) await clock.sleep(PAUSE_MS, signal).catch(() => undefined);
    await read(after, after + ROWS_MAX);
  }
}

function addUp(total: Map<string, DaySums>, { size: _, ...piece }: Sums): void {
  const key = JSON.stringify([piece.brand_name, piece.season_name, piece.currency]);
  const before = total.get(key);
  if (!before) {
    total.set(key, piece);
    return;
  }
  total.set(key, {
    ...piece,
    variants: before.variants + piece.variants,
    in_stock: before.in_stock + piece.in_stock,
    pieces: before.pieces + piece.pieces,
    wsp_value: before.wsp_value + piece.wsp_value,
    unpriced: before.unpriced + piece.unpriced,
  });
}

async function count(deps: StockCountDeps, signal: AbortSignal): Promise<Count> {
  const { db } = deps.store;
  const total = new Map<string, DaySums>();
  const sizes = new Set<string>();
  await piecewise(deps, 'stock_variant_row', signal, async (after, last) => {
    for (const piece of await sumsBetween(db, after, last)) {
      addUp(total, piece);
      if (piece.size !== '') sizes.add(piece.size);
    }
  });
  await piecewise(deps, 'season_variant_row', signal, async (after, last) => {
    for (const size of await sizesBetween(db, after, last)) if (size !== '') sizes.add(size);
  });
  return { sums: [...total.values()], sizes };
}

/** Replaces the sums of the day. */
async function writeDay(tx: Tx, sums: readonly DaySums[], at: number): Promise<void> {
  const day = new Date(at).toISOString().slice(0, 10);
  await tx.deleteFrom('stock_day').where('day', '=', day).execute();
  const rows: readonly SqlRow[] = sums.map((one) => ({ ...one }));
  const columns = [
    ...['brand_name', 'season_name', 'currency'],
    ...['variants', 'in_stock', 'pieces', 'wsp_value', 'unpriced'],
  ];
  await insertRows(tx, 'stock_day', columns, rows, { day, counted_at: at });
}

/** Writes the ranks where they are other ones. Sizes that once occurred keep a place. */
async function writeSizes(
  tx: Tx,
  sizes: ReadonlySet<string>,
  own: readonly string[],
): Promise<void> {
  const known = await tx.selectFrom('size_rank').select('size').orderBy('rank').execute();
  const before = known.map(({ size }) => size);
  const now = sortSizes([...before, ...sizes], own);
  if (JSON.stringify(now) === JSON.stringify(before)) return;
  await tx.deleteFrom('size_rank').execute();
  const rows = now.map((size, at) => ({ size, rank: at + 1 }));
  await insertRows(tx, 'size_rank', ['size', 'rank'], rows);
}

/**
 * Counts once, and gives whether the sums were kept: before the first whole list of the stock only
 * the sizes are.
 */
async function countStock(deps: StockCountDeps, signal: AbortSignal): Promise<boolean> {
  const { store, clock, sizeOrder } = deps;
  const counted = await count(deps, signal);
  if (signal.aborted) return false;
  return store.transaction(async (tx) => {
    const { rows } = await sql`select 1 from stream_state
      where stream = 'stock' and complete_at is not null`.execute(tx);
    await writeSizes(tx, counted.sizes, sizeOrder);
    if (rows.length > 0) await writeDay(tx, counted.sums, clock.now());
    return rows.length > 0;
  });
}

interface LastCount {
  /** By the monotonic clock. */
  readonly at: number;
  readonly day: number;
  readonly seq: number;
  readonly isWhole: boolean;
}

/**
 * Counts at the start of each day and of the process, and then every quarter of an hour in which
 * the mirror changed, or at each call until the stock was read as a whole. Called every minute.
 */
export function createStockCounter(deps: StockCountDeps): (signal: AbortSignal) => Promise<void> {
  const { store, clock } = deps;
  let last: LastCount | undefined;
  return async (signal) => {
    const seq = await lastChange(store.db);
    const day = Math.floor(clock.now() / DAY_MS);
    const at = clock.monotonic();
    const isTime = !last?.isWhole || at - last.at >= EVERY_MS;
    if (last?.day === day && (last.seq === seq || !isTime)) return;
    const isWhole = await countStock(deps, signal);
    if (!signal.aborted) last = { at, day, seq, isWhole };
  };
}
