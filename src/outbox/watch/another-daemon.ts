/**
 * Detects another daemon on the same account, such as an old host that still runs after a move. Its
 * work looks like ours: orders have references of documents that were never sent from here, or were
 * sent once; deliveries have our decided status before our push could be sent. Each may be a
 * coincidence once, so the incident lists the evidence. Keeps the newest evidence in
 * `daemon_state`, and one incident while there is some.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { tryParseJson } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import { caseSpellings } from '../../lib/strings.ts';
import { endIncidents, updateIncident } from '../../store/incidents.ts';
import { readRestored, readState, writeStateAt } from '../../store/state.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { DELIVERY_STATUS_KIND } from '../enqueue.ts';

const ANOTHER = { kind: 'another_daemon', entity: 'account', key: 'service' } as const;
const EVIDENCE_KEY = 'outbox.another_daemon';

/**
 * Age in milliseconds at which evidence is dropped: the other daemon may have been stopped since.
 */
const KEEP_MS = 6 * 3_600_000;
const EVIDENCE_MAX = 50;
/**
 * Milliseconds by which an order may be older than its document; an older one was submitted before
 * by somebody else.
 */
const BEFORE_MS = 600_000;
/** Milliseconds by which the service's clock may differ, time zones included. */
const CLOCKS_MS = 86_400_000;
/** Milliseconds after a decision within which another's change counts as the same decision. */
const SOON_MS = 60_000;
/**
 * Number of deliveries that are no coincidence any more: a person may accept one at the same
 * moment.
 */
const DELIVERIES_MIN = 3;

const EVIDENCE = z.array(
  z.object({
    at: z.number(),
    key: z.string(),
    kind: z.enum(['order', 'double', 'delivery']),
    text: z.string(),
  }),
);

export type Evidence = z.output<typeof EVIDENCE>[number];

async function readEvidence(db: Db | Tx): Promise<readonly Evidence[]> {
  return EVIDENCE.safeParse(tryParseJson((await readState(db, EVIDENCE_KEY)) ?? '')).data ?? [];
}

/** SQL: whether the order `s` is not older than the document `o`, as far as its times tell. */
const AT_THAT_TIME = sql<boolean>`(s.first_seen_at >= o.created_at - ${BEFORE_MS}
  and coalesce(s.created_at, o.created_at) >= o.created_at - ${CLOCKS_MS})`;

/** SQL: number of attempts that may have had an effect. */
const ATTEMPTS = sql<number>`(select count(*) from outbox_attempt a
  where a.outbox_id = o.outbox_id and a.class is not 'not_processed')`;

interface Found {
  readonly outbox_id: number;
  readonly reference: string;
  readonly order_id: number;
}

/** Lists orders confirmed after `since` that Selvedge has never sent. */
async function unsentOrders(db: Db, since: number): Promise<readonly Evidence[]> {
  const restored = await readRestored(db);
  const { rows } = await sql<Found & { readonly ended_at: number }>`
    select o.outbox_id, o.reference, o.order_id, o.ended_at from outbox o
    join sales_order s on s.order_id = o.order_id
    where o.kind = 'order' and o.state = 'confirmed' and o.ended_at >= ${since}
      and ${AT_THAT_TIME} and o.created_at > ${restored?.at ?? 0}
      and ${ATTEMPTS} = 0
      and not exists (select 1 from outbox_evidence e
        where e.outbox_id = o.outbox_id and e.source = 'person')`.execute(db);
  return rows.map(({ outbox_id, reference, order_id, ended_at: at }) => ({
    at,
    key: `order ${outbox_id}`,
    kind: 'order',
    text: `order ${order_id} has ${reference}, which was submitted here and never sent`,
  }));
}

/** Lists deliveries that had the decided status before our push could be sent. */
async function aheadOfPushes(db: Db, since: number): Promise<readonly Evidence[]> {
  const restored = await readRestored(db);
  const { rows } = await sql<
    Pick<Found, 'outbox_id' | 'reference'> & { readonly ended_at: number }
  >`
    select o.outbox_id, o.reference, o.ended_at from outbox o
    where o.kind = ${DELIVERY_STATUS_KIND} and o.state = 'confirmed' and o.ended_at >= ${since}
      and o.ended_at - o.created_at <= ${SOON_MS} and o.created_at > ${restored?.at ?? 0}
      and ${ATTEMPTS} = 0`.execute(db);
  return rows.map(({ outbox_id, reference, ended_at: at }) => ({
    at,
    key: `push ${outbox_id}`,
    kind: 'delivery',
    text: `${reference}: its status was set as decided here before it was sent`,
  }));
}

