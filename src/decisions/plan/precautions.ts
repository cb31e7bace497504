/**
 * The precautions: checks that put a hold in the place of an accept or a reject, in the order in
 * which they are asked. A decision, the look of a pass, a trial and an explanation ask them here,
 * and nowhere else.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { caseKey } from '../../lib/strings.ts';
import { parseDuration } from '../../lib/units.ts';
import { cancelPushes } from '../../outbox/cancel-pushes.ts';
import { DELIVERY_STATUS_KIND } from '../../outbox/enqueue.ts';
import type { Outcome } from '../../rules/evaluate.ts';
import { inKeys, insertRows } from '../../store/bulk.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { OutboxState } from '../../store/tables.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';
import type { RestoreSteps } from '../../store/upkeep.ts';
import { holdForChanges, holdForStaleData } from '../accept/freshness.ts';
import { holdForCap, holdForPace } from '../accept/pace.ts';
import { revocationsWithin } from '../accept/revocation.ts';
import type { Candidate, Precaution } from '../judgement.ts';
import { holdForRepacked, holdOfSafeguard, safeguardHold } from '../reject/outcome.ts';

// Holds what a person stopped after the backup that was restored. The restored database does not
// know of the act, and the rules would decide as if nobody had said anything.

/** Acts after which the rules leave a delivery alone, or after which they decide. */
const STOPS = new Set(['delivery.hold', 'delivery.reject', 'delivery.release']);
const ENDS = new Set(['delivery.accept']);

/** Keeps what people stopped by these acts, and takes back the pushes of it that wait. */
export const stopForPeople: RestoreSteps['stopForPeople'] = async (tx, acts, now) => {
  const stops = new Map<number, (typeof acts)[number]>();
  for (const act of acts) {
    const [, id] = /^delivery:(\d+)$/.exec(act.subject) ?? [];
    if (id === undefined) continue;
    if (ENDS.has(act.action) || act.toRules === true) stops.delete(Number(id));
    else if (STOPS.has(act.action)) stops.set(Number(id), act);
  }
  const rows = [...stops].map(([id, { at, actor, action }]) => {
    return { order_delivery_id: id, at, actor, action };
  });
  await tx
    .deleteFrom('restored_stop')
    .where(inKeys('order_delivery_id', [...stops.keys()]))
    .execute();
  await insertRows(tx, 'restored_stop', ['order_delivery_id', 'at', 'actor', 'action'], rows);
  const which = sql<boolean>`outbox.kind = ${DELIVERY_STATUS_KIND} and outbox.ended_at is null
    and exists (select 1 from decision n join restored_stop s using (order_delivery_id)
      where n.decision_id = outbox.decision_id)`;
  await cancelPushes(tx, { which, reason: 'a person stopped it after the backup', at: now });
  await tx
    .updateTable('evaluation')
    .set({ rules_key: '' })
    .where('order_delivery_id', 'in', (eb) =>
      eb.selectFrom('restored_stop').select('order_delivery_id'),
    )
    .execute();
  return rows.length;
};

const DID: Readonly<Record<string, string>> = {
  'delivery.hold': 'held it',
  'delivery.reject': 'rejected it',
  'delivery.release': 'took it on',
};

/** Holds a delivery that a person stopped after the backup, until a person decides. */
async function holdForRestored(
  _tx: Tx,
  { subject: { past } }: Candidate,
): Promise<Precaution | undefined> {
  if (past.stopped_by === null) return undefined;
  const did = DID[past.stopped_as ?? ''] ?? 'stopped it';
  const detail = `${past.stopped_by} ${did} after the backup that was restored`;
  return { outcome: safeguardHold(undefined, { safeguard: 'restored', detail }) };
}

/** Ends the hold, because a person decides. */
export async function endRestoredStop(tx: Tx, orderDeliveryId: number): Promise<void> {
  await tx.deleteFrom('restored_stop').where('order_delivery_id', '=', orderDeliveryId).execute();
}

// Holds deliveries of orders that the ERP submitted until it is known that the service created the
// order as it was sent: else goods could leave months early, go elsewhere, or leave twice. Reads
// the outbox's tables each time; a person ends the doubt there (`selvedge outbox resolve`).

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

const differencesOf = kept((db: Db, orderId: Value<number>) =>
  db
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
    .where(sql<string>`+o.kind`, '=', 'order'),
);

/** Finds a difference between the order as sent and as read back, which no person has noted yet. */
async function openDifference(tx: Tx, orderId: number): Promise<Open | undefined> {
  const [row] = await differencesOf(tx, orderId);
  if (!row) return undefined;
  const parsed = detailSchema.safeParse(tryParseJson(row.detail));
  if (!parsed.success) return undefined;
  const [first = 'it is other than it was sent', ...more] = parsed.data.differences;
  const others = more.length === 0 ? '' : `, and ${more.length} more`;
  const way = `selvedge outbox show ${row.outbox_id}, then resolve --as noted`;
  const what = `order ${orderId} was taken in otherwise than it was sent`;
  return { detail: `${what}: ${first}${others}; ${way}` };
}

