/**
 * Where a finding leads. The rule for what makes something new at the service: found means
 * confirmed; absent in two complete looks, both after the quiet time and apart from each other,
 * means proved absent, and it is sent again under the same reference; several, one that is not
 * like ours, or no proof within a day is for a person. For what changes a status one look is
 * enough, because setting it twice does no harm.
 */
import type { Clock } from '../../lib/clock.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../lib/json.ts';
import { openIncident } from '../../store/incidents.ts';
import { readState, writeState } from '../../store/state.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { OutboxState } from '../../store/tables.ts';
import type { Finding, OutboxItem } from '../item.ts';
import { type Change, move } from '../ledger.ts';
import { DIFFERENCE } from '../watch/differences.ts';
import { type LookPace, nextLookAt } from './looks.ts';

export interface Policy {
  /** From {@link OutboxKind}. */
  readonly creates: boolean;
  readonly conflictEnds: boolean;
  /** After so many attempts that may have had an effect a person is asked. */
  readonly attemptsMax: number;
  /** Its quiet time as configured. */
  readonly pace: LookPace;
  /** A doubt that lasts longer is for a person. */
  readonly deskAfterMs: number;
  /** Until the next step of what was answered and is not shown, or is sent again without proof. */
  readonly waitMs: number;
}

export interface Settled {
  readonly state: OutboxState;
  /** Nothing more will be done about it. */
  readonly ended: boolean;
  readonly reason: string | undefined;
}

interface Verdict extends Settled {
  readonly change: Change;
}

const PUT_BACK = 'the service took it and shows the status of before: somebody put it back';

function ended(state: OutboxState, now: number, change: Change, reason?: string): Verdict {
  return { state, ended: true, reason, change: { ...change, ended_at: now, due_at: now } };
}

function desk(now: number, since: number | null, reason: string): Verdict {
  const change = { desk_reason: reason, in_doubt_since: since ?? now, due_at: now };
  return { state: 'in_doubt', ended: false, reason, change };
}

function lastAttempt(tx: Tx, { outboxId }: OutboxItem) {
  return tx
    .selectFrom('outbox_attempt')
    .select(['class', 'answer'])
    .where('outbox_id', '=', outboxId)
    .orderBy('attempt', 'desc')
    .executeTakeFirst();
}

