/**
 * Arming and disarming of reject rules, and the breaker's reset: what a person may do, each in one
 * transaction with its audit row. Arming asks for everything that shows the rule to be understood:
 * tests that prove every clause, a stored backtest of exactly this text, matches that somebody has
 * looked at. What is missing is told all at once, with a RefusedError that changes nothing. Another
 * text, and the end of its time, disarm by themselves, with an audit row as well.
 */
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { nearestName } from '../../lib/nearest.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import { runRuleTests } from '../../rules/testing.ts';
import { type Actor, writeAudit } from '../../store/audit.ts';
import { trustedNow } from '../../store/clock-guard.ts';
import type { Store, Tx } from '../../store/store.ts';
import { openArmings, runOutRuleIds } from './arming.ts';
import { type Breaker, resetBreaker } from './breaker.ts';
import { lackOfCustomers } from './freshness.ts';
import { markSeen, seenCount } from './matches.ts';
import { endEntries } from './queue.ts';
import { latestReport, type ReportInput, storeReport } from './reports.ts';
import { recallPushed } from './settle.ts';

interface Armed {
  readonly ruleId: string;
  readonly ruleHash: string;
  readonly reportId: number;
  readonly expiresAt: number;
  /** Why it may never act although it is armed. */
  readonly warnings: readonly string[];
}

export interface RejectOperationsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ruleSet: () => RuleSet;
  /** Deliveries have to be decided anew. */
  readonly onChanged: () => void;
}

interface Disarmed {
  /** Rejects that waited for it. */
  readonly withdrawn: number;
  /** Pushes that were not sent yet. */
  readonly canceled: number;
}

