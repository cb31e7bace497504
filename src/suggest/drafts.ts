/** Writes proposals as texts of rules with tests, and proves that the rules can be loaded so. */
import { createHash } from 'node:crypto';
import { provenFacts } from '../decisions/journal.ts';
import type { LoadedRuleSet } from '../decisions/rule-files.ts';
import type { Period } from '../decisions/simulation/history.ts';
import { createPastFacts } from '../decisions/simulation/past/facts.ts';
import { layOver } from '../decisions/simulation/trial-files.ts';
import { limitsOf, numbersAt, STEPS } from '../rules/analysis/limits.ts';
import { contextOf, evaluateRule } from '../rules/evaluate.ts';
import { completeFacts } from '../rules/facts/build.ts';
import type { Facts } from '../rules/facts/plain.ts';
import { factsOfTest } from '../rules/facts/typical.ts';
import { loadRules } from '../rules/load.ts';
import type { Rule, RuleSet } from '../rules/rule.ts';
import { runRuleTests } from '../rules/testing.ts';
import type { RuleFile } from '../rules/text/yaml.ts';
import { inKeys } from '../store/bulk.ts';
import type { Db } from '../store/store.ts';
import type { Decided } from '../surface/suggestion.ts';
import { type Examples, FOUND, VOTE } from './examples.ts';
import { type Given, mergeGiven } from './facts/field.ts';
import { givenAt } from './facts/given.ts';
import { givenPath } from './facts/numbers.ts';
import type { Question } from './question.ts';
import { type Literal, narrowed } from './search/literal.ts';
import { type Condition, conditionsFor } from './text/conditions.ts';
import { freeId, idFor, newRuleText, SUGGESTED_FILE, withException } from './text/rule.ts';
import { type RealDelivery, type RuleTest, testsOf } from './text/tests.ts';

/** Facts of past decisions and numbers of deliveries, for the few that are shown. */
export interface Shown {
  facts(decisions: readonly number[]): Promise<ReadonlyMap<number, Facts>>;
  numbers(deliveries: readonly number[]): Promise<ReadonlyMap<number, string>>;
}

export async function createShown(db: Db, period: Period, ruleSet: RuleSet): Promise<Shown> {
  const past = await createPastFacts(db, period, ruleSet, FOUND);
  return {
    async facts(decisions) {
      const rows = await db
        .selectFrom('decision as n')
        .innerJoin('fact_snapshot as f', 'f.digest', 'n.facts_digest')
        .select(['n.decision_id', 'n.at', 'n.said', 'n.outcome', 'n.facts_digest', 'f.facts'])
        .where(inKeys('n.decision_id', decisions))
        .execute();
      const found = new Map<number, Facts>();
      for (const { decision_id: decisionId, at, said, outcome, ...row } of rows) {
        const facts = provenFacts(row.facts, row.facts_digest);
        if (!facts) continue;
        const seen = await past.of({ decisionId, at, said, outcome, lapsed: new Set(), facts });
        found.set(decisionId, completeFacts(seen.facts));
      }
      return found;
    },
    async numbers(deliveries) {
      const rows = await db
        .selectFrom('delivery')
        .select(['order_delivery_id', 'delivery_no'])
        .where(inKeys('order_delivery_id', deliveries))
        .execute();
      return new Map(rows.map((row) => [row.order_delivery_id, row.delivery_no ?? '']));
    },
  };
}

const WORDS: Readonly<Record<number, Decided>> = {
  [VOTE.ACCEPT]: 'accept',
  [VOTE.HOLD]: 'hold',
  [VOTE.REJECT]: 'reject',
};

export function decidedAs(vote: number | undefined): Decided {
  return WORDS[vote ?? -1] ?? 'hold';
}

const AGREED_SHOWN = 2;
const OTHERWISE_SHOWN = 3;

