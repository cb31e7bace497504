/**
 * Replays past decisions under another rule set. It evaluates the facts that were stored with every
 * decision, and compares the outcomes with those of the rules of that time, or of a second set.
 * Only the clock facts are computed again, because the calendar is part of the rules on trial.
 * Reads the journal, decides nothing.
 *
 * A delivery's final outcome is the first accept or reject among its decisions; without one, its
 * last decision counts. Reject rules count as armed, because the report shows what they would do.
 * Deliveries that people decided are left to people in the replay as well.
 */

import { localClockOf } from '../../lib/local-time.ts';
import { sumOfUnits } from '../../lib/money.ts';
import { counterfactualsOf, type Judged } from '../../rules/analysis/counterfactuals.ts';
import type { Outcome } from '../../rules/combine.ts';
import { type EvaluateOptions, type Evaluation, evaluate } from '../../rules/evaluate.ts';
import { completeFacts } from '../../rules/facts/derive.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db } from '../../store/store.ts';
import type { DecisionOutcome } from '../../store/tables.ts';
import { clockFacts } from '../calendar.ts';
import { type ActualOutcome, actualOutcomesOf } from './actual-outcomes.ts';
import { type DeliveryHistory, histories, type PastDecision, type Period } from './history.ts';
import { createLimitMoves, type LimitMove } from './limit-moves.ts';
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
  /** Number of decisions that were replayed. */
  readonly decisions: number;
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

interface FinalOutcome {
  readonly kind: DecisionOutcome;
  readonly decision: PastDecision;
}

interface Side {
  readonly ruleSet: RuleSet;
  readonly options: EvaluateOptions;
  readonly shadowAsLive: boolean;
  /** Stored facts of a decision, with clock facts by the calendar of this side's rule set. */
  factsOf(decision: PastDecision): Facts;
}

function sideOf(ruleSet: RuleSet, { shadowAsLive = false }: BacktestOptions): Side {
  const { settings } = ruleSet;
  const armed = new Set(ruleSet.rules.map(({ id }) => id));
  const localTime = localClockOf(settings.timezone);
  return {
    ruleSet,
    options: { armed, operands: false },
    shadowAsLive,
    factsOf: ({ facts }) => ({ ...facts, clock: clockFacts(facts.clock.now, settings, localTime) }),
  };
}

function outcomeOf(side: Side, evaluation: Evaluation): Outcome {
  return side.shadowAsLive ? evaluation.shadow : evaluation.live;
}

function judgeWith(side: Side, seen?: (evaluation: Evaluation) => void) {
  return (decision: PastDecision): DecisionOutcome => {
    const facts = side.factsOf(decision);
    const { lapsed } = decision;
    const evaluation = evaluate(side.ruleSet, facts, { ...side.options, lapsed });
    seen?.(evaluation);
    return decision.leftToPeople ? 'hold' : outcomeOf(side, evaluation).kind;
  };
}

/** Final outcome of a delivery when each of its decisions is judged in turn. */
function endOf(
  { decisions }: DeliveryHistory,
  judge: (decision: PastDecision) => DecisionOutcome,
): FinalOutcome | undefined {
  let final: FinalOutcome | undefined;
  for (const decision of decisions) {
    final = { kind: judge(decision), decision };
    if (final.kind === 'accept' || final.kind === 'reject') return final;
  }
  return final;
}

interface Tally extends Stake {
  deliveries: number;
  readonly amounts: Record<string, number | null>;
  readonly examples: string[];
}

function emptyTally(): Tally {
  return { deliveries: 0, amounts: {}, examples: [] };
}

function addTo(tally: Tally, { decision }: FinalOutcome): void {
  const { amount, currency, number } = completeFacts(decision.facts).delivery;
  tally.deliveries += 1;
  if (tally.examples.length < EXAMPLES_MAX) tally.examples.push(number);
  const unit = currency ?? '?';
  if (typeof amount !== 'number') return;
  const { [unit]: sum = 0 } = tally.amounts;
  tally.amounts[unit] = sumOfUnits([sum, amount]);
}

function tallyOf(finals: readonly FinalOutcome[]): Stake {
  const tally = emptyTally();
  for (const final of finals) addTo(tally, final);
  return tally;
}

/** Makes a table that counts deliveries by two words, such as `hold` and `accept`; most first. */
function createTable<A extends string, B extends string>() {
  const rows = new Map<string, { readonly a: A; readonly b: B; readonly tally: Tally }>();
  return {
    add(a: A, b: B, final: FinalOutcome): void {
      const key = `${a} ${b}`;
      const row = rows.get(key) ?? { a, b, tally: emptyTally() };
      rows.set(key, row);
      addTo(row.tally, final);
    },
    rows: () => [...rows.values()].sort((x, y) => y.tally.deliveries - x.tally.deliveries),
  };
}