/** Attempts that may have had an effect. */
async function effectiveAttempts(tx: Tx, outboxId: number): Promise<number> {
  const row = await tx
    .selectFrom('outbox_attempt')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('outbox_id', '=', outboxId)
    .where('class', '!=', 'not_processed')
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/**
 * Times of the complete looks that found nothing, also for earlier doubts. A time to come is from
 * before the clock was set back: it proves nothing about this doubt.
 */
async function absences(tx: Tx, outboxId: number, now: number): Promise<number[]> {
  const rows = await tx
    .selectFrom('outbox_evidence')
    .select('at')
    .where('outbox_id', '=', outboxId)
    .where('found', '=', 'no')
    .where('complete', '=', 1)
    .where('at', '<=', now)
    .orderBy('at')
    .execute();
  return rows.map(({ at }) => at);
}

const LATENESS_KEY = 'outbox.latest_effect_ms';

/** How long after its request an effect was seen to be missing still, at the worst. */
export async function worstLateness(tx: Tx | Store['db']): Promise<number> {
  return Number((await readState(tx, LATENESS_KEY)) ?? 0);
}

/** Before an absence proves something: never less than twice the worst that was seen. */
export async function quietTime(tx: Tx | Store['db'], configuredMs: number): Promise<number> {
  return Math.max(configuredMs, 2 * (await worstLateness(tx)));
}

/** An effect that was proved absent and then appeared teaches how late effects can be. */
async function learnLateness(tx: Tx, item: OutboxItem, clock: Clock): Promise<void> {
  const since = item.inDoubtSince;
  if (since === null) return;
  const last = (await absences(tx, item.outboxId, clock.now())).at(-1);
  if (last === undefined || last - since <= (await worstLateness(tx))) return;
  await writeState(tx, LATENESS_KEY, String(last - since), clock);
}

/** It is there, but not as it was sent: nothing to repeat, something to know. */
async function tellDifferences(
  tx: Tx,
  { outboxId, kind, reference }: OutboxItem,
  differences: readonly string[],
  now: number,
): Promise<void> {
  if (differences.length === 0) return;
  const resolve = `selvedge outbox resolve ${outboxId} --as noted --reason "…"`;
  const hint = `compare: selvedge outbox show ${outboxId}; then: ${resolve}`;
  const detail = { kind, reference, differences, hint };
  const incident = { ...DIFFERENCE, key: String(outboxId), detail };
  await openIncident(tx, incident, now);
}

async function verdictOfAbsence(
  tx: Tx,
  item: OutboxItem,
  policy: Policy,
  now: number,
): Promise<Verdict> {
  const { waitMs, pace } = policy;
  // Looked at once more: an answer may come from a copy that lags behind.
  if (item.state === 'sent') {
    const change = { in_doubt_since: now, due_at: now + waitMs };
    return { state: 'in_doubt', ended: false, reason: undefined, change };
  }
  const answered = item.result !== null;
  const since = item.inDoubtSince ?? now;
  if (policy.creates) {
    const times = await absences(tx, item.outboxId, now);
    const after = times.filter((at) => at >= since + pace.quietMs);
    const [first, last] = [after[0], after.at(-1)];
    if (first === undefined || last === undefined) return stillInDoubt(item, policy, now);
    // It is half of the proof, however late it came: after an outage, or a rest, of days.
    if (last - first < pace.everyMs) return lookAgain(since, policy, now);
    if (answered) return desk(now, since, 'the service answered that it took it, and has it not');
  } else if (answered) return ended('refused', now, { in_doubt_since: null }, PUT_BACK);
  if (policy.conflictEnds) {
    const last = await lastAttempt(tx, item);
    const reason = last?.answer ?? 'its state forbids it';
    if (last?.class === 'conflict') return ended('refused', now, { in_doubt_since: null }, reason);
  }
  const tried = await effectiveAttempts(tx, item.outboxId);
  // A person who has it tried again grants as many attempts as before.
  if (tried > 0 && tried % policy.attemptsMax === 0) {
    const reason = `tried ${tried} times without an effect`;
    return ended('dead', now, { in_doubt_since: null }, reason);
  }
  const due = policy.creates ? now : now + waitMs;
  const change = { in_doubt_since: null, due_at: due };
  return { state: 'queued', ended: false, reason: undefined, change };
}

function stillInDoubt(item: OutboxItem, policy: Policy, now: number): Verdict {
  const since = item.inDoubtSince ?? now;
  if (now - since >= policy.deskAfterMs) {
    return desk(now, since, 'for too long it could be neither found nor proved absent');
  }
  return lookAgain(since, policy, now);
}

function lookAgain(since: number, { pace }: Policy, now: number): Verdict {
  const change = { in_doubt_since: since, due_at: nextLookAt(since, pace, now) };
  return { state: 'in_doubt', ended: false, reason: undefined, change };
}

/** What the answer told, and where it left something open what the look has shown of it. */
function resultOf({ result }: OutboxItem, shown: JsonObject): string {
  const answer = tryParseJson(result ?? '');
  const told = Object.entries(isJsonObject(answer) ? answer : {}).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
  return JSON.stringify({ ...shown, ...Object.fromEntries(told) });
}

async function verdictOf(
  tx: Tx,
  item: OutboxItem,
  finding: Finding,
  policy: Policy,
  now: number,
): Promise<Verdict> {
  switch (finding.found) {
    case 'yes': {
      const { result } = finding;
      const known = result ? { result: resultOf(item, result) } : {};
      const orderId = result?.orderId;
      const order = typeof orderId === 'number' ? { order_id: orderId } : {};
      const change = { in_doubt_since: null, last_error: null, ...known, ...order };
      return ended('confirmed', now, change);
    }
    case 'overtaken':
      return ended('refused', now, { in_doubt_since: null }, finding.reason);
    case 'unfit': {
      const problems = JSON.stringify(finding.problems);
      const errors = finding.problems.filter(({ severity }) => severity === 'error');
      const reason = errors
        .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
        .join('; ');
      return ended('refused', now, { problems }, reason);
    }
    case 'unclear':
      return desk(now, item.inDoubtSince, finding.reason);
    default:
      if (finding.complete === false) return stillInDoubt(item, policy, now);
      return verdictOfAbsence(tx, item, policy, now);
  }
}

async function storeEvidence(
  tx: Tx,
  item: OutboxItem,
  finding: Exclude<Finding, { readonly found: 'unfit' }>,
  lookedAt: number,
): Promise<void> {
  const { found } = finding;
  await tx
    .insertInto('outbox_evidence')
    .values({
      outbox_id: item.outboxId,
      at: lookedAt,
      source: 'look-up',
      found: found === 'overtaken' ? 'unclear' : found,
      detail: JSON.stringify(finding),
      complete: Number(!(found === 'no' && finding.complete === false)),
    })
    .execute();
}

/**
 * Whether the row is still in the doubt, or on the try, that was looked at: one that a person had
 * sent again meanwhile has a doubt of its own, of which an older item knows nothing.
 */
async function isAsLookedAt(tx: Tx, item: OutboxItem): Promise<boolean> {
  const row = await tx
    .selectFrom('outbox')
    .select(['state', 'attempts', 'in_doubt_since'])
    .where('outbox_id', '=', item.outboxId)
    .executeTakeFirst();
  const { state, attempts, inDoubtSince } = item;
  return row?.state === state && row.attempts === attempts && row.in_doubt_since === inDoubtSince;
}

/**
 * Stores what was found and moves the row to where the finding leads. `lookedAt` is when the look
 * began: what it found absent was absent then. Undefined: somebody else moved the row meanwhile.
 */
export async function settle(
  store: Store,
  clock: Clock,
  item: OutboxItem,
  look: { readonly finding: Finding; readonly lookedAt: number },
  policy: Policy,
): Promise<Settled | undefined> {
  const { finding, lookedAt } = look;
  return store.transaction(async (tx) => {
    const now = clock.now();
    const quietMs = await quietTime(tx, policy.pace.quietMs);
    const own = { ...policy, pace: { ...policy.pace, quietMs } };
    if (!(await isAsLookedAt(tx, item))) return undefined;
    if (finding.found !== 'unfit') await storeEvidence(tx, item, finding, lookedAt);
    if (finding.found === 'yes') {
      await learnLateness(tx, item, clock);
      await tellDifferences(tx, item, finding.differences ?? [], now);
    }
    const { state, change, ...rest } = await verdictOf(tx, item, finding, own, now);
    let from: OutboxItem = item;
    // An answered push that was overtaken goes through doubt: no other way leads there.
    if (item.state === 'sent' && state === 'refused') {
      await move(tx, item, 'in_doubt', { in_doubt_since: now });
      from = { ...item, state: 'in_doubt' };
    }
    const { reason } = rest;
    const error = reason === undefined ? {} : { last_error: reason };
    const isOurs = await move(tx, from, state, { ...change, ...error });
    return isOurs ? { state, ...rest } : undefined;
  });
}
