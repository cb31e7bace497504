/**
 * The facts of one delivery, from the mirror, in the transaction that decides on them. Arithmetic
 * that needs other rows (free stock, other deliveries, earlier rejects) is done here, in SQL;
 * what follows from the facts alone is computed by the rules.
 *
 * Free stock of a line = mirrored stock, less what was accepted since that stock was read, less
 * what older pending deliveries want and younger ones are being accepted for, less what earlier
 * lines of this delivery take: nobody counts on the same last piece twice.
 */
import type { Facts, LineFacts } from '../rules/facts/plain.ts';
import { inKeys } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';
import { hasOpenPush } from './push.ts';

const DELIVERY_STATUSES = ['pending', 'accepted', 'rejected', 'canceled'] as const;
const ORDER_STATUSES = ['pending', 'fulfilled', 'partially_fulfilled', 'canceled'] as const;

/** A status outside the known ones cannot be decided on. */
export class UnknownStatus extends Error {
  override readonly name = 'UnknownStatus';
}

function knownStatus<S extends string>(known: readonly S[], status: string): S {
  const found = known.find((candidate) => candidate === status);
  if (found === undefined) throw new UnknownStatus(`unknown status "${status}"`);
  return found;
}

export interface Subject {
  readonly delivery: {
    readonly order_delivery_id: number;
    readonly order_id: number;
    readonly content_hash: string;
    readonly status: string;
  };
  readonly orderHash: string;
  readonly facts: Facts;
}

/** Pieces that other deliveries need, by barcode. */
async function reservedPieces(
  tx: Tx,
  orderDeliveryId: number,
  barcodes: readonly string[],
  stockReadAt: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await tx
    .selectFrom('delivery_line as line')
    .innerJoin('delivery as other', 'other.order_delivery_id', 'line.order_delivery_id')
    .select((eb) => ['line.barcode', eb.fn.sum<number>('line.fulfilled_quantity').as('pieces')])
    .where(inKeys('line.barcode', barcodes))
    .where('other.order_delivery_id', '!=', orderDeliveryId)
    .where('other.deleted_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb.and([
          eb('other.status', '=', 'pending'),
          eb('other.order_delivery_id', '<', orderDeliveryId),
        ]),
        eb.and([eb('other.status', '=', 'accepted'), eb('other.changed_at', '>=', stockReadAt)]),
        eb.and([eb('other.status', '=', 'pending'), hasOpenPush('other.order_delivery_id')]),
      ]),
    )
    .groupBy('line.barcode')
    .execute();
  return new Map(rows.map((row) => [row.barcode, Number(row.pieces)]));
}

async function stockReadAt(tx: Tx): Promise<number> {
  const row = await tx
    .selectFrom('stream_state')
    .select('complete_at')
    .where('stream', '=', 'stock')
    .executeTakeFirst();
  return row?.complete_at ?? 0;
}

function flagOf(value: number | null): boolean | null {
  return value === null ? null : value === 1;
}

interface OrderLine {
  readonly barcode: string;
  readonly quantity: number;
  readonly price: number | null;
  readonly delivery_name: string | null;
}