export interface RejectOperations {
  /** @param lastsMs how long it stays armed. */
  arm(ruleId: string, lastsMs: number, who: Actor): Promise<Armed>;
  disarm(ruleId: string, who: Actor): Promise<Disarmed>;
  /** Gives how many deliveries somebody has looked at by now. */
  seen(ruleId: string, decisions: readonly number[], actor: string): Promise<number>;
  /** Keeps a backtest; gives its id. */
  keepReport(report: ReportInput, actor: string): Promise<number>;
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

async function missing(tx: Tx, ruleSet: RuleSet, rule: Rule): Promise<readonly string[]> {
  const { matches_seen: needed } = ruleSet.settings.rails.reject;
  const seen = await seenCount(tx, rule.hash);
  const report = await latestReport(tx, rule);
  const isLive = rule.mode === 'live' && ruleSet.settings.mode === 'live';
  return [
    ...(isLive ? [] : ['its mode, or that of the set, is not live: armed it would only watch']),
    ...untested(ruleSet, rule),
    ...(report ? [] : [`no backtest is kept in which this text had a say (${BACKTEST})`]),
    ...(seen >= needed
      ? []
      : [`${seen} of ${needed} matches looked at (selvedge rules matches ${rule.id} --seen)`]),
  ];
}

async function arm(
  deps: RejectOperationsDeps,
  tx: Tx,
  [ruleId, lastsMs, who]: Parameters<RejectOperations['arm']>,
): Promise<Armed> {
  const ruleSet = deps.ruleSet();
  const rule = rejectRule(ruleSet, ruleId);
  const wanting = await missing(tx, ruleSet, rule);
  const report = await latestReport(tx, rule);
  if (wanting.length > 0 || report === undefined) {
    const list = wanting.map((one) => `\n  ${one}`).join('');
    throw new RefusedError('rules.not_ready', `${ruleId} cannot be armed yet:${list}`);
  }
  const at = deps.clock.now();
  const expiresAt = at + lastsMs;
  await endArming(tx, ruleId, { actor: who.actor, reason: 'armed anew' }, at);
  await tx
    .insertInto('arming')
    .values({
      ...{ rule_id: ruleId, rule_hash: rule.hash, at, ...who },
      ...{ report_id: report, expires_at: expiresAt },
      ...{ ended_at: null, ended_by: null, end_reason: null },
    })
    .execute();
  const armed = { ruleId, ruleHash: rule.hash, reportId: report, expiresAt };
  const act = { action: 'rules.arm', subject: `rule:${ruleId}`, detail: armed };
  await writeAudit(tx, { ...who, ...act }, at);
  const lack = await lackOfCustomers(tx, rule, ruleSet.settings);
  return { ...armed, warnings: lack === undefined ? [] : [lack] };
}

/** Gives whether it was armed. */
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

/** Also a rule that is in no file any more. */
async function disarm(tx: Tx, ruleSet: RuleSet, ruleId: string, who: Actor, at: number) {
  if (!(await endArming(tx, ruleId, who, at))) {
    rejectRule(ruleSet, ruleId);
    throw new RefusedError('rules.not_armed', `${ruleId} is not armed`);
  }
  const detail = `disarmed by ${who.actor}: ${who.reason}`;
  const end = { state: 'withdrawn', by: who.actor, rail: 'arming', detail, at } as const;
  const withdrawn = await endEntries(tx, ruleId, end);
  const disarmed: Disarmed = { withdrawn, canceled: await recallPushed(tx, ruleSet, at) };
  const act = { action: 'rules.disarm', subject: `rule:${ruleId}`, detail: disarmed };
  await writeAudit(tx, { ...who, ...act }, at);
  return disarmed;
}

/** Disarms what no person disarms; the reason stands in the audit too, and with what waited. */
async function disarmUnasked(
  tx: Tx,
  ruleSet: RuleSet,
  ruleIds: readonly string[],
  { reason, at }: { readonly reason: string; readonly at: number },
): Promise<void> {
  const who = { actor: 'daemon', reason };
  for (const ruleId of ruleIds) {
    await endArming(tx, ruleId, who, at);
    const end = { state: 'withdrawn', by: who.actor, rail: 'arming', detail: reason, at } as const;
    const detail = { withdrawn: await endEntries(tx, ruleId, end) };
    const act = { action: 'rules.disarm', subject: `rule:${ruleId}`, detail };
    await writeAudit(tx, { ...who, ...act }, at);
  }
  if (ruleIds.length === 0) return;
  await recallPushed(tx, ruleSet, at);
}

/**
 * Disarms the rules that have another text in this set, or are not in it; gives them. A text that
 * comes back, however soon, is armed by a person or not at all.
 */
export async function disarmChanged(
  tx: Tx,
  ruleSet: RuleSet,
  because: { readonly reason: string; readonly at: number },
): Promise<readonly string[]> {
  const open = await openArmings(tx, ruleSet);
  const changed = open.filter(({ isSame }) => !isSame).map(({ ruleId }) => ruleId);
  await disarmUnasked(tx, ruleSet, changed, because);
  return changed;
}

/**
 * Disarms the rules that were armed until now or earlier; gives them. By the clock alone no rule
 * acts any longer than that; but this is for good, and the clock may be ahead for a while.
 */
export async function disarmRunOut(
  { store, clock }: Pick<RejectOperationsDeps, 'store' | 'clock'>,
  ruleSet: RuleSet,
): Promise<readonly string[]> {
  const until = await trustedNow({ store, clock });
  // Mostly there is none, and a transaction would keep other writers waiting.
  if ((await runOutRuleIds(store.db, until)).length === 0) return [];
  return store.transaction(async (tx) => {
    const runOut = await runOutRuleIds(tx, until);
    const because = { reason: 'the time it was armed for is over', at: clock.now() };
    await disarmUnasked(tx, ruleSet, runOut, because);
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
    arm: (...request) => changing((tx) => arm(deps, tx, request)),
    disarm: (ruleId, who) => changing((tx) => disarm(tx, deps.ruleSet(), ruleId, who, clock.now())),
    seen: (ruleId, decisions, actor) =>
      store.transaction((tx) => {
        const { hash } = rejectRule(deps.ruleSet(), ruleId);
        return markSeen(tx, hash, decisions, { actor, at: clock.now() });
      }),
    keepReport: (report, actor) =>
      store.transaction((tx) => storeReport(tx, report, { actor, at: clock.now() })),
    resetBreaker: (who) =>
      changing(async (tx) => {
        const breaker = await resetBreaker(tx, who, clock.now());
        return breaker;
      }),
  };
}
