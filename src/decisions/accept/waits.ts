/**
 * Tells which data accepts wait for: one incident for each stream or list of the ERP, with the
 * number of deliveries that wait for it and since when.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { wordFor } from '../../config/words.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import {
  type Incident,
  openDetail,
  reconcileIncidents,
  updateIncident,
} from '../../store/incidents.ts';
import type { Db } from '../../store/store.ts';
import { MOVED_BY, streamsOf } from '../fact-streams.ts';
import type { FreshnessMs } from '../judgement.ts';
import { AGED_STREAMS, completeAt, isOld, limitOf, type Wait, waitsByReason } from './freshness.ts';

const KIND = 'accepts_wait';

/** Milliseconds for which a delivery may wait for data untold: a first pull takes its time. */
const TOLD_AFTER_MS = 5 * 60_000;
/** Pending deliveries that are looked at before other work gets its turn. */
const SPAN_ROWS = 2_000;

interface Waiting {
  readonly wait: Wait;
  readonly deliveries: number;
  /** Epoch ms since when the one that waits for longest has had this reason. */
  readonly since: number;
}

interface WaitingDelivery {
  readonly id: number;
  readonly since: number;
  readonly reason: string;
  readonly wait: Wait;
}

/**
 * Yields the pending deliveries that wait for data; others work between two slices. A wait begins
 * with the first of its decisions: it is journaled again when a rule that only watches says
 * something else.
 */
async function* waitingDeliveries(db: Db): AsyncGenerator<WaitingDelivery> {
  const waits = waitsByReason();
  const reasons = JSON.stringify([...waits.keys()]);
  const begun = sql<number | null>`iif(n.reason in (select value from json_each(${reasons})),
    (select min(m.at) from decision m
      where m.order_delivery_id = n.order_delivery_id and m.decision_id > coalesce(
        (select max(b.decision_id) from decision b
          where b.order_delivery_id = n.order_delivery_id and b.reason <> n.reason), 0)), null)`;
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = await db
      .selectFrom('delivery as d')
      .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
      .leftJoin('decision as n', 'n.decision_id', 'e.decision_id')
      .select(['d.order_delivery_id as id', 'n.reason', begun.as('since')])
      .where('d.status', '=', 'pending')
      .where('d.deleted_at', 'is', null)
      .where('d.order_delivery_id', '>', after)
      .orderBy('d.order_delivery_id')
      .limit(SPAN_ROWS)
      .execute();
    for (const { id, reason, since } of rows) {
      const wait = reason === null ? undefined : waits.get(reason);
      if (wait !== undefined && reason !== null && since !== null)
        yield { id, since, reason, wait };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < SPAN_ROWS) return;
    after = last.id;
    await nextTurn();
  }
}

/** Counts the pending deliveries that wait for data, by what they wait for. */
async function countWaiting(db: Db): Promise<readonly Waiting[]> {
  const found = new Map<string, Waiting>();
  for await (const { reason, wait, since } of waitingDeliveries(db)) {
    const before = found.get(reason);
    const deliveries = (before?.deliveries ?? 0) + 1;
    found.set(reason, { wait, deliveries, since: Math.min(since, before?.since ?? since) });
  }
  return [...found.values()];
}

/** Ids of the pending deliveries that wait for data of these streams; the oldest first. */
export async function waitingFor(db: Db, streams: ReadonlySet<string>): Promise<number[]> {
  const ids: number[] = [];
  if (streams.intersection(new Set(AGED_STREAMS)).size === 0) return ids;
  for await (const { id, wait } of waitingDeliveries(db)) if (streams.has(wait.for)) ids.push(id);
  return ids;
}

function nameOf({ for: what, why }: Wait): string {
  if (what === 'credit') return 'credit figures of the ERP that are fresh';
  if (what === 'customers') return 'customers that the ERP has renewed';
  const named = wordFor('stream', what);
  if (why === 'first') return `the first complete pull of ${named}`;
  return why === 'off' ? `${named}, which is switched off` : `fresh ${named}`;
}