async function lineFacts(
  tx: Tx,
  orderDeliveryId: number,
  orderLines: readonly OrderLine[],
): Promise<LineFacts[]> {
  const lines = await tx
    .selectFrom('delivery_line')
    .selectAll()
    .where('order_delivery_id', '=', orderDeliveryId)
    .orderBy('line_no')
    .execute();
  const barcodes = lines.map((line) => line.barcode);
  const variants = await tx
    .selectFrom('stock_variant')
    .select(['barcode', 'quantity', 'style_no', 'brand_name', 'season_name', 'color_active'])
    .where(inKeys('barcode', barcodes))
    .where('deleted_at', 'is', null)
    .execute();
  const stock = new Map(variants.map((variant) => [variant.barcode, variant]));
  const reserved = await reservedPieces(tx, orderDeliveryId, barcodes, await stockReadAt(tx));
  const taken = new Map(reserved);
  return lines.map((line) => {
    const variant = stock.get(line.barcode);
    const others = taken.get(line.barcode) ?? 0;
    taken.set(line.barcode, others + line.fulfilled_quantity);
    const ordered = orderLines.filter((other) => other.barcode === line.barcode);
    return {
      barcode: line.barcode,
      quantity: line.fulfilled_quantity,
      price: line.price,
      order_price: ordered[0]?.price ?? null,
      ordered: ordered.length > 0 ? ordered.reduce((sum, o) => sum + o.quantity, 0) : null,
      stock_free: variant ? Math.max(0, variant.quantity - others) : null,
      style_no: variant?.style_no ?? null,
      brand: variant?.brand_name ?? null,
      season: line.season_name ?? variant?.season_name ?? null,
      color_active: flagOf(variant?.color_active ?? null),
    };
  });
}

async function countSiblings(
  tx: Tx,
  orderId: number,
  orderDeliveryId: number,
  status: string,
): Promise<number> {
  const row = await tx
    .selectFrom('delivery')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('order_id', '=', orderId)
    .where('order_delivery_id', '!=', orderDeliveryId)
    .where('status', '=', status)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

async function orderFacts(
  tx: Tx,
  orderId: number,
  orderDeliveryId: number,
  lines: readonly OrderLine[],
): Promise<{ readonly facts: Facts['order']; readonly hash: string } | undefined> {
  const order = await tx
    .selectFrom('sales_order')
    .selectAll()
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  if (!order) return undefined;
  const priced = lines.every((line) => line.price !== null);
  const names = lines.flatMap((line) => (line.delivery_name === null ? [] : [line.delivery_name]));
  const facts: Facts['order'] = {
    id: order.order_id,
    number: order.order_no ?? '',
    reference: order.reference ?? '',
    status: knownStatus(ORDER_STATUSES, order.status),
    created_at: order.created_at ?? order.first_seen_at,
    country: order.country_code,
    currency: order.currency,
    amount: priced ? lines.reduce((sum, line) => sum + (line.price ?? 0) * line.quantity, 0) : null,
    quantity: lines.reduce((sum, line) => sum + line.quantity, 0),
    freight_amount: order.freight_amount,
    freight_type: order.freight_type,
    preorder: order.season_name !== null,
    season: order.season_name,
    delivery_names: [...new Set(names)],
    comment: order.comment,
    other_pending: await countSiblings(tx, orderId, orderDeliveryId, 'pending'),
    rejected_before: await countSiblings(tx, orderId, orderDeliveryId, 'rejected'),
    account_no: order.account_no,
    company: order.company,
  };
  return { facts, hash: order.content_hash };
}

/** Facts of a delivery, or undefined while its order is not mirrored yet. */
export async function readSubject(
  tx: Tx,
  orderDeliveryId: number,
  clock: Facts['clock'],
): Promise<Subject | undefined> {
  const delivery = await tx
    .selectFrom('delivery')
    .selectAll()
    .where('order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirst();
  if (!delivery) return undefined;
  const orderLines = await tx
    .selectFrom('sales_order_line')
    .select(['barcode', 'quantity', 'price', 'delivery_name'])
    .where('order_id', '=', delivery.order_id)
    .execute();
  const order = await orderFacts(tx, delivery.order_id, orderDeliveryId, orderLines);
  if (!order) return undefined;
  const facts: Facts = {
    delivery: {
      id: delivery.order_delivery_id,
      number: delivery.delivery_no ?? '',
      status: knownStatus(DELIVERY_STATUSES, delivery.status),
      created_at: delivery.created_at ?? delivery.first_seen_at,
      currency: order.facts.currency,
      lines: await lineFacts(tx, orderDeliveryId, orderLines),
    },
    order: order.facts,
    clock,
  };
  return { delivery, orderHash: order.hash, facts };
}
