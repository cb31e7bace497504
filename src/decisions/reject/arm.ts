/**
 * Arms and disarms reject rules and resets the breaker: each act of a person is one transaction
 * with its audit row. Arming asks for everything that shows that the rule is understood: tests that
 * prove every clause, a stored backtest of exactly this text, matches that somebody has looked at.
 * A RefusedError lists everything that is missing, and changes nothing. A rule whose text changed
 * or whose arming expired is disarmed by itself, with an audit row as well.
 */

import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { NOT_KNOWN, RefusedError } from '../../lib/errors.ts';
import { nearestName } from '../../lib/nearest.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import { runRuleTests } from '../../rules/testing.ts';
import { type Actor, writeAudit } from '../../store/audit.ts';
import { trustedNow } from '../../store/clock-guard.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { openArmings } from './arming.ts';
import { type Breaker, resetBreaker, trippedBreaker } from './breaker.ts';
import { cancelDisallowedRejects } from './finish-reject.ts';
import { lackOfCustomers } from './freshness.ts';
import { markSeen, matchesAmong, seenCount } from './matches.ts';
import { endEntries, waitingEntries } from './queue.ts';

interface ReportInput {
  readonly ruleSetHash: string;
  /** Beginning of the backtested period, in epoch milliseconds; `until` is its end. */
  readonly since: number;
  readonly until: number;
  /** Number of deliveries that were replayed. */
  readonly deliveries: number;
  /** Hashes of the rules on trial, by rule id. */
  readonly rules: Readonly<Record<string, string>>;
  /** Report in the form of `selvedge rules backtest --json`. */
  readonly report: unknown;
}

async function storeReport(
  tx: Tx,
  { ruleSetHash, rules, report, ...period }: ReportInput,
  who: Actor,
  at: number,
): Promise<number> {
  const row = await tx
    .insertInto('backtest_report')
    .values({
      actor: who.actor,
      at,
      ...period,
      rule_set_hash: ruleSetHash,
      rules: JSON.stringify(rules),
      report: JSON.stringify(report),
    })
    .returning('report_id')
    .executeTakeFirstOrThrow();
  const detail = { reportId: row.report_id, ruleSetHash, ...period };
  const act = { action: 'rules.report', subject: 'rules', detail };
  await writeAudit(tx, { ...who, ...act }, at);
  return row.report_id;
}

interface KeptReport {
  readonly reportId: number;
  readonly deliveries: number;
  /** Number of deliveries whose outcome was not known; null: the report does not tell. */
  readonly notKnown: number | null;
}

/**
 * Finds the latest backtest report about exactly this rule text that replayed any delivery at all.
 */
