/**
 * Holds deliveries of orders that the ERP submitted until it is known that the service created the
 * order as it was sent: else goods could leave months early, go elsewhere, or leave twice. Reads
 * the outbox's tables each time; a person ends the doubt there (`selvedge outbox resolve`).
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { caseKey } from '../../lib/strings.ts';
import type { Tx } from '../../store/store.ts';
import type { OutboxState } from '../../store/tables.ts';
import type { Candidate, Precaution } from '../judgement.ts';
import { safeguardHold } from '../reject/outcome.ts';

/**
 * Milliseconds until a held delivery is evaluated again: no event says that a person noted a
 * difference or that a lookup ended.
 */
const RELOOK_MS = 30_000;
/**
 * Milliseconds until the next look at an order that was just answered: it is read back within
 * moments.
 */
const READ_BACK_MS = 1_000;

/** Sentence on what is still open about the order. */
interface Open {
  readonly detail: string;
  /** Milliseconds until the delivery is evaluated again; without it, {@link RELOOK_MS}. */
  readonly againMs?: number;
}

const detailSchema = z.object({ holds: z.literal(true), differences: z.array(z.string()) });

/** Finds a difference between the order as sent and as read back, which no person has noted yet. */
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

/**
 * Finds a document of the outbox that may have become this order: one that is read back, or one
 * whose outcome is unknown.
 */
async function openDocument(
  tx: Tx,
  orderId: number,
  reference: string | null,
): Promise<Open | undefined> {
  const key = caseKey(reference ?? '');
  // Each condition uses an index of its own: after an outage thousands of documents are open.
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
 * Finds a document with an unknown outcome that shares a barcode with this order, and for which no
 * lookup has ended since the order was first seen: the next lookup shows whether they are the same.
 */
async function unjudged(tx: Tx, orderId: number): Promise<Open | undefined> {
  const { rows } = await sql<{ readonly outbox_id: number }>`
    select o.outbox_id from sales_order s cross join outbox o
    where s.order_id = ${orderId} and o.kind = 'order' and o.state = 'in_doubt'
      and o.ended_at is null and o.attempts > 0
      and o.blocked_reason is null
      and not exists (select 1 from outbox_evidence e
        where e.outbox_id = o.outbox_id and e.at > s.first_seen_at)
      and exists (select 1 from outbox_attempt a
        where a.outbox_id = o.outbox_id and a.max_order_id_before < s.order_id)
      and exists (select 1 from json_each(o.body, '$.lines') own
        join sales_order_line l on l.order_id = s.order_id
          and ltrim(l.barcode, '0') = ltrim(own.value->>'$.barcode', '0'))
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

/** Holds an accept while it is open whether the service has the order as it was sent. */
export async function holdForOwnOrder(
  tx: Tx,
  { subject: { delivery, facts }, now }: Candidate,
): Promise<Precaution | undefined> {
  const { order_id: orderId } = delivery;
  const open =
    (await openDifference(tx, orderId)) ??
    (await openDocument(tx, orderId, facts.order.reference ?? null)) ??
    (await unjudged(tx, orderId));
  if (!open) return undefined;
  const { detail, againMs = RELOOK_MS } = open;
  const held = safeguardHold(undefined, { safeguard: 'document', detail });
  return { outcome: held, lookAt: now + againMs };
}
