/**
 * Replays past decisions: the stored facts, under the stored texts of the rules that decided, must
 * give the identical outcome. If they do not, the journal or the engine has changed, and
 * explanations of old decisions can no longer be trusted.
 */

import { SelvedgeError } from '../../lib/errors.ts';
import { canonicalJson } from '../../lib/json.ts';
import {
  type Counterfactual,
  createCounterfactuals,
  type Judged,
} from '../../rules/analysis/counterfactuals.ts';
import { type Evaluation, evaluate, type Outcome, type RuleResult } from '../../rules/evaluate.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db } from '../../store/store.ts';
import {
  type ChainReport,
  type DecisionEntry,
  IS_FORGOTTEN,
  readFacts,
  storedEvaluation,
  verifyChain,
} from '../journal.ts';
import { storedRuleSet } from './rule-sets.ts';

type Told = 'orderDeliveryId' | 'at' | 'actor' | 'mode' | 'ruleSetHash' | 'reason';

export interface Replay extends Pick<DecisionEntry, Told> {
  /** Rule set, facts and options from which the outcome follows. */
  readonly judged: Judged;
  readonly decisionId: number;
  /** Outcome in the journal; people or a safeguard may have decided otherwise than the rules. */
  readonly outcome: string;
  readonly recorded: Evaluation;
  readonly replayed: Evaluation;
  /** Sentences that each name one difference; empty when the replay gave the identical outcome. */
  readonly differences: readonly string[];
}

export interface VerifyReport {
  readonly chain: ChainReport;
  /** Ids of the replayed decisions: the newest one, and others evenly over the whole journal. */
  readonly replayed: readonly number[];
  readonly different: readonly {
    readonly decisionId: number;
    readonly differences: readonly string[];
  }[];
}

type RuleSets = (hash: string) => Promise<RuleSet>;

/** Makes a cache that loads each stored rule set once. */
function ruleSetsOf(db: Db): RuleSets {
  const loaded = new Map<string, Promise<RuleSet>>();
  return (hash) => {
    const known = loaded.get(hash) ?? storedRuleSet(db, hash);
    loaded.set(hash, known);
    return known;
  };
}

function outcomeText({ kind, code, rules, reason }: Outcome): string {
  return `${kind} (${code}) by ${rules.join(', ') || 'no rule'}: ${reason}`;
}

/**
 * The outcome without its reason, for comparison: a rule set's hash does not cover wording, so the
 * reason may be that of an earlier wording.
 */
function decisive({ reason, ...outcome }: Outcome): string {
  return canonicalJson(outcome);
}

function outcomeDifference(which: string, before: Outcome, after: Outcome): readonly string[] {
  if (decisive(before) === decisive(after)) return [];
  return [`${which}: ${outcomeText(before)} -> ${outcomeText(after)}`];
}

/** The result of a rule, without the texts and values that are only shown, for comparison. */
function essence({ clauses, title, owner, message, record, ...rule }: RuleResult): string {
  return canonicalJson({ ...rule, clauses: clauses.map(({ text, value }) => ({ text, value })) });
}

function differencesOf(before: Evaluation, after: Evaluation): readonly string[] {
  const again = new Map(after.rules.map((rule) => [rule.id, rule]));
  const rules = before.rules.flatMap((rule) => {
    const other = again.get(rule.id);
    if (!other) return [`rule ${rule.id} is not asked any more`];
    if (essence(rule) === essence(other)) return [];
    return [`rule ${rule.id}: ${String(rule.value)} -> ${String(other.value)}`];
  });
  return [
    ...outcomeDifference('outcome', before.live, after.live),
    ...outcomeDifference('outcome with shadow rules', before.shadow, after.shadow),
    ...rules,
    ...(again.size > before.rules.length ? ['more rules are asked than before'] : []),
  ];
}

