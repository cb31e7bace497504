/**
 * Entities `sales_order` and `sales_order_line`. A member gets a column by the schema in
 * `client/v1/schemas.ts`, a line here, a migration and a word in `store/tables/people.ts`; a column
 * of a list (`catalog/`) also by a higher `READING_VERSION` in `sync/upgrade.ts`, since unchanged
 * chunks are not parsed again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Db, Tx } from '../store/store.ts';
import { upsertRows, type WriteCounts } from './entity.ts';
import type { OpenRecord } from './members.ts';
import {
  copyOf,
  declared,
  flag,
  integer,
  json,
  money,
  name,
  orElse,
  text,
  time,
  trimmed,
} from './rows/declared.ts';
import type { ListDiff } from './rows/full-diff.ts';
import type { Provenance } from './rows/prepared.ts';
import { NOT_READ, unreadOf } from './rows/unread.ts';

interface OrderLineRecord extends OpenRecord {
  readonly barcode: string | null;
  readonly quantity: number | null;
  readonly price?: number | null | undefined;
}

interface OrderRecord extends OpenRecord {
  readonly orderId: number;
  readonly status: string | null;
  readonly orderLineItems: readonly OrderLineRecord[] | null;
}

export const SALES_ORDER = declared({
  entity: 'sales_order',
  table: 'sales_order',
  key: 'order_id',
  shown: { plural: 'orders', path: '/orders/{order}', of: 'order' },
  columns: {
    order_id: integer('orderId'),
    reference: text('reference'),
    order_no: text('orderNo'),
    status: orElse(text('status'), NOT_READ),
    completed: orElse(flag('completed'), 0),
    comment: text('comment'),
    created_at: time('createdAt'),
    currency: text('currency'),
    season_name: name('SeasonName'),
    country_code: copyOf('shippingAddress', 'countryCode'),
    company: copyOf('shippingAddress', 'company'),
    // Account numbers are trimmed, here and in the ERP's customers, because spaces make no other
    // account.
    account_no: trimmed(copyOf('shippingAddress', 'accountNo')),
    shipping_address: json('shippingAddress', '{}'),
    freight_type: text('freight.freightType'),
    freight_amount: money('freight.freightAmount'),
    unread: (_left, record) => unreadOf(record),
  },
  lines: {
    table: 'sales_order_line',
    member: 'orderLineItems',
    columns: {
      barcode: text('barcode'),
      quantity: integer('quantity'),
      fulfilled_quantity: integer('fulfilledQuantity'),
      size_quantity: integer('sizeQuantity'),
      fulfilled_size_quantity: integer('fulfilledSizeQuantity'),
      price: money('price'),
      season_name: name('season'),
      delivery_name: name('delivery'),
    },
  },
});

export function writeOrders(
  tx: Tx,
  records: readonly OrderRecord[],
  provenance: Provenance,
): Promise<WriteCounts> {
  return upsertRows(tx, SALES_ORDER, records.map(SALES_ORDER.toRow), provenance);
}

/**
 * Notes that a read, which started at `at`, covered the order with all its deliveries and refunds.
 */
export async function noteDetailsRead(tx: Tx, orderId: number, at: number): Promise<void> {
  await tx
    .updateTable('sales_order')
    .set({ details_read_at: at, whole_read_at: at })
    .where('order_id', '=', orderId)
    .execute();
}

/** Notes a look, which started at `at`, at the deliveries of an order and nothing else of it. */
export async function noteDeliveriesRead(tx: Tx, orderId: number, at: number): Promise<void> {
  await tx
    .updateTable('sales_order')
    .set({ details_read_at: at })
    .where('order_id', '=', orderId)
    .execute();
}

/** Number of orders that are handled in one turn of the event loop. */
const SLICE_ROWS = 2_000;

/** A range of order numbers. */
export interface OrderSlice {
  readonly from: number;
  /** First order number after the range. */
  readonly before: number;
}

/**
 * Iterates over the orders with numbers from `from` up in slices, the newest first, and yields to
 * the event loop between two slices.
 */
export async function* orderSlices(db: Db, from = 0): AsyncGenerator<OrderSlice> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const { rows } = await sql<{
      readonly first: number | null;
    }>`select min(order_id) first from (
      select order_id from sales_order where order_id >= ${from} and order_id < ${before}
      order by order_id desc limit ${SLICE_ROWS})`.execute(db);
    const first = rows[0]?.first ?? undefined;
    if (first === undefined) return;
    yield { from: first, before };
    before = first;
    await nextTurn();
  }
}

interface Walk {
  readonly readSeq: number;
  readonly startedAt: number;
}

/** Numbers of orders that a walk over all orders met and could not read. */
async function notUnderstood(db: Db, { startedAt }: Walk): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ readonly key: number }>`
    select raw->>'orderId' + 0 key from quarantine
    where entity = 'sales_order' and last_seen_at >= ${startedAt} and json_valid(raw)`.execute(db);
  return new Set(rows.map(({ key }) => key));
}

interface OrdersDiff extends ListDiff {
  readonly missing: readonly number[];
}

/**
 * Compares a walk over all orders with the mirror. Orders seen by the walk, or later, have its
 * `readSeq` or a higher one; quarantined orders count as seen. Orders below `from` are left out.
 */
export async function diffAgainstWalk(db: Db, walk: Walk, from = 0): Promise<OrdersDiff> {
  const quarantined = await notUnderstood(db, walk);
  const missing: number[] = [];
  let live = 0;
  for await (const slice of orderSlices(db, from)) {
    const { rows } = await sql<{ readonly n: number; readonly unseen: string }>`
      select count(*) n,
        json_group_array(order_id) filter (where read_seq < ${walk.readSeq}) unseen
      from sales_order where order_id >= ${slice.from} and order_id < ${slice.before}
        and deleted_at is null`.execute(db);
    live += rows[0]?.n ?? 0;
    const unseen: readonly number[] = JSON.parse(rows[0]?.unseen ?? '[]');
    missing.push(...unseen.filter((orderId) => !quarantined.has(orderId)));
  }
  return { live, duplicates: 0, missing: missing.sort((a, b) => a - b) };
}