function changesIn({ rows }: ReturnType<typeof createTable<DecisionOutcome, DecisionOutcome>>) {
  return rows().map(({ a, b, tally }): Change => ({ from: a, to: b, ...tally }));
}

function changedOf(
  { orderDeliveryId }: DeliveryHistory,
  before: FinalOutcome,
  after: FinalOutcome,
): ChangedDelivery {
  const { decisionId, facts } = after.decision;
  const { amount = null, currency = null, number } = completeFacts(facts).delivery;
  const { kind: from } = before;
  return {
    ...{ orderDeliveryId, deliveryNo: number, decisionId, from, to: after.kind },
    ...{ amount, currency },
  };
}

function rejectInFull(
  side: Side,
  history: DeliveryHistory,
  final: FinalOutcome,
  isNew: boolean,
): WouldBeReject {
  const { decisionId, lapsed } = final.decision;
  const facts = side.factsOf(final.decision);
  const evaluation = evaluate(side.ruleSet, facts, { ...side.options, lapsed, operands: true });
  const { orderDeliveryId } = history;
  return { orderDeliveryId, decisionId, isNew, outcome: outcomeOf(side, evaluation), evaluation };
}

export async function backtest(
  db: Db,
  period: Period,
  options: BacktestOptions,
): Promise<Backtest> {
  const side = sideOf(options.rules, options);
  const use = createRuleUse(options.rules.rules);
  const other = options.against && sideOf(options.against, options);
  const moves = createLimitMoves(tallyOf);
  const which = side.shadowAsLive ? 'shadow' : 'live';
  let last: Evaluation | undefined;
  const judgeAfter = judgeWith(side, (evaluation) => {
    last = evaluation;
    use.see(evaluation);
    for (const { id, hash, mode } of evaluation.rules) {
      if (mode === 'live' || side.shadowAsLive) judged.set(id, hash);
    }
  });
  const judgeBefore = other
    ? judgeWith(other)
    : (decision: PastDecision) => (decision.leftToPeople ? 'hold' : decision.said);
  const changes = createTable<DecisionOutcome, DecisionOutcome>();
  const unchanged = createTable<DecisionOutcome, DecisionOutcome>();
  const changed: ChangedDelivery[] = [];
  const { changedMax = 0, onProgress } = options;
  const agreement = createTable<DecisionOutcome, ActualOutcome>();
  const actual = await actualOutcomesOf(db, period);
  const rejects: WouldBeReject[] = [];
  const judged = new Map<string, string>();
  const counts = { deliveries: 0, decisions: 0, newRejects: 0 };
  const stake = emptyTally();
  for await (const history of histories(db, period)) {
    const before = endOf(history, judgeBefore);
    const after = endOf(history, judgeAfter);
    use.endHistory();
    if (!before || !after) continue;
    counts.deliveries += 1;
    counts.decisions += history.decisions.length;
    onProgress?.(counts.deliveries);
    const isChanged = before.kind !== after.kind;
    (isChanged ? changes : unchanged).add(before.kind, after.kind, after);
    if (isChanged && changed.length < changedMax) changed.push(changedOf(history, before, after));
    agreement.add(after.kind, actual.get(history.orderDeliveryId) ?? 'gone', after);
    if (!after.decision.leftToPeople) {
      const { decision } = after;
      const options = { ...side.options, lapsed: decision.lapsed };
      const facts = side.factsOf(decision);
      const judged: Judged = { ruleSet: side.ruleSet, facts, options, which };
      for (const told of counterfactualsOf(judged, last)) moves.add(told, after);
    }
    if (after.kind !== 'reject') continue;
    const isNew = before.kind !== 'reject';
    addTo(stake, after);
    if (isNew) counts.newRejects += 1;
    if (rejects.length < REJECTS_IN_FULL_MAX) {
      rejects.push(rejectInFull(side, history, after, isNew));
    }
  }
  return {
    ...period,
    rules: options.rules.hash,
    against: options.against?.hash ?? null,
    judged: Object.fromEntries(judged),
    ...counts,
    changes: changesIn(changes),
    changed,
    unchanged: changesIn(unchanged),
    agreement: agreement
      .rows()
      .map(({ a, b, tally }) => ({ outcome: a, actual: b, deliveries: tally.deliveries })),
    ...use.result(),
    moves: moves.result(),
    rejects,
    rejectCount: stake.deliveries,
    rejectAmounts: stake.amounts,
  };
}
