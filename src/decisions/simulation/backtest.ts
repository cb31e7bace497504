/**
 * Replays past decisions under another rule set. It evaluates the facts that were stored with every
 * decision, and compares the outcomes with those of the rules of that time, or of a second set.
 * Facts that were not stored then are found as they were (past/facts.ts); a delivery whose outcome
 * depends on one that nobody knows any more is counted as not known, and as nothing else.
 * Reads the journal, decides nothing.
 *
 * A delivery's final outcome is the first accept or reject among its decisions; without one, its
 * last decision counts. Reject rules count as armed, because the report shows what they would do.
 * A reject counts whatever safeguard may have stopped it; an accept that a safeguard held is held.
 */

import { sumOfUnits } from '../../lib/money.ts';
import { createCounterfactuals, type Judged } from '../../rules/analysis/counterfactuals.ts';
import {
  type EvaluateOptions,
  type Evaluation,
  evaluate,
  factsInContext,
  type Outcome,
  possibleKinds,
} from '../../rules/evaluate.ts';
import { amountOf, currencyOf, type View } from '../../rules/facts/build.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db } from '../../store/store.ts';
import type { DecisionOutcome } from '../../store/tables.ts';
import { type ActualOutcome, actualOutcomesOf } from './actual-outcomes.ts';
import { type DeliveryHistory, histories, type PastDecision, type Period } from './history.ts';
import { createLimitMoves, type LimitMove } from './limit-moves.ts';
import { createNotKnown, type NotKnown } from './not-known.ts';
import { createPastFacts, type PastFacts, type SeenFacts } from './past/facts.ts';
import { createRuleUse, type RuleUse } from './rule-use.ts';

export interface BacktestOptions {
  /** The rules on trial. */
  readonly rules: RuleSet;
  /** Rules to compare with; when left out, the outcomes in the journal are compared. */
  readonly against?: RuleSet | undefined;
  /** Shadow rules count as if they were live. */
  readonly shadowAsLive?: boolean | undefined;
  /** Maximum of changed deliveries that are listed; none when left out. */
  readonly changedMax?: number | undefined;
  /** Called with the number of deliveries that were replayed so far. */
  readonly onProgress?: ((deliveries: number) => void) | undefined;
}

/**
 * Sums of money by currency, in units (lib/money.ts). `?` stands for an unknown currency; null: the
 * sum is too large for an integer.
 */
export type Amounts = Readonly<Record<string, number | null>>;

/** Number of deliveries and the sums of their values. */
interface Stake {
  readonly deliveries: number;
  readonly amounts: Amounts;
  /** Numbers of a few of these deliveries. */
  readonly examples: readonly string[];
}

interface Change extends Stake {
  readonly from: DecisionOutcome;
  readonly to: DecisionOutcome;
}

/** A delivery that ends otherwise under the rules on trial. */
interface ChangedDelivery {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string;
  /** Id of the decision whose facts lead to the new outcome. */
  readonly decisionId: number;
  readonly from: DecisionOutcome;
  readonly to: DecisionOutcome;
  /** Value of the delivery in units (lib/money.ts); null: not known. */
  readonly amount: number | null;
  readonly currency: string | null;
}

interface Agreement {
  /** Outcome under the rules on trial. */
  readonly outcome: DecisionOutcome;
  /** Actual final status of the delivery, and who brought it about. */
  readonly actual: ActualOutcome;
  readonly deliveries: number;
}

export interface WouldBeReject {
  readonly orderDeliveryId: number;
  readonly decisionId: number;
  /** Whether the rules or the journal compared with do not reject the delivery. */
  readonly isNew: boolean;
  readonly outcome: Outcome;
  readonly evaluation: Evaluation;
}

