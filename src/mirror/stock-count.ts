/**
 * Counts the stock for reports: the sums of the day (`stock_day`), those by how long it has not
 * sold (`stock_age`), and the order of the sizes that occur (`size_rank`). Reads the variants in
 * small pieces, so that nobody waits for a whole list: a count of a million rows is spread over
 * seconds, and each row counts as it is when it is read.
 */
import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { localClockOf } from '../lib/local-time.ts';
import { sortSizes } from '../lib/sizes.ts';
import { insertRows, lastChange, type SqlRow } from '../store/bulk.ts';
import { readState, writeState } from '../store/state.ts';
import type { Db, Store, Tx } from '../store/store.ts';

const DAY_MS = 86_400_000;
/** Milliseconds between two counts: a count of a million rows takes a second or two of the CPU. */
const EVERY_MS = 900_000;
/** Number of rows that one query reads, which takes a few milliseconds. */
const ROWS_MAX = 2_000;
/** Milliseconds of pause between two pieces of a count, so that others get their turn. */
const PAUSE_MS = 20;

export interface StockCountDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Sizes whose order the setting `reports.sizeOrder` gives; the others have their usual order. */
  readonly sizeOrder: readonly string[];
  /** Zone of the house, in which a day begins and ends. */
  readonly timeZone: () => string;
}

/** The kind of variants that one sum covers. */
interface Kind {
  readonly brand_name: string;
  readonly season_name: string;
  readonly currency: string;
}

interface Totals {
  readonly variants: number;
  readonly in_stock: number;
  readonly pieces: number;
  /** Pieces of variants whose quantity is above 0. */
  readonly stocked: number;
  readonly wsp_value: number;
  readonly unpriced: number;
}

/** Sums of one piece of the list, divided by size and age as well. */
interface Sums extends Kind, Totals {
  readonly size: string;
  readonly unsold_days: number;
}

/** Totals by their key as text, with the columns that make the key. */
type AllTotals = Map<string, { readonly by: SqlRow; readonly totals: Totals }>;

interface Count {
  readonly ofDay: AllTotals;
  readonly ofAges: AllTotals;
  readonly sizes: ReadonlySet<string>;
}

/** Keeps in the database which quantity each list has, onHand or free, because views show it. */
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

/**
 * Sums of the variants whose rowid is in (after, last]. A variant was last sold by its accepted
 * delivery with the highest number, because that one is first in the index of barcodes.
 */
async function sumsBetween(
  db: Db,
  after: number,
  last: number,
  now: number,
): Promise<readonly Sums[]> {
  const { rows } = await sql<Sums>`
    select brand_name, season_name, currency, size,
      case when days >= 365 then 365 when days >= 180 then 180 when days >= 90 then 90
        when days >= 30 then 30 else 0 end unsold_days,
      count(*) variants, sum(quantity > 0) in_stock, sum(quantity) pieces,
      sum(max(0, quantity)) stocked, sum(max(0, quantity) * coalesce(wsp_price, 0)) wsp_value,
      sum(iif(wsp_price is null, max(0, quantity), 0)) unpriced
    from (
      select trim(coalesce(brand_name, '')) brand_name,
        trim(coalesce(season_name, '')) season_name,
        upper(trim(coalesce(currency, ''))) currency, coalesce(size, '') size,
        coalesce(quantity, 0) quantity, wsp_price,
        (${now} - coalesce((
          select coalesce(d.created_at, d.first_seen_at)
          from delivery_line l
          cross join delivery d on d.order_delivery_id = l.order_delivery_id
          where l.barcode = v.barcode and d.status = 'accepted' and d.deleted_at is null
          order by l.order_delivery_id desc limit 1), first_seen_at)) / ${DAY_MS} days
      from stock_variant_row v
      where rowid > ${after} and rowid <= ${last} and deleted_at is null
      -- A limit keeps SQLite from looking for the delivery wherever the days are named.
      limit -1)
    group by 1, 2, 3, 4, 5`.execute(db);
  return rows;
}

async function sizesBetween(db: Db, after: number, last: number): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly size: string }>`
    select distinct size from season_variant_row
    where rowid > ${after} and rowid <= ${last} and size is not null`.execute(db);
  return rows.map(({ size }) => size);
}

/** Calls `read` for each piece of a table's rows; stops early when the signal aborts. */
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

