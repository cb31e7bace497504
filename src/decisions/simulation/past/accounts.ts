/**
 * What the mirror knew of an account at a past moment: its orders, those with the same lines, and
 * its refunds. It is the same as `decisions/facts/customer.ts` counts for a decision now.
 */
import { type RawBuilder, sql } from 'kysely';
import { inKeys, type SqlRow } from '../../../store/bulk.ts';
import type { Db } from '../../../store/store.ts';
import { linesOf, REFUNDS_MS, SIMILAR_MS, SIMILAR_ORDERS_MAX } from '../../facts/customer.ts';
import {
  type ChangedRow,
  changesOf,
  type Moment,
  orderOf,
  type PastRow,
  rowAt,
  withChanges,
} from './rows.ts';

interface OrderRow extends SqlRow {
  readonly order_id: number;
  readonly account_no: string | null;
  readonly reference: string | null;
  readonly status: string;
  readonly created_at: number | null;
  readonly first_seen_at: number;
  readonly deleted_at: number | null;
}

interface RefundRow extends SqlRow {
  readonly order_refund_id: number;
  readonly order_id: number;
  readonly status: string;
  readonly created_at: number | null;
  readonly first_seen_at: number;
  readonly deleted_at: number | null;
}

/** An order of which facts are asked, as the decision's own facts tell of it. */
export interface AskedOrder {
  readonly orderId: number;
  readonly createdAt: number;
  readonly reference: string;
}

/** States of a refund that does not count. */
const UNCOUNTED = ['rejected', 'canceled'];
const NO_REFUNDS: readonly ChangedRow<RefundRow>[] = [];

function placedAt({ row }: PastRow<OrderRow | RefundRow>): number {
  return row.created_at ?? row.first_seen_at;
}

function counts({ row, state }: PastRow<OrderRow>): boolean {
  return state === 'live' && row.status !== 'canceled';
}

/** Reads rows of accounts, each once. */
export interface AccountRows {
  /** Orders that went from one account to another in the period, by id; there are few, if any. */
  moved(): Promise<ReadonlyMap<number, ChangedRow<OrderRow>>>;
  /** All orders that the account has now, the oldest first. */
  orders(accountNo: string): Promise<readonly ChangedRow<OrderRow>[]>;
  /**
   * Lines of orders as they are now, each as one text; null: not all of them are known.
   * @param orders those of the account, of which the lines of the newest are read at once.
   */
  lines(
    orders: readonly PastRow<OrderRow>[],
    orderIds: readonly number[],
  ): Promise<ReadonlyMap<number, string | null>>;
  /** Refunds that may count in the period, by order. */
  refunds(): Promise<ReadonlyMap<number, readonly ChangedRow<RefundRow>[]>>;
}

/** Period of the moments that are asked about. */
interface Past {
  readonly since: number;
  /** Number of the change feed before which no change matters. */
  readonly after: number;
}

async function readOrders(db: Db, { since, after }: Past, isMeant: RawBuilder<unknown>) {
  const { rows } = await sql<OrderRow>`
    select order_id, account_no, reference, status, created_at, first_seen_at, deleted_at
    from sales_order where ${isMeant} order by order_id`.execute(db);
  const keys = sql`select order_id || '' key from sales_order
    where ${isMeant} and changed_at >= ${since}`;
  const columns = ['account_no', 'reference', 'status', 'created_at', 'lines'];
  const changes = await changesOf(db, { entity: 'sales_order', keys, columns, after });
  return withChanges(rows, changes, (row) => String(row.order_id));
}

async function readMoved(db: Db, past: Past) {
  const { rows } = await sql<{ readonly id: number }>`
    select distinct o.order_id id from sales_order o
    cross join change c on c.entity = 'sales_order' and c.key = o.order_id || ''
      and c.seq > ${past.after}
    where o.changed_at >= ${past.since} and c.diff->'$.account_no' is not null`.execute(db);
  const ids = inKeys(
    'order_id',
    rows.map(({ id }) => id),
  );
  const orders = await readOrders(db, past, ids);
  return new Map(orders.map((order) => [order.row.order_id, order] as const));
}

async function readLines(db: Db, orderIds: readonly number[]) {
  const { rows } = await sql<{ readonly id: number; readonly lines: string | null }>`
    select o.order_id id, ${linesOf('o.order_id')} lines
    from (select value order_id from json_each(${JSON.stringify(orderIds)})) o`.execute(db);
  return rows;
}

async function readRefunds(db: Db, { since, after }: Past) {
  const isMeant = sql`coalesce(created_at, first_seen_at) > ${since - REFUNDS_MS}
    or changed_at >= ${since}`;
  const { rows } = await sql<RefundRow>`
    select order_refund_id, order_id, status, created_at, first_seen_at, deleted_at
    from refund where ${isMeant}`.execute(db);
  const keys = sql`select order_refund_id || '' key from refund where ${isMeant}`;
  const columns = ['status', 'created_at'];
  const changes = await changesOf(db, { entity: 'refund', keys, columns, after });
  const refunds = withChanges(rows, changes, (row) => String(row.order_refund_id));
  return Map.groupBy(refunds, ({ row }) => row.order_id);
}

