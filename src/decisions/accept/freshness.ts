/**
 * Holds deliveries whose decision would rest on data that is too old, or not there yet: an accept
 * by a rule that reads a stream whose last complete pull is older than its limit, or the ERP's
 * credit figures; an accept beside live rules on a stream that is switched off, or on customers
 * that the ERP renews no more; and what live rules cannot decide before the first complete pull of
 * a stream. The delivery is decided by itself once the data is there. Rules in shadow hold nothing.
 */

import { sql } from 'kysely';
import { parseDuration } from '../../lib/units.ts';
import { readCustomerLoss } from '../../mirror/customer-loss.ts';
import { customersAt } from '../../mirror/erp-customer.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import type { Db, Tx } from '../../store/store.ts';
import { kept } from '../../store/transaction/kept.ts';
import {
  areCustomersRead,
  FIRST_FROM,
  MOVED_BY,
  READ_FROM,
  streamsFor,
  streamsOf,
} from '../fact-streams.ts';
import type { Subject } from '../facts.ts';
import type { Candidate, FreshnessMs, Precaution } from '../judgement.ts';
import { safeguardHold } from '../reject/outcome.ts';

// Holds decisions while a run of a stream that their rules read has changed most of its rows at
// once (sync/run/change-guard.ts): such a change is more likely a fault of the service than the
// truth. The same for the ERP's customers (mirror/customer-loss.ts). The decisions go on by
// themselves when a person has accepted it, or a later run found the rows as they were.

interface ChangedRun {
  readonly run_id: number;
  readonly stream: string;
  readonly outcome: string;
}

/**
 * Milliseconds after which a delivery is evaluated again that waits for the end of a run, or for
 * the ERP's customers: nothing in the change feed tells of either.
 */
const LOOK_MS = 30_000;

/**
 * Finds runs whose changes wait for a person. A run that is still going counts while it has changed
 * most of the rows it has read so far; only its end shows the true share. Sorted by what is no
 * column, as SQLite would walk over all runs in their order rather than use the indexes.
 */
export const changedRuns = kept(
  (_db: Db) => sql<ChangedRun>`
    select * from (
      select run_id, stream, outcome from sync_run where change_guard = 'open'
      union all select run_id, stream, outcome from sync_run
      where outcome = 'running' and change_guard is null
        and iif(rows_drastic > 100, rows_drastic, drastic ->> '$.members') * 2
          > rows_changed - rows_new + rows_unchanged
    ) order by +run_id desc`,
);

async function runToWaitFor(
  tx: Tx,
  { rules }: RuleSet,
  { facts }: Pick<Subject, 'facts'>,
): Promise<ChangedRun | undefined> {
  const runs = await changedRuns(tx);
  if (runs.length === 0) return undefined;
  const paths = rules.flatMap(({ mode, reads }) => (mode === 'live' ? reads : []));
  const streams = streamsOf(READ_FROM, paths);
  // Only pre-orders use the stream `season`.
  const isRead = (stream: string): boolean =>
    streams.includes(stream) && (stream !== 'season' || facts.order.season !== null);
  return runs.find(({ stream }) => isRead(stream));
}

function describe({ run_id: runId, stream, outcome }: ChangedRun): string {
  const what = `run ${runId} of ${stream} changed most of its rows at once`;
  if (outcome === 'running') return `${what} so far; waits for its end`;
  return `${what}; see "selvedge sync show ${runId}", then: selvedge sync release ${runId}`;
}

interface Waits {
  readonly why: string;
  /** Whether the delivery has to look by itself whether the wait is over. */
  readonly looks: boolean;
}

async function waitOf(
  tx: Tx,
  ruleSet: RuleSet,
  subject: Pick<Subject, 'facts'>,
): Promise<Waits | undefined> {
  const run = await runToWaitFor(tx, ruleSet, subject);
  if (run) return { why: describe(run), looks: run.outcome === 'running' };
  const loss = await readCustomerLoss(tx);
  if (!loss || !areCustomersRead(ruleSet)) return undefined;
  const release = '"selvedge sync release customers"';
  const why = `erp_customer has lost ${loss.what} at once; if it is meant: ${release}`;
  return { why, looks: true };
}

/** Says what a decision waits for; undefined when it need not wait. */
export async function waitsForChanges(
  tx: Tx,
  ruleSet: RuleSet,
  subject: Pick<Subject, 'facts'>,
): Promise<string | undefined> {
  return (await waitOf(tx, ruleSet, subject))?.why;
}

/** Holds an accept or a reject while the changes of a run wait for a person. */
export async function holdForChanges(
  tx: Tx,
  { ruleSet, subject, outcome, now }: Candidate,
): Promise<Precaution | undefined> {
  const wait = await waitOf(tx, ruleSet, subject);
  if (!wait) return undefined;
  const reason = `safeguard changes: ${wait.why}`;
  const held = { ...outcome, kind: 'hold', code: 'safeguard', rules: [], reason } as const;
  // A run may begin and end between two passes, so a delivery that waits for one has a time of its
  // own.
  return { outcome: held, ...(wait.looks ? { lookAt: now + LOOK_MS } : {}) };
}

