/**
 * Keeps deliveries of our own orders from being accepted while it is not known that the order was
 * taken in as it was sent: goods could leave months early, go elsewhere, or twice. Read from the
 * outbox's tables, each time anew; a person ends it there (`selvedge outbox resolve`).
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import type { Outcome } from '../../rules/combine.ts';
import type { Tx } from '../../store/store.ts';
import type { OutboxState } from '../../store/tables.ts';
import type { Subject } from '../facts.ts';
import { railHold } from '../reject/outcome.ts';

/** Nothing tells when a person has noted a difference, or a look has ended. */
const RELOOK_MS = 30_000;
/** An order that was just answered is read back within moments. */
const READ_BACK_MS = 1_000;

/** Something about the order is open, told in words. */
interface Open {
  readonly detail: string;
  /** When to look at it again; without it, {@link RELOOK_MS}. */
  readonly againMs?: number;
}

const detailSchema = z.object({ holds: z.literal(true), differences: z.array(z.string()) });

/** Since it was read back, a difference is known that nobody has noted yet. */
async function openDifference(tx: Tx, orderId: number): Promise<Open | undefined> {
  const row = await tx
    .selectFrom('outbox as o')
    .innerJoin('incident as i', (join) =>
      join
        .on('i.kind', '=', 'push_differs')
        .on('i.entity', '=', 'outbox')
        .on(sql<boolean>`i.key = cast(o.outbox_id as text)`)
        .on('i.resolved_at', 'is', null),
    )
    .select(['o.outbox_id', 'i.detail'])
    .where('o.order_id', '=', orderId)
    .where(sql<string>`+o.kind`, '=', 'order')
    .executeTakeFirst();
  const parsed = detailSchema.safeParse(tryParseJson(row?.detail ?? ''));
  if (!row || !parsed.success) return undefined;
  const [first = 'it is other than it was sent', ...more] = parsed.data.differences;
  const others = more.length === 0 ? '' : `, and ${more.length} more`;
  const way = `selvedge outbox show ${row.outbox_id}, then resolve --as noted`;
  const what = `order ${orderId} was taken in otherwise than it was sent`;
  return { detail: `${what}: ${first}${others}; ${way}` };
}

/** It was answered and is read back, or it may be a document whose outcome is unknown. */
async function openDocument(
  tx: Tx,
  orderId: number,
  reference: string | null,
): Promise<Open | undefined> {
  const key = reference?.trim().normalize('NFC').toLowerCase() ?? '';
  // Each by an index of its own: behind an outage thousands are open.
  const { rows } = await sql<{
    readonly outbox_id: number;
    readonly state: OutboxState;
    readonly blocked_reason: string | null;
  }>`select outbox_id, state, blocked_reason from outbox
    where ended_at is null and attempts > 0 and outbox_id in (
      select outbox_id from outbox where +kind = 'order' and order_id = ${orderId}
      union select outbox_id from outbox where kind = 'order' and reference_key = ${key}
      union select c.outbox_id from outbox_candidate c
        join outbox d on d.outbox_id = c.outbox_id and d.state = 'in_doubt'
        where c.order_id = ${orderId})
    limit 1`.execute(tx);
  const [own] = rows;
  if (!own) return undefined;
  const what = `order ${orderId} may be what outbox ${own.outbox_id} has become`;
  if (own.blocked_reason !== null) {
    return { detail: `${what}, which waits for a person: selvedge outbox show ${own.outbox_id}` };
  }
  const againMs = own.state === 'sent' ? READ_BACK_MS : RELOOK_MS;
  return { detail: `${what}, which is being looked at`, againMs };
}

/**
 * Since this order was first seen, no look has said whether it is a document of these goods that
 * may have arrived: the next one will.
 */
async function unjudged(tx: Tx, orderId: number): Promise<Open | undefined> {
  const { rows } = await sql<{ readonly outbox_id: number }>`
    select o.outbox_id from outbox o join sales_order s on s.order_id = ${orderId}
    where o.kind = 'order' and o.state = 'in_doubt' and o.ended_at is null and o.attempts > 0
      and o.blocked_reason is null
      and not exists (select 1 from outbox_evidence e
        where e.outbox_id = o.outbox_id and e.at > s.first_seen_at)
      and exists (select 1 from outbox_attempt a
        where a.outbox_id = o.outbox_id and a.max_order_id_before < s.order_id)
      and exists (select 1 from json_each(o.body, '$.lines') own
        join sales_order_line l on l.order_id = s.order_id and l.barcode = own.value->>'$.barcode')
      and not exists (select 1 from outbox other
        where other.order_id = s.order_id and +other.kind = 'order'
          and +other.state = 'confirmed'
          and other.outbox_id not in (select outbox_id from outbox_lost))
    limit 1`.execute(tx);
  const [own] = rows;
  if (!own) return undefined;
  return {
    detail: `order ${orderId} may be what outbox ${own.outbox_id} has become; it is looked for`,
  };
}

export interface BehindOrder {
  readonly outcome: Outcome;
  /** When it is to be looked at again; null: nothing stands in the way. Epoch milliseconds. */
  readonly until: number | null;
}

/** The hold in the place of an accept, while something is open about the order. */
export async function outcomeBehindOrder(
  tx: Tx,
  { delivery, facts }: Pick<Subject, 'delivery' | 'facts'>,
  outcome: Outcome,
  now: number,
): Promise<BehindOrder> {
  if (outcome.kind !== 'accept') return { outcome, until: null };
  const { order_id: orderId } = delivery;
  const open =
    (await openDifference(tx, orderId)) ??
    (await openDocument(tx, orderId, facts.order.reference ?? null)) ??
    (await unjudged(tx, orderId));
  if (!open) return { outcome, until: null };
  const { detail, againMs = RELOOK_MS } = open;
  return { outcome: railHold(undefined, { rail: 'document', detail }), until: now + againMs };
}