export interface Backtest extends Period {
  /** Hash of the rule set on trial. */
  readonly rules: string;
  /** Hash of the rule set compared with; null: the journal was. */
  readonly against: string | null;
  /** Hashes of the rules on trial that could decide, by rule id. */
  readonly judged: Readonly<Record<string, string>>;
  readonly deliveries: number;
  /** Number of decisions of these deliveries. */
  readonly decisions: number;
  /** Number of replayed decisions with facts that were not gathered, and found as they were. */
  readonly found: number;
  /** Those of the deliveries whose outcome nobody knows; they are in none of the counts below. */
  readonly notKnown: NotKnown;
  readonly changes: readonly Change[];
  /** The first changed deliveries, as many as `changedMax` allows. */
  readonly changed: readonly ChangedDelivery[];
  /** Deliveries whose outcome stays the same; `from` and `to` are equal. */
  readonly unchanged: readonly Change[];
  readonly agreement: readonly Agreement[];
  readonly uses: readonly RuleUse[];
  /** Other limits in conditions of the rules, and the deliveries that they would let pass. */
  readonly moves: readonly LimitMove<Stake>[];
  /** Ids of rules that always match together, so one of them may be superfluous. */
  readonly together: readonly (readonly string[])[];
  /** The first rejects in full; `rejectCount` counts all of them. */
  readonly rejects: readonly WouldBeReject[];
  readonly rejectCount: number;
  readonly newRejects: number;
  /** Sums of the values of all rejected deliveries. */
  readonly rejectAmounts: Amounts;
}

const EXAMPLES_MAX = 3;
/** Maximum of rejects that the report has in full; nobody reads more, and all are counted. */
const REJECTS_IN_FULL_MAX = 200;

/** A past decision with its facts as one side sees them. */
type Seen = PastDecision & SeenFacts & { readonly view: View };

interface FinalOutcome {
  readonly kind: DecisionOutcome;
  readonly decision: Seen;
}

interface Side {
  readonly ruleSet: RuleSet;
  readonly options: EvaluateOptions;
  readonly which: 'live' | 'shadow';
  readonly past: PastFacts;
}

async function sideOf(db: Db, period: Period, ruleSet: RuleSet, shadowAsLive: boolean) {
  const armed = new Set(ruleSet.rules.map(({ id }) => id));
  const side: Side = {
    ruleSet,
    options: { armed, operands: false, messages: false },
    which: shadowAsLive ? 'shadow' : 'live',
    past: await createPastFacts(db, period, ruleSet),
  };
  return side;
}

function optionsFor({ options }: Side, { lapsed, open, view }: Seen): EvaluateOptions {
  return { ...options, lapsed, notGathered: open, seen: view };
}

/** Outcomes that a decision may have; more than one if that depends on what nobody knows. */
type Kinds = ReadonlySet<DecisionOutcome>;

interface Judgement<D extends PastDecision> {
  readonly kinds: Kinds;
  readonly decision: D;
}

/** Judges a decision; undefined: its facts are not there. */
type Judge<D extends PastDecision> = (
  decision: PastDecision,
) => Promise<Judgement<D> | undefined> | Judgement<D>;

/** Outcomes after the safeguards, of which is only known what they did to the outcome then. */
function afterSafeguards(kinds: Kinds, { said, outcome }: PastDecision): Kinds {
  if (said === outcome || !kinds.has('accept')) return kinds;
  const held: Kinds = new Set([...kinds].map((kind) => (kind === 'accept' ? outcome : kind)));
  return said === 'accept' ? held : kinds.union(held);
}

function judgeWith(
  side: Side,
  seen?: (evaluation: Evaluation, decision: Seen) => void,
): Judge<Seen> {
  const { ruleSet, which, past } = side;
  return async (one) => {
    const { facts } = one;
    if (facts === undefined) return undefined;
    const seenFacts = await past.of({ ...one, facts });
    const view = factsInContext(ruleSet, seenFacts.facts);
    const decision = { ...one, ...seenFacts, view };
    const evaluation = evaluate(ruleSet, decision.facts, optionsFor(side, decision));
    seen?.(evaluation, decision);
    const kinds = possibleKinds(ruleSet, decision.facts, evaluation, which);
    return { kinds: afterSafeguards(kinds, decision), decision };
  };
}