const CREDIT = /^customer\.credit\b/;
/** Facts that the ERP says about a customer; the others are counted in the mirror. */
const OF_ERP = /^customer\.(blocked|credit|extra)\b/;

/** Streams whose facts may be too old to accept on. */
export const AGED_STREAMS = ['stock', 'season', 'styles', 'seasons'] as const;
type AgedStream = (typeof AGED_STREAMS)[number];

export interface Wait {
  readonly for: AgedStream | 'credit' | 'customers';
  /** `first`: it was never read completely; `old`: for too long; `off`: it is not pulled. */
  readonly why: 'first' | 'old' | 'off';
}

const OF_CUSTOMERS: Readonly<Record<'credit' | 'customers', string>> = {
  credit: 'waits for fresh credit figures of the customer (as_of)',
  customers: 'waits until the ERP renews its customers; see: safeguards.accept.freshness.customers',
};

/**
 * The reason of the hold names no age: an age changes with each look, and each change is journaled.
 */
function detailOf({ for: what, why }: Wait): string {
  if (what === 'credit' || what === 'customers') return OF_CUSTOMERS[what];
  if (why === 'off') {
    const see = `safeguards.accept.freshness.${what}`;
    return `${what} is switched off, and nothing says how old it may be; see: ${see}`;
  }
  const which = why === 'first' ? `the first ${what}` : `fresh ${what}`;
  return `waits for ${which}; see: selvedge sync show ${what}`;
}

const SAFEGUARD = 'freshness';

function heldFor(wait: Wait): Precaution {
  const detail = detailOf(wait);
  return { outcome: safeguardHold(undefined, { safeguard: SAFEGUARD, detail }) };
}

/** All waits, by the reason that the decision about a delivery has while it waits. */
export function waitsByReason(): ReadonlyMap<string, Wait> {
  const ofStreams = AGED_STREAMS.flatMap((stream) =>
    (['first', 'old', 'off'] as const).map((why): Wait => ({ for: stream, why })),
  );
  const ofErp = (['credit', 'customers'] as const).map((what): Wait => ({ for: what, why: 'old' }));
  return new Map(
    [...ofStreams, ...ofErp].map((wait) => [heldFor(wait).outcome.reason, wait] as const),
  );
}

export async function completeAt(db: Db | Tx, stream: string): Promise<number | null> {
  const row = await db
    .selectFrom('stream_state')
    .select('complete_at')
    .where('stream', '=', stream)
    .executeTakeFirst();
  return row?.complete_at ?? null;
}

export function isOld(at: number | null, limitMs: number, now: number): boolean {
  // A timestamp in the future was written before the clock was set back, so the true age is
  // unknown.
  return at === null || at > now || now - at > limitMs;
}

/** Milliseconds for which data of a stream that was switched off still counts as fresh. */
const OFF_MS_MAX = 3_600_000;

interface Limits {
  readonly ruleSet: Pick<RuleSet, 'settings'>;
  readonly freshness: FreshnessMs;
}

/**
 * Milliseconds that the data of a stream may be old: by the rules' settings, else by the
 * configuration; undefined: the stream is off, and nothing says how old its data may be. Product
 * data and seasons change rarely: while they are pulled they have no limit but the rules' own.
 */
export function limitOf({ ruleSet, freshness }: Limits, stream: AgedStream): number | undefined {
  const own = ruleSet.settings.safeguards.accept.freshness[stream];
  if (own !== undefined) return parseDuration(own);
  const pulled = freshness[stream];
  if (stream === 'stock' || stream === 'season' || pulled === undefined) return pulled;
  return Infinity;
}

function readsOf(rules: readonly Rule[]): readonly string[] {
  return rules.flatMap(({ reads }) => reads);
}

/** Live rules that were asked about the delivery, and that `which` chooses by their results. */
function liveRules(
  { ruleSet, evaluation }: Pick<Candidate, 'ruleSet' | 'evaluation'>,
  which: (result: Evaluation['rules'][number]) => boolean,
): readonly Rule[] {
  const chosen = evaluation.rules.filter((one) => one.mode === 'live' && which(one));
  const ids = new Set(chosen.map(({ id }) => id));
  return ruleSet.rules.filter(({ id }) => ids.has(id));
}

/**
 * Live rules on which the outcome rests: those that decide it, and those that had to say no for it.
 * An accept does not rest on other accept rules, whatever they say.
 */
function restsOn(candidate: Candidate): readonly Rule[] {
  const { kind, code } = candidate.outcome;
  if (kind === 'no_rule' || code === 'could_not_evaluate') {
    return liveRules(candidate, ({ value }) => value === 'unknown');
  }
  const isAccept = kind === 'accept';
  return liveRules(candidate, ({ action, value }) =>
    action === 'accept' ? isAccept && value === true : true,
  );
}

/** Whether the rules read what the ERP says of customers: facts of one, or a list of them. */
function readsErp(rules: readonly Rule[], { settings }: Pick<RuleSet, 'settings'>): boolean {
  const lists = new Set(Object.keys(settings.list_sources).map((name) => `lists.${name}`));
  return readsOf(rules).some((path) => OF_ERP.test(path) || lists.has(path));
}