interface Double {
  readonly reference: string;
  readonly ours: number;
  readonly other: number;
}

function doubleOf({ reference, ours, other }: Double, at: number): Evidence {
  const text = `orders ${ours} and ${other} both have ${reference}, of which we sent one`;
  return { at, key: `double ${other}`, kind: 'double', text };
}

/** Lists mirrored orders with the same reference as an order that was just confirmed. */
async function besideConfirmed(db: Db, since: number): Promise<readonly Evidence[]> {
  const ours = await sql<{ readonly outbox_id: number; readonly reference: string }>`
    select o.outbox_id, o.reference from outbox o
    where o.kind = 'order' and o.state = 'confirmed' and o.ended_at >= ${since}
      and ${ATTEMPTS} <= 1`.execute(db);
  const spelt = ours.rows.flatMap(({ outbox_id: id, reference }) =>
    caseSpellings(reference).map((spelling) => [id, spelling]),
  );
  const { rows } = await sql<Double & { readonly ended_at: number }>`
    select distinct o.reference, o.order_id ours, s.order_id other, o.ended_at
    from json_each(${JSON.stringify(spelt)}) w
    cross join outbox o on o.outbox_id = w.value->>0
    cross join sales_order s on s.reference collate nocase = w.value->>1
      and s.order_id <> o.order_id and s.deleted_at is null
    where ${AT_THAT_TIME}`.execute(db);
  return rows.map(({ ended_at, ...double }) => doubleOf(double, ended_at));
}

/** Lists new orders in the feed that have the reference of another order of ours. */
export async function doublesBetween(
  db: Db,
  after: number,
  to: number,
  now: number,
): Promise<readonly Evidence[]> {
  const { rows } = await sql<Double>`
    select o.reference, o.order_id ours, s.order_id other from change c
    join sales_order s on s.order_id = c.key + 0
    join outbox o on o.kind = 'order' and o.reference_key = case_key(s.reference)
      and o.order_id <> s.order_id
    where c.seq > ${after} and c.seq <= ${to}
      and +c.entity = 'sales_order' and +c.op = 'insert'
      and s.deleted_at is null and ${AT_THAT_TIME}
      and ${ATTEMPTS} <= 1`.execute(db);
  return rows.map((double) => doubleOf(double, now));
}

export interface AnotherDaemonDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Whether the evidence is enough for an incident: a few deliveries alone are a coincidence. */
function isEnough(evidence: readonly Evidence[]): boolean {
  const deliveries = evidence.filter(({ kind }) => kind === 'delivery').length;
  return evidence.length > deliveries || deliveries >= DELIVERIES_MIN;
}

const HINT =
  'stop the other daemon (an old host that still runs after a move?), then see "selvedge report ' +
  'run incidents" for orders that are there twice. If it was none: a machine that was put back ' +
  'to a snapshot, or a person who entered the same, looks alike';

/** Stores the evidence, and opens, updates or ends the incident. */
export async function reportAnother(
  { store, clock, log }: AnotherDaemonDeps,
  found: readonly Evidence[],
): Promise<void> {
  const now = clock.now();
  const known = await readEvidence(store.db);
  const keys = new Set(known.map(({ key }) => key));
  const fresh = found.filter(({ key }) => !keys.has(key));
  // Evidence with a future time was written before the clock was set back.
  const kept = [...known, ...fresh]
    .filter(({ at }) => at > now - KEEP_MS && at <= now)
    .slice(-EVIDENCE_MAX);
  if (fresh.length === 0 && kept.length === known.length) return;
  await store.transaction(async (tx) => {
    await writeStateAt(tx, EVIDENCE_KEY, JSON.stringify(kept), now);
    if (!isEnough(kept)) return endIncidents(tx, ANOTHER, [ANOTHER.key], now);
    const detail = { seen: kept.map(({ text }) => text), hint: HINT };
    return updateIncident(tx, { ...ANOTHER, detail }, now);
  });
  if (fresh.length === 0 || !isEnough(kept)) return;
  const seen = fresh.slice(0, 5).map(({ text }) => text);
  log.error({ seen, hint: HINT }, 'another daemon seems to work on this account');
}

export async function evidenceSince(db: Db, since: number): Promise<readonly Evidence[]> {
  return [
    ...(await unsentOrders(db, since)),
    ...(await besideConfirmed(db, since)),
    ...(await aheadOfPushes(db, since)),
  ];
}