/** Rows of the question that are to be tests: decided so within, and otherwise just outside. */
export function chosenRows(
  examples: Examples,
  { wanted }: Question,
  literals: readonly Literal[],
  asked: readonly number[],
  seed: string,
): readonly { readonly row: number; readonly matches: boolean }[] {
  const { columns, rows, vote } = examples;
  const each = literals.map((literal) => narrowed(columns, new Uint8Array(rows).fill(1), literal));
  // The draw of one among many alike is the same each time.
  const drawn = (row: number): string =>
    createHash('sha256').update(`${seed} ${examples.delivery[row]}`).digest('hex');
  const byDraw = (some: readonly number[]) =>
    some.toSorted((a, b) => (drawn(a) < drawn(b) ? -1 : 1));
  const missed = (row: number) => each.filter((members) => members[row] !== 1).length;
  const few = (some: readonly number[]) => byDraw(some.slice(-200));
  const agreed = few(asked.filter((row) => vote[row] === wanted && missed(row) === 0));
  const others = asked.filter((row) => {
    const isVote = vote[row] !== wanted && vote[row] !== VOTE.UNDECIDED;
    return isVote && missed(row) === 1;
  });
  const nearest = each.flatMap((members) =>
    few(others.filter((row) => members[row] !== 1)).slice(0, 1),
  );
  return [
    ...agreed.slice(0, AGREED_SHOWN).map((row) => ({ row, matches: true })),
    ...nearest.slice(0, OTHERWISE_SHOWN).map((row) => ({ row, matches: false })),
  ];
}

export async function realDeliveries(
  examples: Examples,
  shown: Shown,
  chosen: ReturnType<typeof chosenRows>,
): Promise<readonly RealDelivery[]> {
  const ids = chosen.map(({ row }) => examples.decision[row] ?? -1);
  const facts = await shown.facts(ids);
  return chosen.flatMap(({ row, matches }, at): readonly RealDelivery[] => {
    const own = facts.get(ids[at] ?? -1);
    if (!own) return [];
    const number = own.delivery.number || String(own.delivery.id);
    return [{ number, facts: own, decided: decidedAs(examples.vote[row]), matches }];
  });
}

export interface Drafted {
  readonly id: string;
  /** Id of the rule that the draft adds: an exception is watched on a copy of its rule. */
  readonly draftId: string;
  readonly conditions: readonly Condition[];
  readonly text: string;
  readonly draft: string;
}

interface Draft {
  readonly inForce: LoadedRuleSet;
  readonly question: Question;
  readonly literals: readonly Literal[];
  readonly columns: Examples['columns'];
  readonly deliveries: readonly RealDelivery[];
  readonly owner: string | undefined;
  readonly taken: ReadonlySet<string>;
  readonly holdRules: readonly string[];
  readonly remarks: readonly string[];
}

function live(text: string): string {
  return text.replace(/^( {4}mode:) shadow$/m, '$1 live');
}

/** The tests of a rule that do not end as they say, by their names. */
function failing(files: readonly RuleFile[], id: string): ReadonlySet<string> | undefined {
  const loaded = loadRules(files);
  if ('problems' in loaded) return undefined;
  const { tests } = runRuleTests(loaded.ruleSet, true);
  const failed = tests.filter(({ ruleId, ok }) => ruleId === id && !ok);
  return new Set(failed.map(({ name }) => name));
}

/** Whether the rule passes as a live one would have to: checked, tested, each limit tried. */
function passes(files: readonly RuleFile[], id: string): boolean {
  const loaded = loadRules(files);
  if ('problems' in loaded) return false;
  const report = runRuleTests(loaded.ruleSet, true);
  const own = [...report.tests.filter(({ ok }) => !ok), ...(report.untested ?? [])];
  return own.every(({ ruleId }) => ruleId !== id);
}

function newRule(from: Draft): Drafted | undefined {
  const { question, columns, literals, owner, deliveries, inForce, taken, remarks } = from;
  const action = question.kind === 'hold' ? 'hold' : 'accept';
  const conditions = conditionsFor(columns, literals, action === 'hold');
  const id = idFor(action, conditions, taken);
  const named = conditions.map(({ text }) => text);
  const wanted = { expect: action, otherwise: 'none', paths: [], named };
  const tests = testsOf(conditions, deliveries, wanted);
  const write = (some: readonly RuleTest[]) =>
    newRuleText({ id, action, owner, conditions, tests: some, remarks });
  const over = (text: string) =>
    layOver(inForce.files, { over: 'rules', files: [{ path: SUGGESTED_FILE, text: live(text) }] });
  const failed = failing(over(write(tests)), id);
  if (!failed) return undefined;
  const text = write(tests.filter(({ name }) => !failed.has(name)));
  return passes(over(text), id) ? { id, draftId: id, conditions, text, draft: text } : undefined;
}