export function createAccountRows(db: Db, past: Past): AccountRows {
  const orders = new Map<string, readonly ChangedRow<OrderRow>[]>();
  const lines = new Map<number, string | null>();
  let moved: ReturnType<typeof readMoved> | undefined;
  let refunds: ReturnType<typeof readRefunds> | undefined;
  return {
    moved() {
      moved ??= readMoved(db, past);
      return moved;
    },
    async orders(accountNo) {
      const ofAccount = sql`account_no = ${accountNo}`;
      const known = orders.get(accountNo) ?? (await readOrders(db, past, ofAccount));
      orders.set(accountNo, known);
      return known;
    },
    async lines(ofAccount, orderIds) {
      if (orderIds.every((id) => lines.has(id))) return lines;
      const isNew = (order: PastRow<OrderRow>) => placedAt(order) > past.since - SIMILAR_MS;
      const more = ofAccount.filter(isNew).map(({ row }) => row.order_id);
      const ids = [...orderIds, ...more].filter((id) => !lines.has(id));
      for (const row of await readLines(db, ids)) lines.set(row.id, row.lines);
      return lines;
    },
    refunds() {
      refunds ??= readRefunds(db, past);
      return refunds;
    },
  };
}

/** Account to which the order belonged; undefined: that is unclear. */
export function accountThen(
  moved: Awaited<ReturnType<AccountRows['moved']>>,
  { orderId, accountNo }: { readonly orderId: number; readonly accountNo: string | null },
  moment: Moment,
): string | null | undefined {
  const order = moved.get(orderId);
  return order ? rowAt(order, moment)?.row.account_no : accountNo;
}

/** Orders that the account has now, or had in the period; each once, the oldest first. */
async function ordersEver(rows: AccountRows, accountNo: string) {
  const [own, moved] = [await rows.orders(accountNo), await rows.moved()];
  if (moved.size === 0) return own;
  const others = [...moved.values()].filter(({ row }) => row.account_no !== accountNo);
  return [...own, ...others].sort((a, b) => a.row.order_id - b.row.order_id);
}

/** Knowledge of an account at a moment. */
export interface AccountThen {
  readonly orders: readonly PastRow<OrderRow>[];
  /** Orders whose pieces may have been others than now. */
  readonly otherPieces: ReadonlySet<number>;
}

/** The account as it was then; undefined: that is unclear. */
export async function readAccountThen(
  rows: AccountRows,
  accountNo: string,
  moment: Moment,
): Promise<AccountThen | undefined> {
  const orders: PastRow<OrderRow>[] = [];
  const otherPieces = new Set<number>();
  for (const order of await ordersEver(rows, accountNo)) {
    const then = rowAt(order, moment);
    if (!then) return undefined;
    if (then.row.account_no !== accountNo) continue;
    orders.push(then);
    const { changes } = order;
    if (changes.some((one) => one.movesPieces && orderOf(one, moment) !== 'before')) {
      otherPieces.add(order.row.order_id);
    }
  }
  return { orders, otherPieces };
}

/** Number of orders that the account had placed before, and when its first. */
export function ordersThen({ orders }: AccountThen, { orderId }: AskedOrder) {
  let [before, first] = [0, Infinity];
  for (const order of orders) {
    if (!counts(order)) continue;
    first = Math.min(first, placedAt(order));
    if (order.row.order_id < orderId) before += 1;
  }
  return { before, firstAt: first === Infinity ? null : first };
}

/**
 * Milliseconds since the newest earlier order with the same lines, null: there was none; undefined:
 * that is unclear.
 */
export async function similarThen(
  rows: AccountRows,
  { orders, otherPieces }: AccountThen,
  { orderId, createdAt, reference }: AskedOrder,
  { isRepeated }: { readonly isRepeated: boolean },
): Promise<number | null | undefined> {
  if (isRepeated && reference.trim() === '') return null;
  const isCompared = ({ row, state }: PastRow<OrderRow>): boolean =>
    row.order_id < orderId && state !== 'none' && (!isRepeated || row.reference === reference);
  const isMeant = (order: PastRow<OrderRow>): boolean =>
    placedAt(order) > createdAt - SIMILAR_MS && counts(order);
  const candidates = orders.filter(isCompared).slice(-SIMILAR_ORDERS_MAX).filter(isMeant).reverse();
  if (candidates.length === 0) return null;
  if (otherPieces.has(orderId)) return undefined;
  const lines = await rows.lines(orders, [orderId, ...candidates.map(({ row }) => row.order_id)]);
  const own = lines.get(orderId) ?? null;
  for (const candidate of candidates) {
    const { order_id: id } = candidate.row;
    if (otherPieces.has(id)) return undefined;
    if (own === null || lines.get(id) !== own) continue;
    return Math.max(0, createdAt - placedAt(candidate));
  }
  return null;
}

/** Number of refunds of the account in the 90 days before the moment; undefined: unclear. */
export async function refundsThen(rows: AccountRows, { orders }: AccountThen, moment: Moment) {
  const all = await rows.refunds();
  let count = 0;
  for (const { row } of orders) {
    for (const refund of all.get(row.order_id) ?? NO_REFUNDS) {
      const then = rowAt(refund, moment);
      if (!then) return undefined;
      const isCounted = then.state === 'live' && !UNCOUNTED.includes(then.row.status);
      if (isCounted && placedAt(then) > moment.at - REFUNDS_MS) count += 1;
    }
  }
  return count;
}