async function replayStored(db: Db, decisionId: number, ruleSets: RuleSets): Promise<Replay> {
  const row = await db
    .selectFrom('decision as n')
    .leftJoin('rule_set as s', 's.hash', 'n.rule_set_hash')
    .selectAll('n')
    .select('s.words')
    .where('n.decision_id', '=', decisionId)
    .executeTakeFirst();
  if (!row) {
    throw new SelvedgeError('decisions.unknown', `there is no decision ${decisionId}`, {
      hint: 'selvedge deliveries explain <delivery> --history shows the decisions of a delivery',
    });
  }
  const facts = await readFacts(db, row.facts_digest);
  if (facts === undefined) {
    const message = `decision ${decisionId} has no replay: its facts are gone`;
    const hint = '"selvedge audit list" says whether its order was forgotten';
    throw new SelvedgeError('decisions.no_replay', message, { hint });
  }
  const recorded = storedEvaluation(row);
  const ruleSet = await ruleSets(row.rule_set_hash);
  const armed = new Set(recorded.rules.flatMap((rule) => (rule.armed ? [rule.id] : [])));
  const watching = new Set(
    recorded.rules.flatMap(({ id, armed: is, mode }) =>
      is === false && mode === 'shadow' ? [id] : [],
    ),
  );
  const lapsed = new Set(recorded.rules.flatMap((rule) => (rule.lapsed ? [rule.hash] : [])));
  const mode = row.mode === 'shadow' ? 'shadow' : 'live';
  // Where neither outcome rests on it, it made no difference, or there was no such hold yet.
  const allowsBelowZero = [recorded.live, recorded.shadow].every(
    ({ code }) => code !== 'below_zero',
  );
  const options = { mode, armed, watching, lapsed, allowsBelowZero } as const;
  const replayed = evaluate(ruleSet, facts, options);
  return {
    judged: { ruleSet, facts, options, which: mode },
    decisionId,
    orderDeliveryId: row.order_delivery_id,
    at: row.at,
    actor: row.actor,
    mode: row.mode,
    ruleSetHash: row.rule_set_hash,
    outcome: row.outcome,
    reason: row.reason,
    recorded,
    replayed,
    differences: differencesOf(recorded, replayed),
  };
}

async function replay(db: Db, decisionId: number, ruleSets: RuleSets): Promise<Replay> {
  try {
    return await replayStored(db, decisionId, ruleSets);
  } catch (thrown) {
    // The stored evaluation, or the texts of its rules, are damaged.
    const isDamaged = thrown instanceof SyntaxError || thrown instanceof TypeError;
    if (!isDamaged) throw thrown;
    const message = `decision ${decisionId} has no replay: what is stored of it cannot be read`;
    throw new SelvedgeError('decisions.no_replay', message, { cause: thrown });
  }
}

export function replayDecision(db: Db, decisionId: number): Promise<Replay> {
  return replay(db, decisionId, ruleSetsOf(db));
}

/**
 * Finds, by decision id, the changes of a rule's limit, list or stock that would have let the
 * delivery pass.
 */
export async function pastCounterfactuals(
  db: Db,
  decisionIds: readonly number[],
): Promise<ReadonlyMap<number, readonly Counterfactual[]>> {
  const ruleSets = ruleSetsOf(db);
  const found = new Map<number, readonly Counterfactual[]>();
  const counterfactualsOf = createCounterfactuals();
  for (const id of decisionIds) {
    try {
      const { judged, replayed, actor, outcome } = await replay(db, id, ruleSets);
      const isOfRules = actor === 'daemon' && outcome === replayed.live.kind;
      found.set(id, isOfRules ? counterfactualsOf(judged, replayed) : []);
    } catch (thrown) {
      // A decision is explained without its counterfactuals if it cannot be replayed.
      if (!(thrown instanceof SelvedgeError)) throw thrown;
    }
  }
  return found;
}

async function sampleIds(db: Db, sample: number): Promise<number[]> {
  const rows = await db
    .selectFrom('decision')
    .select('decision_id')
    .where(({ not }) => not(IS_FORGOTTEN))
    .orderBy('decision_id', 'desc')
    .execute();
  const step = Math.max(1, rows.length / Math.max(1, sample));
  const count = Math.min(sample, rows.length);
  const places = Array.from({ length: count }, (_, index) => Math.floor(index * step));
  return places.flatMap((place) => rows[place]?.decision_id ?? []);
}

/**
 * Names the differences of one replay; a rule set that is lost or can no longer be read is one as
 * well.
 */
async function differencesIn(
  db: Db,
  decisionId: number,
  ruleSets: RuleSets,
): Promise<readonly string[]> {
  try {
    return (await replay(db, decisionId, ruleSets)).differences;
  } catch (thrown) {
    if (thrown instanceof SelvedgeError) return [thrown.message];
    throw thrown;
  }
}

/** Verifies the hash chain of the whole journal and replays a sample of its decisions. */
export async function verifyDecisions(db: Db, sample: number): Promise<VerifyReport> {
  const chain = await verifyChain(db);
  const ruleSets = ruleSetsOf(db);
  const ids = await sampleIds(db, sample);
  const different: { decisionId: number; differences: readonly string[] }[] = [];
  for (const decisionId of ids) {
    const differences = await differencesIn(db, decisionId, ruleSets);
    if (differences.length > 0) different.push({ decisionId, differences });
  }
  return { chain, replayed: ids, different };
}
