/**
 * Lost orders: confirmed orders that the service does not have any more, because it was restored to
 * an earlier state. Only this file writes `outbox_lost`; lost orders are shown with their documents
 * and reported in one incident.
 */
import { sql } from 'kysely';
import { inKeys } from '../../store/bulk.ts';
import { endIncidents, updateIncident } from '../../store/incidents.ts';
import type { Db, Tx } from '../../store/store.ts';

const PUT_BACK = { kind: 'service_put_back', entity: 'account', key: 'service' } as const;

const NAMED_MAX = 100;

/** A lost order, and the order that has its id now. */
export interface Lost {
  readonly orderId: number;
  readonly since: number;
  /** Order that has the lost order's id now; null: none is known. */
  readonly instead: { readonly reference: string | null; readonly orderNo: string | null } | null;
}

export interface NewLost {
  readonly outboxId: number;
  readonly orderId: number;
  /** Reference that the lost order had at the service. */
  readonly reference: string | null;
  /** Number of the read that did not show the order any more. */
  readonly readSeq: number;
}

function lostRows(db: Db | Tx) {
  return db
    .selectFrom('outbox_lost as l')
    .innerJoin('outbox as o', 'o.outbox_id', 'l.outbox_id')
    .leftJoin('sales_order as s', (join) =>
      join
        .onRef('s.order_id', '=', 'l.order_id')
        .on('s.deleted_at', 'is', null)
        .on(sql<boolean>`s.reference is not l.reference`),
    )
    .select([
      'l.outbox_id',
      'l.order_id',
      'l.since',
      'l.noted_at',
      'o.reference',
      's.reference as instead',
      's.order_no as instead_no',
      's.order_id as other',
    ])
    .orderBy('l.outbox_id');
}

type Row = Awaited<ReturnType<ReturnType<typeof lostRows>['execute']>>[number];

function lostOf({ order_id, since, other, instead, instead_no }: Row): Lost {
  const taken = other === null ? null : { reference: instead, orderNo: instead_no };
  return { orderId: order_id, since, instead: taken };
}

export async function readLost(
  db: Db | Tx,
  outboxIds: readonly number[],
): Promise<ReadonlyMap<number, Lost>> {
  const rows = await lostRows(db).where(inKeys('l.outbox_id', outboxIds)).execute();
  return new Map(rows.map((row) => [row.outbox_id, lostOf(row)]));
}

export function describeLost({ orderId, since, instead }: Lost): string {
  const at = new Date(since).toISOString();
  const other = instead?.reference ?? instead?.orderNo;
  const taken = instead === null ? '' : `; ${orderId} is another order now (${other ?? 'no name'})`;
  return `confirmed, but order ${orderId} is no longer at the service since ${at}${taken}`;
}

async function dueReceipts(tx: Tx, outboxIds: readonly number[]): Promise<void> {
  await tx
    .updateTable('intake')
    .set((eb) => ({ receipt_due: eb('receipt_due', '+', 1) }))
    .where(inKeys('outbox_id', outboxIds))
    .execute();
}

export async function addLost(tx: Tx, found: readonly NewLost[], now: number): Promise<void> {
  for (const { outboxId, orderId, reference, readSeq } of found) {
    await tx
      .insertInto('outbox_lost')
      .values({
        outbox_id: outboxId,
        order_id: orderId,
        reference,
        read_seq: readSeq,
        since: now,
        noted_at: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  await dueReceipts(
    tx,
    found.map(({ outboxId }) => outboxId),
  );
}

export async function hasLost(db: Db): Promise<boolean> {
  const one = await db.selectFrom('outbox_lost').select('outbox_id').limit(1).executeTakeFirst();
  return one !== undefined;
}

/** Forgets losses of orders that a later read has shown again as they were; returns how many. */
export async function dropReturned(tx: Tx): Promise<number> {
  const returned = await tx
    .selectFrom('outbox_lost as l')
    .innerJoin('sales_order as s', 's.order_id', 'l.order_id')
    .select('l.outbox_id')
    .where('s.deleted_at', 'is', null)
    .where(sql<boolean>`s.reference is l.reference`)
    .whereRef('s.read_seq', '>', 'l.read_seq')
    .execute();
  const ids = returned.map(({ outbox_id }) => outbox_id);
  await tx.deleteFrom('outbox_lost').where(inKeys('outbox_id', ids)).execute();
  await dueReceipts(tx, ids);
  return ids.length;
}

/** Opens, updates or ends the incident about lost orders that no person has noted. */
export async function reportLost(tx: Tx, now: number): Promise<void> {
  const rows = await lostRows(tx).where('l.noted_at', 'is', null).execute();
  if (rows.length === 0) {
    await endIncidents(tx, PUT_BACK, [PUT_BACK.key], now);
    return;
  }
  const orders = rows.slice(0, NAMED_MAX).map((row) => {
    const { instead } = lostOf(row);
    return { outboxId: row.outbox_id, reference: row.reference, orderId: row.order_id, instead };
  });
  const [first] = rows;
  const hint =
    'nothing of it is sent again by itself: see "selvedge outbox list", submit what is still ' +
    'wanted under a new reference, and end this with: selvedge outbox resolve ' +
    `${first?.outbox_id} --as noted --reason "…"`;
  await updateIncident(tx, { ...PUT_BACK, detail: { lost: rows.length, orders, hint } }, now);
}

/** Whether the document's order is lost, and no person has noted it. */
export async function isLostUnnoted(db: Db | Tx, outboxId: number): Promise<boolean> {
  const own = await db
    .selectFrom('outbox_lost')
    .select('outbox_id')
    .where('outbox_id', '=', outboxId)
    .where('noted_at', 'is', null)
    .executeTakeFirst();
  return own !== undefined;
}

/** Marks all lost orders as noted by a person, if this document's order is one of them. */
export async function noteLost(tx: Tx, outboxId: number, now: number): Promise<void> {
  if (!(await isLostUnnoted(tx, outboxId))) return;
  await tx
    .updateTable('outbox_lost')
    .set({ noted_at: now })
    .where('noted_at', 'is', null)
    .execute();
  await reportLost(tx, now);
}
