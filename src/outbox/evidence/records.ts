/**
 * Selvedge's own records of a push: its attempts, the orders that confirmed documents own, and
 * stored lookups.
 */

import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { inKeys } from '../../store/bulk.ts';
import { readRestored } from '../../store/state.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { OutboxItem } from '../item.ts';

export interface KnownBefore {
  /** Highest order id at the service before the first attempt; undefined: it was not recorded. */
  readonly maxOrderId: number | undefined;
  readonly count: number | undefined;
  readonly firstAt: number | undefined;
  readonly lastAt: number | undefined;
}

/**
 * Highest order id in the restored backup, for a push that was queued when the backup was made: if
 * the push was sent at all, it was sent after the backup.
 */
async function knownToBackup(
  db: Db,
  { createdAt }: Pick<OutboxItem, 'createdAt'>,
): Promise<number | undefined> {
  const restored = await readRestored(db);
  return restored && createdAt <= restored.at ? (restored.maxOrderId ?? undefined) : undefined;
}

/**
 * Summarises all attempts of a push that may have had an effect: an early one may take effect late.
 */
export async function knownBefore(
  db: Db,
  item: Pick<OutboxItem, 'outboxId' | 'createdAt'>,
): Promise<KnownBefore> {
  const row = await db
    .selectFrom('outbox_attempt')
    .select((eb) => [
      eb.fn.min('max_order_id_before').as('max_order_id'),
      eb.fn.min('count_before').as('count'),
      eb.fn.min('started_at').as('first_at'),
      eb.fn.max('started_at').as('last_at'),
    ])
    .where('outbox_id', '=', item.outboxId)
    .where((eb) => eb.or([eb('class', 'is', null), eb('class', '!=', 'not_processed')]))
    .executeTakeFirst();
  const maxOrderId = row?.max_order_id ?? (await knownToBackup(db, item));
  const { count, first_at: firstAt, last_at: lastAt } = row ?? {};
  return {
    maxOrderId,
    count: count ?? undefined,
    firstAt: firstAt ?? undefined,
    lastAt: lastAt ?? undefined,
  };
}

const disownedSchema = z.object({ notOurs: z.array(z.int()) });

/** Ids of orders or refunds that a person has declared not to be this document's. */
export async function disowned(db: Db, outboxId: number): Promise<ReadonlySet<number>> {
  const rows = await db
    .selectFrom('outbox_evidence')
    .select('detail')
    .where('outbox_id', '=', outboxId)
    .where('source', '=', 'person')
    .where('outcome', '=', 'not_found')
    .execute();
  const ids = rows.flatMap(({ detail }) => {
    const parsed = disownedSchema.safeParse(tryParseJson(detail));
    return parsed.success ? parsed.data.notOurs : [];
  });
  return new Set(ids);
}

// Claims: a confirmed document owns its order, and no other document can have become it.

export interface Claim {
  readonly outboxId: number;
  readonly reference: string;
}

/**
 * Maps orders to the confirmed documents that own them. Lost orders are left out: their ids may
 * belong to other orders by now.
 */
export async function claimsOf(
  db: Db | Tx,
  orderIds: readonly number[],
  exceptOutboxId?: number,
): Promise<ReadonlyMap<number, Claim>> {
  const rows = await db
    .selectFrom('outbox')
    .select(['outbox_id as outboxId', 'reference', 'order_id'])
    .where(inKeys('order_id', orderIds))
    // The plus keeps SQLite on the index by order, instead of reading every confirmed row.
    .where(sql<string>`+kind`, '=', 'order')
    .where(sql<string>`+state`, '=', 'confirmed')
    .where('outbox_id', '!=', exceptOutboxId ?? -1)
    .where('outbox_id', 'not in', (eb) => eb.selectFrom('outbox_lost').select('outbox_id'))
    .execute();
  return new Map(rows.map(({ order_id: orderId, ...claim }) => [orderId ?? 0, claim]));
}

// Candidates: ids of orders and refunds that stored lookups have found for a document.

const evidenceSchema = z.object({
  detail: z.object({
    orderId: z.int().optional(),
    orderIds: z.array(z.int()).optional(),
    pendingRefundId: z.int().optional(),
    pendingRefundIds: z.array(z.int()).optional(),
  }),
});

export interface Candidates {
  readonly orderIds: readonly number[];
  readonly pendingRefundIds: readonly number[];
}

/** Collects the ids of candidates from the details of stored lookups. */
export function candidatesIn(details: readonly string[]): Candidates {
  const orderIds = new Set<number>();
  const pendingRefundIds = new Set<number>();
  for (const text of details) {
    const parsed = evidenceSchema.safeParse(tryParseJson(text));
    if (!parsed.success) continue;
    const { detail } = parsed.data;
    for (const id of [detail.orderId, ...(detail.orderIds ?? [])]) {
      if (id !== undefined) orderIds.add(id);
    }
    for (const id of [detail.pendingRefundId, ...(detail.pendingRefundIds ?? [])]) {
      if (id !== undefined) pendingRefundIds.add(id);
    }
  }
  return { orderIds: [...orderIds], pendingRefundIds: [...pendingRefundIds] };
}