/** Outcome in the journal; a reject that a safeguard stopped is one. */
function judgeByJournal(decision: PastDecision): Judgement<PastDecision> {
  const { said, outcome } = decision;
  return { kinds: new Set([said === 'reject' ? said : outcome]), decision };
}

/** End of a delivery; without a kind nobody knows it, because of this decision. */
type End<D extends PastDecision> =
  | { readonly kind: DecisionOutcome; readonly decision: D }
  | { readonly kind: undefined; readonly decision: PastDecision };

/** End of a delivery when each of its decisions is judged in turn. */
async function endOf<D extends PastDecision>(
  { decisions }: DeliveryHistory,
  judge: Judge<D>,
): Promise<End<D> | undefined> {
  let end: End<D> | undefined;
  for (const decision of decisions) {
    const judged = await judge(decision);
    if (!judged) return { kind: undefined, decision };
    const { kinds } = judged;
    const [kind] = kinds.size === 1 ? kinds : [];
    end = { kind, decision: judged.decision };
    if (kinds.has('accept') || kinds.has('reject')) return end;
  }
  return end;
}

interface Tally extends Stake {
  deliveries: number;
  readonly amounts: Record<string, number | null>;
  readonly examples: string[];
}

function emptyTally(): Tally {
  return { deliveries: 0, amounts: {}, examples: [] };
}

/** Number, value in units and currency of a delivery: all that a count keeps of its facts. */
interface Worth {
  readonly number: string;
  readonly amount: number | null;
  readonly currency: string | null;
}

function worthOf({ decision: { facts } }: FinalOutcome): Worth {
  const { number } = facts.delivery;
  return { number, amount: amountOf(facts), currency: currencyOf(facts) };
}

function addTo(tally: Tally, { number, amount, currency }: Worth): void {
  tally.deliveries += 1;
  if (tally.examples.length < EXAMPLES_MAX) tally.examples.push(number);
  const unit = currency ?? '?';
  if (amount === null) return;
  const { [unit]: sum = 0 } = tally.amounts;
  tally.amounts[unit] = sumOfUnits([sum, amount]);
}

function tallyOf(all: readonly Worth[]): Stake {
  const tally = emptyTally();
  for (const one of all) addTo(tally, one);
  return tally;
}

/** Makes a table that counts deliveries by two words, such as `hold` and `accept`; most first. */
function createTable<A extends string, B extends string>() {
  const rows = new Map<string, { readonly a: A; readonly b: B; readonly tally: Tally }>();
  return {
    add(a: A, b: B, worth: Worth): void {
      const key = `${a} ${b}`;
      const row = rows.get(key) ?? { a, b, tally: emptyTally() };
      rows.set(key, row);
      addTo(row.tally, worth);
    },
    rows: () => [...rows.values()].sort((x, y) => y.tally.deliveries - x.tally.deliveries),
  };
}

function changesIn({ rows }: ReturnType<typeof createTable<DecisionOutcome, DecisionOutcome>>) {
  return rows().map(({ a, b, tally }): Change => ({ from: a, to: b, ...tally }));
}

function changedOf(
  { orderDeliveryId }: DeliveryHistory,
  from: DecisionOutcome,
  after: FinalOutcome,
): ChangedDelivery {
  const { number: deliveryNo, amount, currency } = worthOf(after);
  const { decisionId } = after.decision;
  return { orderDeliveryId, deliveryNo, decisionId, from, to: after.kind, amount, currency };
}

function rejectInFull(
  side: Side,
  { orderDeliveryId }: DeliveryHistory,
  { decision }: FinalOutcome,
  isNew: boolean,
): WouldBeReject {
  const { decisionId, facts } = decision;
  const evaluation = evaluate(side.ruleSet, facts, {
    ...optionsFor(side, decision),
    operands: true,
    messages: true,
  });
  return { orderDeliveryId, decisionId, isNew, outcome: evaluation[side.which], evaluation };
}