// Each condition uses an index of its own: after an outage thousands of documents are open.
const documentsOf = kept(
  (_db: Db, orderId: Value<number>, key: Value<string>) => sql<{
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
    limit 1`,
);

/**
 * Finds a document of the outbox that may have become this order: one that is read back, or one
 * whose outcome is unknown.
 */
async function openDocument(
  tx: Tx,
  orderId: number,
  reference: string | null,
): Promise<Open | undefined> {
  const [own] = await documentsOf(tx, orderId, caseKey(reference ?? ''));
  if (!own) return undefined;
  const what = `order ${orderId} may be what outbox ${own.outbox_id} has become`;
  if (own.blocked_reason !== null) {
    return { detail: `${what}, which waits for a person: selvedge outbox show ${own.outbox_id}` };
  }
  const againMs = own.state === 'sent' ? READ_BACK_MS : RELOOK_MS;
  return { detail: `${what}, which is being looked at`, againMs };
}

const unjudgedWith = kept(
  (_db: Db, orderId: Value<number>) => sql<{ readonly outbox_id: number }>`
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
    limit 1`,
);

/**
 * Finds a document with an unknown outcome that shares a barcode with this order, and for which no
 * lookup has ended since the order was first seen: the next lookup shows whether they are the same.
 */
async function unjudged(tx: Tx, orderId: number): Promise<Open | undefined> {
  const [own] = await unjudgedWith(tx, orderId);
  if (!own) return undefined;
  return {
    detail: `order ${orderId} may be what outbox ${own.outbox_id} has become; it is looked for`,
  };
}

/** Holds an accept while it is open whether the service has the order as it was sent. */
async function holdForOwnOrder(
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

const COOLDOWN_MS_DEFAULT = 3_600_000;

/** Holds a delivery that the rules would accept until the cooldown after its revocation is over. */
async function holdForCooldown(
  tx: Tx,
  { subject, ruleSet: { settings }, outcome, now }: Candidate,
): Promise<Precaution | undefined> {
  if (outcome.kind !== 'accept' || !subject.past.isDecided) return undefined;
  const cooldown = parseDuration(settings.safeguards.revocation.cooldown) ?? COOLDOWN_MS_DEFAULT;
  const { order_delivery_id: id } = subject.delivery;
  const { lastAt } = await revocationsWithin(tx, id, cooldown, now);
  if (lastAt === null) return undefined;
  const lookAt = lastAt + cooldown;
  const time = new Date(lookAt).toISOString();
  const reason = `its accept was revoked; not accepted again until ${time}`;
  const held = { ...outcome, kind: 'hold', code: 'hold_rule', rules: [], reason } as const;
  return { outcome: held, lookAt };
}

interface PrecautionRow {
  readonly name: string;
  /** Outcomes that it may replace. */
  readonly on: readonly Outcome['kind'][];
  /**
   * `judged`: at each judgement. `new`: only for an accept that would be made now, because the one
   * that stands must not count against itself.
   */
  readonly when: 'judged' | 'new';
  /** Holds all that it concerns for a while: a trial says so once, and not of each delivery. */
  readonly isOfAll?: true;
  readonly check: (tx: Tx, candidate: Candidate) => Promise<Partial<Precaution> | undefined>;
}

const ALL = ['accept', 'reject', 'hold', 'no_rule'] as const;
const BOTH = ['accept', 'reject'] as const;
const ACCEPT = ['accept'] as const;

const PRECAUTIONS: readonly PrecautionRow[] = [
  { name: 'safeguard', on: ALL, when: 'judged', check: holdOfSafeguard },
  { name: 'repacked', on: BOTH, when: 'judged', check: holdForRepacked },
  { name: 'restored', on: BOTH, when: 'judged', check: holdForRestored },
  { name: 'changes', on: BOTH, when: 'judged', isOfAll: true, check: holdForChanges },
  { name: 'freshness', on: ALL, when: 'judged', check: holdForStaleData },
  { name: 'cooldown', on: ACCEPT, when: 'judged', check: holdForCooldown },
  { name: 'document', on: ACCEPT, when: 'judged', check: holdForOwnOrder },
  { name: 'cap', on: ACCEPT, when: 'new', check: holdForCap },
  { name: 'accepts', on: ACCEPT, when: 'new', isOfAll: true, check: holdForPace },
];

/**
 * The candidate's outcome after the precautions, with the time and the effect of the last. Only
 * those are asked that are asked then; `one`: not those that hold all alike, which a trial says
 * once.
 */
export async function withPrecautions(
  tx: Tx,
  candidate: Candidate,
  asked?: PrecautionRow['when'] | 'one',
): Promise<Partial<Precaution> & Pick<Candidate, 'outcome'>> {
  let found: Partial<Precaution> & Pick<Candidate, 'outcome'> = { outcome: candidate.outcome };
  for (const row of PRECAUTIONS) {
    const isLeftOut = asked === 'one' ? row.isOfAll : asked !== undefined && row.when !== asked;
    if (isLeftOut || !row.on.includes(found.outcome.kind)) continue;
    const held = await row.check(tx, { ...candidate, outcome: found.outcome });
    if (held) found = { ...found, ...held };
  }
  return found;
}