function addUp(all: AllTotals, by: SqlRow, piece: Totals): void {
  const key = JSON.stringify(Object.values(by));
  const before = all.get(key)?.totals;
  const sum = (name: keyof Totals): number => (before?.[name] ?? 0) + piece[name];
  const totals = {
    variants: sum('variants'),
    in_stock: sum('in_stock'),
    pieces: sum('pieces'),
    stocked: sum('stocked'),
    wsp_value: sum('wsp_value'),
    unpriced: sum('unpriced'),
  };
  all.set(key, { by, totals });
}

async function count(deps: StockCountDeps, signal: AbortSignal): Promise<Count> {
  const { db } = deps.store;
  const now = deps.clock.now();
  const found = { ofDay: new Map(), ofAges: new Map(), sizes: new Set<string>() };
  await piecewise(deps, 'stock_variant_row', signal, async (after, last) => {
    for (const piece of await sumsBetween(db, after, last, now)) {
      const { brand_name, season_name, currency, unsold_days } = piece;
      addUp(found.ofDay, { brand_name, season_name, currency }, piece);
      if (piece.in_stock > 0) {
        addUp(found.ofAges, { brand_name, season_name, currency, unsold_days }, piece);
      }
      if (piece.size !== '') found.sizes.add(piece.size);
    }
  });
  await piecewise(deps, 'season_variant_row', signal, async (after, last) => {
    for (const size of await sizesBetween(db, after, last)) if (size !== '') found.sizes.add(size);
  });
  return found;
}

function dayOf(at: number, timeZone: string): string {
  return localClockOf(timeZone)(at).date;
}

/** Replaces the stock's sums of the day, and those by age. */
async function writeSums(tx: Tx, { ofDay, ofAges }: Count, day: string, at: number): Promise<void> {
  await tx.deleteFrom('stock_day').where('day', '=', day).execute();
  const days = [...ofDay.values()].map(({ by, totals }) => ({ ...by, ...totals }));
  const kind = ['brand_name', 'season_name', 'currency'];
  const dayColumns = [...kind, 'variants', 'in_stock', 'pieces', 'wsp_value', 'unpriced'];
  await insertRows(tx, 'stock_day', dayColumns, days, { day, counted_at: at });
  await tx.deleteFrom('stock_age').execute();
  const ages = [...ofAges.values()].map(
    ({ by, totals: { in_stock, stocked, wsp_value, unpriced } }) => ({
      ...by,
      variants: in_stock,
      pieces: stocked,
      wsp_value,
      unpriced,
    }),
  );
  const ageColumns = [...kind, 'unsold_days', 'variants', 'pieces', 'wsp_value', 'unpriced'];
  await insertRows(tx, 'stock_age', ageColumns, ages, { counted_at: at });
}

/** Writes the order of sizes if it changed. Sizes that once occurred keep a place. */
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
 * Counts the stock once, and tells whether the sums were kept: before the first complete pull of
 * the stock only the sizes are.
 */
async function countStock(deps: StockCountDeps, signal: AbortSignal): Promise<boolean> {
  const { store, clock, sizeOrder, timeZone } = deps;
  const counted = await count(deps, signal);
  if (signal.aborted) return false;
  return store.transaction(async (tx) => {
    const { rows } = await sql`select 1 from stream_state
      where stream = 'stock' and complete_at is not null`.execute(tx);
    await writeSizes(tx, counted.sizes, sizeOrder);
    const now = clock.now();
    if (rows.length > 0) await writeSums(tx, counted, dayOf(now, timeZone()), now);
    return rows.length > 0;
  });
}

interface LastCount {
  /** Time of the last count by the monotonic clock. */
  readonly at: number;
  readonly day: string;
  readonly seq: number;
  readonly isWhole: boolean;
}

/**
 * Creates the counter of the stock, which is called every minute. It counts at the start of each
 * day and of the process, and then every quarter of an hour in which the mirror changed, or at each
 * call until the stock was read as a whole.
 */
export function createStockCounter(deps: StockCountDeps): (signal: AbortSignal) => Promise<void> {
  const { store, clock, timeZone } = deps;
  let last: LastCount | undefined;
  return async (signal) => {
    const seq = await lastChange(store.db);
    const day = dayOf(clock.now(), timeZone());
    const at = clock.monotonic();
    const isTime = !last?.isWhole || at - last.at >= EVERY_MS;
    if (last?.day === day && (last.seq === seq || !isTime)) return;
    const isWhole = await countStock(deps, signal);
    if (!signal.aborted) last = { at, day, seq, isWhole };
  };
}
