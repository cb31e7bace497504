/**
 * Everything that the review queue shows of one delivery: its content, its holds and every
 * decision.
 */
import { decimalOf } from '../../lib/money.ts';
import type { Db } from '../../store/store.ts';
import { type DecisionRecord, decisionsOf, deliveryIdOf } from './deliveries.ts';
import { type Assignment, assignmentOf, type DeliveryNote, notesOf } from './note.ts';

async function head(db: Db, id: number) {
  const { order_no: orderNo, ...row } = await db
    .selectFrom('delivery as d')
    .leftJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .select(['d.order_delivery_id', 'd.delivery_no', 'd.order_id', 'd.order_no', 'd.status'])
    .select('d.tracking_numbers')
    .select(['d.created_at', 'd.first_seen_at', 'd.changed_at'])
    .select(['o.reference', 'o.company', 'o.account_no', 'o.country_code'])
    .select(['o.comment', 'o.season_name'])
    .select(({ selectFrom }) =>
      selectFrom('order_currency as c')
        .select('c.currency')
        .whereRef('c.order_id', '=', 'd.order_id')
        .as('currency'),
    )
    .where('d.order_delivery_id', '=', id)
    .executeTakeFirstOrThrow();
  return {
    orderDeliveryId: row.order_delivery_id,
    deliveryNo: row.delivery_no,
    status: row.status,
    /** Whether it has a tracking number. */
    shipped: row.tracking_numbers !== '[]',
    since: row.created_at ?? row.first_seen_at,
    changedAt: row.changed_at,
    order: { orderId: row.order_id, orderNo, reference: row.reference, comment: row.comment },
    season: row.season_name,
    customer: { accountNo: row.account_no, company: row.company, country: row.country_code },
    currency: row.currency,
  };
}

async function linesOf(db: Db, id: number, isOpen: boolean) {
  const rows = await db
    .selectFrom('delivery_line as l')
    .leftJoin('stock_variant as v', 'v.barcode', 'l.barcode')
    .select(['l.barcode', 'l.fulfilled_quantity', 'l.price', 'v.quantity', 'v.style_no'])
    .select('v.deleted_at')
    .where('l.order_delivery_id', '=', id)
    .orderBy('l.line_no')
    .execute();
  return rows.map((row) => ({
    barcode: row.barcode,
    style: row.style_no,
    quantity: row.fulfilled_quantity,
    price: row.price === null ? null : decimalOf(row.price),
    /**
     * Pieces in the mirrored stock, whatever others claim; null where it is not listed, and once
     * the delivery is decided: the stock of today says nothing of what was packed before.
     */
    stock: isOpen && row.deleted_at === null ? row.quantity : null,
  }));
}

async function reviewOf(db: Db, id: number) {
  const row = await db
    .selectFrom('review')
    .select(['action', 'at', 'actor', 'reason', 'why'])
    .where('order_delivery_id', '=', id)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Open holds. At `untilAt` the rules are asked again although nothing changed; at `lapsedAt` the
 * hold had lasted its time and its consequence was applied.
 */
function holdsOf(db: Db, id: number) {
  return db
    .selectFrom('hold')
    .select(['rule_id as rule', 'since', 'until_at as untilAt', 'expires_at as expiresAt'])
    .select(['afterwards', 'lapsed_at as lapsedAt'])
    .where('order_delivery_id', '=', id)
    .orderBy('rule_id')
    .execute();
}

function rejectsOf(db: Db, id: number) {
  return db
    .selectFrom('reject_entry')
    .select(['rule_id as rule', 'state', 'queued_at as queuedAt', 'due_at as dueAt'])
    .select(['safeguard', 'detail', 'ended_at as endedAt', 'ended_by as endedBy'])
    .where('order_delivery_id', '=', id)
    .orderBy('entry_id', 'desc')
    .execute();
}

export type DeliveryCard = Awaited<ReturnType<typeof head>> & {
  readonly lines: Awaited<ReturnType<typeof linesOf>>;
  /** A person's decision about the delivery; null: there is none. */
  readonly review: Awaited<ReturnType<typeof reviewOf>>;
  /** Queue entries of the delivery's rejects, waiting or ended, the latest first. */
  readonly rejects: Awaited<ReturnType<typeof rejectsOf>>;
  /** Open holds of the delivery, until when they last, and what follows. */
  readonly holds: Awaited<ReturnType<typeof holdsOf>>;
  /** The person who sees to it; null: nobody. */
  readonly assigned: Assignment | null;
  /** Notes of people, the oldest first. */
  readonly notes: readonly DeliveryNote[];
  /** Decisions about the delivery, the latest first. */
  readonly decisions: readonly DecisionRecord[];
};

/** Reads the card of the delivery with this id or number; throws when there is none. */
export async function deliveryCard(db: Db, delivery: string): Promise<DeliveryCard> {
  const id = await deliveryIdOf(db, delivery);
  const of = await head(db, id);
  return {
    ...of,
    lines: await linesOf(db, id, of.status === 'pending'),
    review: await reviewOf(db, id),
    rejects: await rejectsOf(db, id),
    holds: await holdsOf(db, id),
    assigned: await assignmentOf(db, id),
    notes: await notesOf(db, id),
    decisions: await decisionsOf(db, id),
  };
}