/** Collects what becomes of each delivery, for the report. */
function createCollector(side: Side, actual: ReadonlyMap<number, ActualOutcome>, changedMax = 0) {
  const changes = createTable<DecisionOutcome, DecisionOutcome>();
  const unchanged = createTable<DecisionOutcome, DecisionOutcome>();
  const agreement = createTable<DecisionOutcome, ActualOutcome>();
  const moves = createLimitMoves(tallyOf);
  const counterfactualsOf = createCounterfactuals();
  const changed: ChangedDelivery[] = [];
  const rejects: WouldBeReject[] = [];
  const stake = emptyTally();
  let newRejects = 0;
  return {
    add(
      history: DeliveryHistory,
      before: DecisionOutcome,
      after: FinalOutcome,
      last: Evaluation | undefined,
    ): void {
      const isChanged = before !== after.kind;
      const worth = worthOf(after);
      (isChanged ? changes : unchanged).add(before, after.kind, worth);
      if (isChanged && changed.length < changedMax) changed.push(changedOf(history, before, after));
      agreement.add(after.kind, actual.get(history.orderDeliveryId) ?? 'gone', worth);
      const { decision } = after;
      const { ruleSet, which } = side;
      if (decision.said === decision.outcome) {
        const options = optionsFor(side, decision);
        const judged: Judged = { ruleSet, facts: decision.facts, options, which };
        for (const told of counterfactualsOf(judged, last)) moves.add(told, worth);
      }
      if (after.kind !== 'reject') return;
      const isNew = before !== 'reject';
      addTo(stake, worth);
      if (isNew) newRejects += 1;
      if (rejects.length < REJECTS_IN_FULL_MAX) {
        rejects.push(rejectInFull(side, history, after, isNew));
      }
    },
    result() {
      return {
        changes: changesIn(changes),
        changed,
        unchanged: changesIn(unchanged),
        agreement: agreement
          .rows()
          .map(({ a, b, tally }) => ({ outcome: a, actual: b, deliveries: tally.deliveries })),
        moves: moves.result(),
        rejects,
        rejectCount: stake.deliveries,
        newRejects,
        rejectAmounts: stake.amounts,
      };
    },
  };
}

export async function backtest(
  db: Db,
  period: Period,
  { rules, against, shadowAsLive = false, changedMax, onProgress }: BacktestOptions,
): Promise<Backtest> {
  const side = await sideOf(db, period, rules, shadowAsLive);
  const other = against && (await sideOf(db, period, against, shadowAsLive));
  const use = createRuleUse(rules.rules);
  const judged = new Map<string, string>();
  let last: Evaluation | undefined;
  let found = 0;
  const judgeAfter = judgeWith(side, (evaluation, { isFound }) => {
    last = evaluation;
    if (isFound) found += 1;
    use.see(evaluation);
    for (const { id, hash, mode } of evaluation.rules) {
      if (mode === 'live' || shadowAsLive) judged.set(id, hash);
    }
  });
  const judgeBefore: Judge<PastDecision> = other ? judgeWith(other) : judgeByJournal;
  const collector = createCollector(side, await actualOutcomesOf(db, period), changedMax);
  const notKnown = createNotKnown();
  const counts = { deliveries: 0, decisions: 0 };
  for await (const history of histories(db, period)) {
    const before = await endOf(history, judgeBefore);
    const after = await endOf(history, judgeAfter);
    use.endHistory();
    if (!before || !after) continue;
    counts.deliveries += 1;
    counts.decisions += history.decisions.length;
    onProgress?.(counts.deliveries);
    if (before.kind === undefined) notKnown.add(history.orderDeliveryId, before.decision);
    else if (after.kind === undefined) notKnown.add(history.orderDeliveryId, after.decision);
    else collector.add(history, before.kind, after, last);
  }
  return {
    ...period,
    rules: rules.hash,
    against: against?.hash ?? null,
    judged: Object.fromEntries(judged),
    ...counts,
    found,
    notKnown: notKnown.result(),
    ...collector.result(),
    ...use.result(),
  };
}