function exception(from: Draft): Drafted | undefined {
  const { question, columns, literals, deliveries, inForce, holdRules, taken, remarks } = from;
  const id = holdRules[question.rule ?? -1] ?? '';
  const rule = inForce.ruleSet.rules.find((one) => one.id === id);
  const conditions = conditionsFor(columns, literals, true);
  if (!rule) return undefined;
  const named = [...conditions, ...rule.clauses].map(({ text }) => text);
  const wanted = { expect: 'none', otherwise: 'hold', paths: rule.reads, named };
  const tests = testsOf(conditions, deliveries, wanted);
  const outside = deliveries.find(({ matches }) => !matches);
  const reads = conditions.flatMap(({ field }) => field.reads);
  let around: { readonly names: ReadonlySet<string>; readonly given: Given } | undefined;
  const write = (
    some: readonly RuleTest[],
    as?: { readonly id: string; readonly mode: string },
  ) => {
    const change = {
      conditions,
      tests: some,
      remarks,
      ...(as && { as }),
      ...(around && { around }),
    };
    return withException(inForce.files, rule, change);
  };
  const over = (text: string | undefined) =>
    layOver(inForce.files, { over: 'rules', files: [{ path: SUGGESTED_FILE, text: text ?? '' }] });
  const failed = failing(over(write(tests)), id);
  if (!failed) return undefined;
  const own = new Set(rule.tests.map(({ name }) => name).filter((name) => failed.has(name)));
  if (own.size > 0 && outside) {
    around = { names: own, given: givenAt(outside.facts, reads, wanted.named) };
  }
  const good = tests.filter(({ name }) => !failed.has(name));
  const held = good.find(({ expect }) => expect === 'hold');
  const isTried = passes(over(write(good)), id);
  const kept =
    isTried || !held ? good : [...good, ...limitTestsOf(inForce.ruleSet, rule, held.given)];
  const text = write(kept);
  const as = { id: freeId(`${id}-suggested`, taken), mode: 'shadow' };
  const draft = write(kept, as);
  if (text === undefined || draft === undefined || !passes(over(text), id)) return undefined;
  return { id, draftId: as.id, conditions, text, draft };
}

/** The proposal as texts; undefined: it cannot be written so that it passes its own tests. */
export function drafted(from: Draft): Drafted | undefined {
  return from.question.kind === 'unless' ? exception(from) : newRule(from);
}

// Tests at the limits of a rule that has none there, from a real delivery on which it was true.

const MS_PER_SECOND = 1_000;
/** Fractions of binary numbers are cut behind these decimals. */
const DECIMALS = 4;

function written(path: string, kind: string, value: number): unknown {
  if (kind === 'duration') return `${Math.round(value / MS_PER_SECOND)}s`;
  if (kind === 'time') return new Date(value).toISOString();
  const number = Number(value.toFixed(DECIMALS));
  return /_pct$|discount$|base_rate$/.test(path) ? String(number) : number;
}

/** Facts in which a path has this value, on each line where it is of lines. */
function at(path: string, value: unknown): Given {
  const [, inner] = /^delivery\.lines\.(\w+)$/.exec(path) ?? [];
  return inner === undefined
    ? givenPath(path, value)
    : { delivery: { lines: [{ [inner]: value }] } };
}

function limitTestsOf(ruleSet: RuleSet, rule: Rule, real: Given): readonly RuleTest[] {
  const samples = { ...ruleSet, variables: ruleSet.samples };
  const frame = (given: Given) => contextOf(samples, factsOfTest(given));
  return limitsOf(rule, ruleSet.types).flatMap((limit): readonly RuleTest[] => {
    const { kind, path, op } = limit;
    if (kind === 'list' || !/^[<>]=?$/.test(op) || path.endsWith('size()')) return [];
    const [first] = numbersAt(limit, frame(real));
    if (!first) return [];
    return [-1, 0, 1].map((steps) => {
      const value = written(path, kind, first.bound + steps * STEPS[kind]);
      const given = mergeGiven([real, at(path, value)]);
      const is = evaluateRule(rule, frame(given)).value;
      const matched = is === true ? rule.action : 'none';
      return { name: `${path} is ${value}`, given, expect: is === 'unknown' ? is : matched };
    });
  });
}
