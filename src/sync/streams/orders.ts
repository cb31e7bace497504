/**
 * The stream `orders`: walks down from the newest order and asks for a fresh read of every open
 * one, so that what no event told is found all the same. It ends at the first page below which
 * everything is known and closed.
 */
import type { V1Client } from '../../client/v1/client.ts';
import type { SalesOrder } from '../../client/v1/schemas.ts';
import type { Provenance } from '../../mirror/entity.ts';
import { quarantineRows } from '../../mirror/quarantine.ts';
import { requestRefresh } from '../../mirror/refresh.ts';
import { writeOrders } from '../../mirror/sales-order.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { Stream } from '../stream.ts';

export interface OrdersDeps {
  readonly v1: Pick<V1Client, 'orders'>;
  readonly db: () => Db;
  /** Told that there are orders to read again. */
  readonly onRefreshRequested: () => void;
}

function isOpen(order: SalesOrder): boolean {
  return order.completed !== true && order.status !== 'canceled';
}

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
    .select('complete_at')
    .where('stream', '=', 'orders')
    .executeTakeFirst();
  return (row?.complete_at ?? null) !== null;
}

async function writePage(
  tx: Tx,
  orders: readonly SalesOrder[],
  provenance: Provenance,
): Promise<{ readonly changed: number; readonly unchanged: number; readonly added: number }> {
  const counts = await writeOrders(tx, orders, provenance);
  for (const order of orders.filter(isOpen)) {
    await requestRefresh(tx, order.orderId, provenance.source, provenance.at);
  }
  const changed = counts.inserted + counts.changed;
  return { changed, unchanged: counts.unchanged, added: counts.inserted };
}

export function createOrdersStream(deps: OrdersDeps): Stream {
  const { v1, db, onRefreshRequested } = deps;
  return {
    name: 'orders',
    options: {},
    async pull({ run, page, signal }) {
      const floor = (await walkedToTheEnd(db())) ? await lowestOpenOrder(db()) : 0;
      const { before: start } = run.checkpoint;
      let before = typeof start === 'number' ? start : undefined;
      for (;;) {
        const list = await v1.orders(before, { signal, priority: 'pull' });
        const lowest = Math.min(...list.rows.map((order) => order.orderId));
        if (list.rows.length === 0) return { expectedRows: undefined, doubts: [] };
        if (before !== undefined && lowest >= before) {
          return { expectedRows: undefined, doubts: ['the list of orders does not go down'] };
        }
        let added = 0;
        await page({ before: lowest }, async (tx, provenance) => {
          const counts = await writePage(tx, list.rows, provenance);
          await quarantineRows(tx, 'sales_order', list.rejects, provenance);
          added = counts.added;
          return {
            rows: list.rows.length + list.rejects.length,
            changed: counts.changed,
            unchanged: counts.unchanged,
            quarantined: list.rejects.length,
            bytes: 0,
          };
        });
        onRefreshRequested();
        if (added === 0 && lowest <= floor) return { expectedRows: undefined, doubts: [] };
        before = lowest;
      }
    },
  };
}