interface Resting {
  readonly accepting: readonly Rule[];
  /** The same, and the hold and reject rules that had to say no. */
  readonly all: readonly Rule[];
}

type Aged = Pick<Candidate, 'subject' | 'ruleSet' | 'freshness' | 'now'>;

async function oldStream(
  tx: Tx,
  candidate: Aged,
  { accepting, all }: Resting,
): Promise<Wait | undefined> {
  const { facts } = candidate.subject;
  const moved = streamsFor(MOVED_BY, readsOf(accepting), facts);
  const first = streamsFor(FIRST_FROM, readsOf(accepting), facts);
  const beside = streamsFor(FIRST_FROM, readsOf(all), facts);
  for (const stream of AGED_STREAMS) {
    const isAccepting = moved.includes(stream) || first.includes(stream);
    if (!isAccepting && !beside.includes(stream)) continue;
    const isOff = candidate.freshness[stream] === undefined;
    const limitMs = limitOf(candidate, stream);
    const at = await completeAt(tx, stream);
    // What an account without the stream never had is unknown to the rules, which say so.
    if (isOff && at === null && !isAccepting) continue;
    if (limitMs === undefined) {
      if (isOld(at, OFF_MS_MAX, candidate.now)) return { for: stream, why: 'off' };
      continue;
    }
    const isAged = stream === 'stock' || stream === 'season' ? moved : first;
    if ((!isAged.includes(stream) && !isOff) || limitMs === Infinity) continue;
    if (isOld(at, limitMs, candidate.now)) return { for: stream, why: 'old' };
  }
  return undefined;
}

/**
 * Says which stream is too old for a decision by this rule: a reject needs them as fresh as an
 * accept does.
 */
export async function tooOldFor(tx: Tx, aged: Aged, rule: Rule): Promise<string | undefined> {
  const wait = await oldStream(tx, aged, { accepting: [rule], all: [rule] });
  return wait && detailOf(wait);
}

/** Time at which the ERP wrote the buyer's row; null: the ERP has no such row, or no time. */
export async function customerAt(tx: Tx, { facts }: Candidate['subject']): Promise<number | null> {
  const row = await tx
    .selectFrom('erp_customer')
    .select('as_of')
    .where('account_no', '=', facts.order.account_no ?? '')
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row?.as_of ?? null;
}

/**
 * Whether the rules read credit figures of a customer that are too old, or whose age is not known.
 */
async function isCreditOld(tx: Tx, candidate: Candidate, rules: readonly Rule[]): Promise<boolean> {
  if (!readsOf(rules).some((path) => CREDIT.test(path))) return false;
  const { subject, ruleSet, now } = candidate;
  const limitMs = parseDuration(ruleSet.settings.safeguards.accept.freshness.credit) ?? 0;
  return isOld(await customerAt(tx, subject), limitMs, now);
}

/**
 * Whether the ERP has renewed none of its customers for too long. One row that it writes shows that
 * it still does; an ERP that never wrote any makes no fact.
 */
async function areCustomersOld(tx: Tx, { ruleSet, now }: Candidate): Promise<boolean> {
  const at = await customersAt(tx);
  const limitMs = parseDuration(ruleSet.settings.safeguards.accept.freshness.customers) ?? 0;
  return at !== undefined && isOld(at, limitMs, now);
}

async function waitOfAccept(tx: Tx, candidate: Candidate): Promise<Wait | undefined> {
  const { ruleSet, outcome } = candidate;
  const accepting = ruleSet.rules.filter(({ id }) => outcome.rules.includes(id));
  const all = restsOn(candidate);
  const old = await oldStream(tx, candidate, { accepting, all });
  if (old) return old;
  if (await isCreditOld(tx, candidate, accepting)) return { for: 'credit', why: 'old' };
  if (readsErp(all, ruleSet) && (await areCustomersOld(tx, candidate)))
    return { for: 'customers', why: 'old' };
  return undefined;
}

/**
 * The stream on which one of these live rules rests although it was never read completely: the rule
 * may say something else once it was.
 */
async function firstToCome(
  tx: Tx,
  { freshness, subject }: Candidate,
  rules: readonly Rule[],
): Promise<Wait | undefined> {
  const streams = streamsFor(FIRST_FROM, readsOf(rules), subject.facts);
  for (const stream of AGED_STREAMS) {
    if (!streams.includes(stream) || freshness[stream] === undefined) continue;
    if ((await completeAt(tx, stream)) === null) return { for: stream, why: 'first' };
  }
  return undefined;
}

/** Holds a delivery while the data that its decision needs is too old, or not there yet. */
export async function holdForStaleData(
  tx: Tx,
  candidate: Candidate,
): Promise<Precaution | undefined> {
  const { kind, code } = candidate.outcome;
  const isOpen = kind !== 'hold' || code === 'could_not_evaluate';
  const first = isOpen ? await firstToCome(tx, candidate, restsOn(candidate)) : undefined;
  const wait = first ?? (kind === 'accept' ? await waitOfAccept(tx, candidate) : undefined);
  return wait && heldFor(wait);
}