async function latestReport(db: Db | Tx, { id, hash }: Rule): Promise<KeptReport | undefined> {
  return db
    .selectFrom('backtest_report')
    .select(['report_id as reportId', 'deliveries'])
    .select(sql<number | null>`report->>'$.notKnown.deliveries'`.as('notKnown'))
    .where('deliveries', '>', 0)
    .where(
      sql<boolean>`exists (select 1 from json_each(rules) where key = ${id} and value = ${hash})`,
    )
    .orderBy('report_id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

interface Armed {
  readonly ruleId: string;
  readonly ruleHash: string;
  readonly reportId: number;
  readonly expiresAt: number;
  /** Reasons why the rule may never reject although it is armed. */
  readonly warnings: readonly string[];
}

export interface RejectOperationsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ruleSet: () => RuleSet;
  /** Called after arming or disarming, because deliveries must be decided again. */
  readonly onChanged: () => void;
}

interface Disarmed {
  /** Number of waiting rejects of the rule that were withdrawn. */
  readonly withdrawn: number;
  /** Number of unsent pushes of the rule that were canceled. */
  readonly canceled: number;
}

export interface RejectOperations {
  /** Gives what {@link arm} would arm, and refuses what it would refuse. */
  armable(ruleId: string): Promise<Omit<Armed, 'expiresAt'>>;
  /** Gives how many rejects {@link disarm} would withdraw, and refuses what it would refuse. */
  disarmable(ruleId: string): Promise<number>;
  /** Refuses decisions that {@link seen} would refuse. */
  requireMatches(ruleId: string, decisions: readonly number[]): Promise<void>;
  /** Gives what {@link resetBreaker} would reset; throws where the breaker has not tripped. */
  tripped(): Promise<Breaker>;
  /** @param lastsMs how many milliseconds the rule stays armed. */
  arm(ruleId: string, lastsMs: number, who: Actor): Promise<Armed>;
  disarm(ruleId: string, who: Actor): Promise<Disarmed>;
  /**
   * Records that somebody looked at these matches of the rule; gives how many deliveries were
   * looked at so far.
   */
  seen(ruleId: string, decisions: readonly number[], who: Actor): Promise<number>;
  /** Stores a backtest report and gives its id. */
  keepReport(report: ReportInput, who: Actor): Promise<number>;
  resetBreaker(who: Actor): Promise<Breaker>;
}

function rejectRule({ rules }: RuleSet, ruleId: string): Rule {
  const rule = rules.find(({ id }) => id === ruleId);
  const ids = rules.flatMap(({ id, action }) => (action === 'reject' ? [id] : []));
  if (rule?.action === 'reject') return rule;
  const near = nearestName(ruleId, ids);
  const hint = near ? `did you mean ${near}?` : `reject rules: ${ids.join(', ') || 'none'}`;
  throw new RefusedError('rules.no_reject_rule', `there is no reject rule ${ruleId}`, { hint });
}

function untested(ruleSet: RuleSet, { id }: Rule): readonly string[] {
  const report = runRuleTests(ruleSet);
  const tests = report.tests.filter(({ ruleId }) => ruleId === id);
  const failed = tests.filter(({ ok }) => !ok).map(({ name }) => `its test "${name}" fails`);
  const unproved = report.unproved
    .filter(({ ruleId }) => ruleId === id)
    .map(({ text }) => `no test shows that this matters: ${text}`);
  return tests.length === 0 ? ['it has no tests'] : [...failed, ...unproved];
}

const BACKTEST = 'selvedge rules backtest --since 30d --save';
const BLIND_HINT = `${BACKTEST} says what it does not know, and since when all is known`;

/** Says why a kept backtest proves nothing about the rule; undefined: it knows every delivery. */
function blindness(report: KeptReport | undefined): string | undefined {
  if (report === undefined || report.notKnown === 0) return undefined;
  const { reportId, notKnown, deliveries } = report;
  return notKnown === null
    ? `backtest ${reportId} does not say what it did not know; keep another (${BACKTEST})`
    : `backtest ${reportId} does not know what becomes of ${notKnown} of ${deliveries} deliveries`;
}

/** Conditions of arming that are not met, each in a sentence; empty: the rule can be armed. */
export async function missingForArming(
  db: Db | Tx,
  ruleSet: RuleSet,
  rule: Rule,
): Promise<readonly string[]> {
  const { matches_seen: needed } = ruleSet.settings.safeguards.reject;
  const seen = await seenCount(db, rule.hash);
  const report = await latestReport(db, rule);
  const blind = blindness(report);
  const isLive = rule.mode === 'live' && ruleSet.settings.mode === 'live';
  return [
    ...(isLive ? [] : ['its mode, or that of the set, is not live: armed it would only watch']),
    ...untested(ruleSet, rule),
    ...(report ? [] : [`no backtest is kept in which this text had a say (${BACKTEST})`]),
    ...(blind === undefined ? [] : [blind]),
    ...(seen >= needed
      ? []
      : [`${seen} of ${needed} matches looked at (selvedge rules matches ${rule.id} --seen)`]),
  ];
}

/** Reads what can be armed; a RefusedError lists everything that is missing. */
async function armable(
  tx: Tx,
  ruleSet: RuleSet,
  ruleId: string,
): Promise<Omit<Armed, 'expiresAt'>> {
  const rule = rejectRule(ruleSet, ruleId);
  const wanting = await missingForArming(tx, ruleSet, rule);
  const report = await latestReport(tx, rule);
  if (wanting.length > 0 || report === undefined) {
    const list = wanting.map((one) => `\n  ${one}`).join('');
    const isBlind = blindness(report) !== undefined;
    const hint = isBlind ? BLIND_HINT : undefined;
    const code = isBlind ? NOT_KNOWN : 'rules.not_ready';
    throw new RefusedError(code, `${ruleId} cannot be armed yet:${list}`, { hint });
  }
  const lack = await lackOfCustomers(tx, rule, ruleSet.settings);
  const warnings = lack === undefined ? [] : [lack];
  return { ruleId, ruleHash: rule.hash, reportId: report.reportId, warnings };
}

async function arm(
  deps: RejectOperationsDeps,
  tx: Tx,
  [ruleId, lastsMs, who]: Parameters<RejectOperations['arm']>,
): Promise<Armed> {
  const { warnings, ...ready } = await armable(tx, deps.ruleSet(), ruleId);
  const at = deps.clock.now();
  const expiresAt = at + lastsMs;
  await endArming(tx, ruleId, { actor: who.actor, reason: 'armed again' }, at);
  await tx
    .insertInto('arming')
    .values({
      actor: who.actor,
      reason: who.reason,
      rule_id: ruleId,
      rule_hash: ready.ruleHash,
      report_id: ready.reportId,
      at,
      expires_at: expiresAt,
      ended_at: null,
      ended_by: null,
      end_reason: null,
    })
    .execute();
  const armed = { ...ready, expiresAt };
  const act = { action: 'rules.arm', subject: `rule:${ruleId}`, detail: armed };
  await writeAudit(tx, { ...who, ...act }, at);
  return { ...armed, warnings };
}

/** Ends the arming of a rule and gives whether it was armed. */
async function endArming(tx: Tx, ruleId: string, who: Actor, at: number): Promise<boolean> {
  const ended = await tx
    .updateTable('arming')
    .set({ ended_at: at, ended_by: who.actor, end_reason: who.reason })
    .where('rule_id', '=', ruleId)
    .where('ended_at', 'is', null)
    .returning('arming_id')
    .execute();
  return ended.length > 0;
}

function refuseDisarming(ruleSet: RuleSet, ruleId: string): never {
  rejectRule(ruleSet, ruleId);
  throw new RefusedError('rules.not_armed', `${ruleId} is not armed`);
}

/** Disarms a rule by a person's request, also one that is in no file any more. */
async function disarm(tx: Tx, ruleSet: RuleSet, ruleId: string, who: Actor, at: number) {
  if (!(await endArming(tx, ruleId, who, at))) refuseDisarming(ruleSet, ruleId);
  const detail = `disarmed by ${who.actor}: ${who.reason}`;
  const end = { state: 'withdrawn', by: who.actor, safeguard: 'arming', detail, at } as const;
  const withdrawn = await endEntries(tx, ruleId, end);
  const disarmed: Disarmed = {
    withdrawn,
    canceled: await cancelDisallowedRejects(tx, ruleSet, at),
  };
  const act = { action: 'rules.disarm', subject: `rule:${ruleId}`, detail: disarmed };
  await writeAudit(tx, { ...who, ...act }, at);
  return disarmed;
}

/**
 * Disarms a rule without a person; the reason is written to the audit and to the withdrawn rejects.
 */
async function disarmAutomatically(
  tx: Tx,
  ruleSet: RuleSet,
  ruleIds: readonly string[],
  { reason, at }: { readonly reason: string; readonly at: number },
): Promise<void> {
  const who = { actor: 'daemon', reason };
  for (const ruleId of ruleIds) {
    await endArming(tx, ruleId, who, at);
    const end = {
      state: 'withdrawn',
      by: who.actor,
      safeguard: 'arming',
      detail: reason,
      at,
    } as const;
    const detail = { withdrawn: await endEntries(tx, ruleId, end) };
    const act = { action: 'rules.disarm', subject: `rule:${ruleId}`, detail };
    await writeAudit(tx, { ...who, ...act }, at);
  }
  if (ruleIds.length === 0) return;
  await cancelDisallowedRejects(tx, ruleSet, at);
}

/**
 * Disarms the rules that have another text in this rule set, or are missing from it; gives their
 * ids. A text that comes back, however soon, must be armed again by a person.
 */
export async function disarmChanged(
  tx: Tx,
  ruleSet: RuleSet,
  because: { readonly reason: string; readonly at: number },
): Promise<readonly string[]> {
  const open = await openArmings(tx, ruleSet);
  const changed = open.filter(({ isSame }) => !isSame).map(({ ruleId }) => ruleId);
  await disarmAutomatically(tx, ruleSet, changed, because);
  return changed;
}

/**
 * Disarms the rules whose arming has expired, and gives their ids. Disarming cannot be undone, so
 * it uses trusted time: the clock may be ahead for a while.
 */
export async function disarmExpired(
  { store, clock }: Pick<RejectOperationsDeps, 'store' | 'clock'>,
  ruleSet: RuleSet,
): Promise<readonly string[]> {
  const until = await trustedNow({ store, clock });
  // Usually no arming has expired, and a transaction would make other writers wait.
  const expired = async (db: Db | Tx) =>
    (await openArmings(db, ruleSet)).flatMap((one) => (one.expiresAt <= until ? [one.ruleId] : []));
  if ((await expired(store.db)).length === 0) return [];
  return store.transaction(async (tx) => {
    const runOut = await expired(tx);
    const because = { reason: 'the time it was armed for is over', at: clock.now() };
    await disarmAutomatically(tx, ruleSet, runOut, because);
    return runOut;
  });
}

export function createRejectOperations(deps: RejectOperationsDeps): RejectOperations {
  const { store, clock } = deps;
  const changing = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const result = await store.transaction(work);
    deps.onChanged();
    return result;
  };
  return {
    armable: (ruleId) => store.snapshot((tx) => armable(tx, deps.ruleSet(), ruleId)),
    async disarmable(ruleId) {
      const open = await store.snapshot((tx) => openArmings(tx, deps.ruleSet()));
      if (!open.some((one) => one.ruleId === ruleId)) refuseDisarming(deps.ruleSet(), ruleId);
      const waiting = await waitingEntries(store.db);
      return waiting.filter((one) => one.ruleId === ruleId).length;
    },
    async requireMatches(ruleId, decisions) {
      await matchesAmong(store.db, rejectRule(deps.ruleSet(), ruleId).hash, decisions);
    },
    tripped: () => trippedBreaker(store.db),
    arm: (...request) => changing((tx) => arm(deps, tx, request)),
    disarm: (ruleId, who) => changing((tx) => disarm(tx, deps.ruleSet(), ruleId, who, clock.now())),
    seen: (ruleId, decisions, who) =>
      store.transaction(async (tx) => {
        const { hash } = rejectRule(deps.ruleSet(), ruleId);
        const at = clock.now();
        const seen = await markSeen(tx, hash, decisions, { actor: who.actor, at });
        const act = {
          action: 'rules.seen',
          subject: `rule:${ruleId}`,
          detail: { decisions, seen },
        };
        await writeAudit(tx, { ...who, ...act }, at);
        return seen;
      }),
    keepReport: (report, who) =>
      store.transaction((tx) => storeReport(tx, report, who, clock.now())),
    resetBreaker: (who) => changing((tx) => resetBreaker(tx, who, clock.now())),
  };
}