function adviceOf({ for: what, why }: Wait): string {
  const setting = `safeguards.accept.freshness.${what} of the rules`;
  if (what === 'credit') return `have the ERP write erp_customer again, with as_of; or ${setting}`;
  if (what === 'customers') {
    return `have the ERP write erp_customer again; if it does so more rarely: ${setting}`;
  }
  if (why !== 'off') return `selvedge sync show ${what}`;
  return `switch it on (streams.off), or say how old it may be: ${setting}`;
}

function incidentOf({ wait, deliveries, since }: Waiting): Incident {
  const which = deliveries === 1 ? '1 delivery waits' : `${deliveries} deliveries wait`;
  const oldest = deliveries === 0 ? '' : `, the oldest since ${new Date(since).toISOString()}`;
  const says = `${deliveries === 0 ? 'accepts wait' : which} for ${nameOf(wait)}${oldest}`;
  const entity = wait.for === 'credit' || wait.for === 'customers' ? 'erp_customer' : 'stream';
  const detail = { says, advice: adviceOf(wait), rows: deliveries };
  return { kind: KIND, entity, key: wait.for, detail };
}

interface WaitsAsked {
  readonly ruleSet: RuleSet;
  readonly freshness: FreshnessMs;
  readonly now: number;
}

function acceptRules({ rules, settings }: RuleSet): readonly Rule[] {
  if (settings.mode !== 'live') return [];
  return rules.filter(({ action, mode }) => action === 'accept' && mode === 'live');
}

const MOVING = ['stock', 'season'] as const;

function isFor({ wait }: Waiting, stream: string): boolean {
  return wait.for === stream && wait.why === 'old';
}

/** Streams that accept rules read and that are too old, whether a delivery waits or not. */
async function oldStreams(db: Db, { ruleSet, freshness, now }: WaitsAsked): Promise<Waiting[]> {
  const read = streamsOf(
    MOVED_BY,
    acceptRules(ruleSet).flatMap(({ reads }) => reads),
  );
  const found: Waiting[] = [];
  for (const stream of MOVING) {
    const limitMs = limitOf({ ruleSet, freshness }, stream);
    if (!read.includes(stream) || limitMs === undefined) continue;
    const at = await completeAt(db, stream);
    if (at === null || !isOld(at, limitMs, now)) continue;
    found.push({ wait: { for: stream, why: 'old' }, deliveries: 0, since: at });
  }
  return found;
}

function isToTell({ wait, since }: Waiting, now: number): boolean {
  return wait.why !== 'first' || now - since >= TOLD_AFTER_MS || since > now;
}

/** Makes the incidents those of what is waited for now. */
async function keepIncidents(db: Db, waiting: readonly Waiting[], now: number): Promise<void> {
  const wanted = waiting.filter((one) => isToTell(one, now)).map(incidentOf);
  await reconcileIncidents(db, [KIND], wanted, now);
  for (const incident of wanted) {
    const stored = await openDetail(db, incident);
    if (stored !== JSON.stringify(incident.detail)) await updateIncident(db, incident, now);
  }
}

/** Tells what accepts wait for; call it once a run has ended, and from time to time. */
export async function tellWaits(db: Db, asked: WaitsAsked): Promise<void> {
  const old = await oldStreams(db, asked);
  const byName = new Map(old.map((one) => [one.wait.for, one]));
  const waiting = await countWaiting(db);
  // A stream that deliveries wait for for two reasons is told once, by the reason of most.
  for (const one of waiting.toSorted((a, b) => a.deliveries - b.deliveries)) {
    // Deliveries that wait for what is fresh again are about to be decided.
    if (MOVING.some((stream) => isFor(one, stream)) && !byName.has(one.wait.for)) continue;
    byName.set(one.wait.for, one);
  }
  await keepIncidents(db, [...byName.values()], asked.now);
}
