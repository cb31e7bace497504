/**
 * The streams `orders` and `ordersFull`: walk down from the newest order, then ask for a fresh
 * read of every open one, because deliveries and refunds are listed per order only. `orders` ends
 * at the first page below which everything is known and closed; `ordersFull` goes to the very
 * first order. Open orders are read first, the oldest before the others; then closed ones that
 * this walk found new or changed.
 */
import type { V1Client } from '../../client/v1/client.ts';
import type { SalesOrder } from '../../client/v1/schemas.ts';
import { quarantineRows } from '../../mirror/quarantine.ts';
import { requestRefreshes } from '../../mirror/refresh.ts';
import { writeOrders } from '../../mirror/sales-order.ts';
import type { Db } from '../../store/store.ts';
import type { Stream, StreamEnd, StreamRun } from '../stream.ts';

export interface OrdersDeps {
  readonly v1: Pick<V1Client, 'orders'>;
  readonly db: () => Db;
  /** Told that there are orders to read again. */
  readonly onRefreshRequested: () => void;
}

/** Reads that are asked for in one transaction. */
const REQUESTS_PER_PAGE = 500;

/** The lowest order that is still open in the mirror, or infinity: nothing below needs a look. */
async function lowestOpenOrder(db: Db): Promise<number> {
  const row = await db
    .selectFrom('sales_order')
    .select((eb) => eb.fn.min('order_id').as('order_id'))
    .where('completed', '=', 0)
    .where('status', '!=', 'canceled')
    .executeTakeFirst();
  return row?.order_id ?? Number.POSITIVE_INFINITY;
}

async function walkedToTheEnd(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('stream_state')
    .select('stream')
    .where('stream', 'in', ['orders', 'ordersFull'])
    .where('complete_at', 'is not', null)
    .executeTakeFirst();
  return row !== undefined;
}

async function writePage(
  { page }: StreamRun,
  before: number,
  list: Awaited<ReturnType<V1Client['orders']>>,
): Promise<number> {
  let added = 0;
  await page({ before }, async (tx, provenance) => {
    const counts = await writeOrders(tx, list.rows, provenance);
    await quarantineRows(tx, 'sales_order', list.rejects, provenance);
    added = counts.inserted;
    return {
      rows: list.rows.length + list.rejects.length,
      changed: counts.inserted + counts.changed,
      unchanged: counts.unchanged,
      quarantined: list.rejects.length,
      bytes: 0,
    };
  });
  return added;
}

/** Walks down to `floor`; gives what speaks against having seen everything. */
async function walk(deps: OrdersDeps, context: StreamRun, floor: number): Promise<string[]> {
  const { run, signal } = context;
  const { before: start } = run.checkpoint;
  let before = typeof start === 'number' ? start : undefined;
  for (;;) {
    const list = await deps.v1.orders(before, { signal, priority: 'pull' });
    if (list.rows.length === 0) {
      return list.rejects.length > 0 ? ['a whole page of orders cannot be understood'] : [];
    }
    const lowest = Math.min(...list.rows.map((order: SalesOrder) => order.orderId));
    if (before !== undefined && lowest >= before) return ['the list of orders does not go down'];
    const added = await writePage(context, lowest, list);
    if (added === 0 && lowest <= floor) return [];
    before = lowest;
  }
}

/** Asks for a read of the orders, a slice at a time. */
async function requestReads(
  deps: OrdersDeps,
  { run, page }: StreamRun,
  orderIds: readonly number[],
  at: number,
): Promise<void> {
  for (let start = 0; start < orderIds.length; start += REQUESTS_PER_PAGE) {
    const requests = orderIds
      .slice(start, start + REQUESTS_PER_PAGE)
      .map((orderId) => ({ orderId, cause: `sweep:${run.runId}` }));
    await page({ walked: true }, async (tx) => {
      await requestRefreshes(tx, requests, at);
      return { rows: 0, changed: 0, unchanged: 0, quarantined: 0, bytes: 0 };
    });
    deps.onRefreshRequested();
  }
}

async function openOrders(db: Db): Promise<number[]> {
  const rows = await db
    .selectFrom('sales_order')
    .select('order_id')
    .where('completed', '=', 0)
    .where('status', '!=', 'canceled')
    .orderBy('order_id')
    .execute();
  return rows.map((row) => row.order_id);
}

async function closedOrdersOfRun(db: Db, runId: number): Promise<number[]> {
  const rows = await db
    .selectFrom('sales_order')
    .select('order_id')
    .where('source', '=', `run:${runId}`)
    .where((eb) => eb.or([eb('completed', '=', 1), eb('status', '=', 'canceled')]))
    .orderBy('order_id', 'desc')
    .execute();
  return rows.map((row) => row.order_id);
}

export function createOrdersStream(deps: OrdersDeps, name: 'orders' | 'ordersFull'): Stream {
  const { db } = deps;
  return {
    name,
    options: {},
    async pull(context): Promise<StreamEnd> {
      const { run } = context;
      const isShort = name === 'orders' && (await walkedToTheEnd(db()));
      const floor = isShort ? await lowestOpenOrder(db()) : 0;
      const doubts = run.checkpoint.walked === true ? [] : await walk(deps, context, floor);
      // The earlier time puts the open ones before everything else that waits.
      await requestReads(deps, context, await openOrders(db()), run.startedAt);
      const closed = await closedOrdersOfRun(db(), run.runId);
      await requestReads(deps, context, closed, run.startedAt + 1);
      return { expectedRows: undefined, doubts };
    },
  };
}
