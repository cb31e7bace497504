/**
 * Proposes rules that would have done what people decided. Learns on the earlier part of a period,
 * and looks at the later part once, at the end. Reads the journal and writes nothing.
 *
 * No reject is proposed, and nothing that it cannot prove on decisions that it has not learned
 * from: what remains goes to people as a draft.
 */
import type { LoadedRuleSet } from '../decisions/rule-files.ts';
import type { Period } from '../decisions/simulation/history.ts';
import { ruleSetInForce } from '../decisions/simulation/rule-sets.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { Db } from '../store/store.ts';
import type {
  ClaimedChange,
  Counterexample,
  Evidence,
  Overruled,
  Proposal,
  Refusal,
  Suggestion,
  SuggestOptions,
  TwoWays,
} from '../surface/suggestion.ts';
import { claimedChanges } from './claims.ts';
import type { Column } from './columns.ts';
import {
  chosenRows,
  createShown,
  decidedAs,
  drafted,
  realDeliveries,
  type Shown,
} from './drafts.ts';
import {
  askedRows,
  chanceOf,
  chanceOfDays,
  evidenceOf,
  type Ground,
  groundOf,
} from './evidence.ts';
import { type Examples, readExamples, VOTE } from './examples.ts';
import { PACKED_ON } from './facts/fields.ts';
import { askedPopulation, isAsked, learnedFrom, type Question, questionsOf } from './question.ts';
import { refusalOf, type Why } from './refusals.ts';
import { type Literal, membersOf } from './search/literal.ts';
import { findRules } from './search/search.ts';
import { createStatistics, type Statistics } from './statistics.ts';
import { conditionsFor, shown as shownText } from './text/conditions.ts';
import { twoWaysOf, type Way } from './two-ways.ts';

const DAY_MS = 86_400_000;
const CONFIDENCE = 0.95;
/** Days after which somebody looks again at what a proposed rule accepts. */
const LOOK_AGAIN_DAYS = 90;
const COUNTEREXAMPLES_MAX = 20;
/** Examples that a question needs before anything is searched. */
const EXAMPLES_MIN = 20;
/** Share of a proposal's deliveries on which a rule that only watches does the same. */
const COVERED_SHARE = 0.9;
/** Share of a proposed hold's deliveries that rules in force may accept now. */
const AGAINST_RULES_MAX = 0.05;
/** Share of the decided deliveries that two ways may concern before nothing at all is proposed. */
const TWO_WAYS_MAX = 0.1;

interface Candidate {
  readonly question: Question;
  /** Literals over the columns of all examples. */
  readonly literals: readonly Literal[];
}

/** Time of the median decided example, at which what is learned from ends. */
function middleOf(examples: Examples, { since, until }: SuggestOptions): number {
  const times: number[] = [];
  for (let row = 0; row < examples.rows; row += 1) {
    if ((examples.act[row] ?? -1) >= 0 && examples.vote[row] !== VOTE.NONE) {
      times.push(examples.votedAt[row] ?? 0);
    }
  }
  times.sort((a, b) => a - b);
  return times[times.length >> 1] ?? (since + until) / 2;
}

/** Rules that the earlier part tells, with round limits. */
function candidatesOf(
  examples: Examples,
  question: Question,
  learnedUntil: number,
): readonly Candidate[] {
  const asked = learnedFrom(examples, question, learnedUntil);
  if (asked.rows.length < EXAMPLES_MIN) return [];
  const population = askedPopulation(examples, question, asked);
  const columnOf = (index: number): number => {
    const field = population.columns[index]?.field;
    return examples.columns.findIndex((column) => column.field === field);
  };
  return findRules(population, question.weights).map(({ literals }) => {
    const round = literals.map((literal, at) => {
      const others = literals.filter((_, other) => other !== at);
      const members = membersOf(population.columns, population.size, others);
      return rounded(population.columns, members, literal);
    });
    return {
      question,
      literals: round.map((literal) => ({ ...literal, column: columnOf(literal.column) })),
    };
  });
}

interface Judging {
  readonly examples: Examples;
  readonly inForce: LoadedRuleSet;
  readonly parts: { readonly learned: Period; readonly checked: Period; readonly all: Period };
  readonly statistics: Statistics;
  readonly shown: Shown;
  readonly owner: string | undefined;
  readonly looked: number;
  readonly ways: readonly Way[];
  readonly taken: Set<string>;
}

function ruleName({ holdRules }: Examples, { rule }: Question): string | null {
  return rule === undefined ? null : (holdRules[rule] ?? null);
}

/** A rule that only watches and does the same on nearly all of the rows. */
function coveredBy({ examples, inForce }: Judging, { kind }: Question, rows: readonly number[]) {
  return examples.watching.find(({ id, rows: matched }) => {
    const rule = inForce.ruleSet.rules.find((one) => one.id === id);
    if (rule?.action !== kind) return false;
    return rows.filter((row) => matched.has(row)).length >= COVERED_SHARE * rows.length;
  })?.id;
}

function overlaps({ examples }: Judging, ways: readonly Way[], members: Uint8Array): boolean {
  for (const { members: cell } of ways) {
    for (let row = 0; row < examples.rows; row += 1) {
      if (cell[row] === 1 && members[row] === 1) return true;
    }
  }
  return false;
}

/** Whether people decide in two ways so often that nothing can be said, or just here. */
function twoWaysWhy(judging: Judging, question: Question, members: Uint8Array): Why | undefined {
  const { examples, ways } = judging;
  const own = ways.filter(({ question: { rule } }) => rule === question.rule);
  let [decided, concerned] = [0, 0];
  for (let row = 0; row < examples.rows; row += 1) {
    if (!isAsked(examples, question, row) || examples.vote[row] === VOTE.UNDECIDED) continue;
    decided += 1;
    if (own.some(({ members: cell }) => cell[row] === 1)) concerned += 1;
  }
  const isMuch = concerned > TWO_WAYS_MAX * decided;
  if (!isMuch && !overlaps(judging, own, members)) return undefined;
  return {
    code: 'two_ways',
    why: 'people decide such deliveries in two ways: they should agree first',
  };
}

async function counterexamplesOf(
  { examples, shown }: Judging,
  { wanted }: Question,
  rows: readonly number[],
): Promise<readonly Counterexample[]> {
  const against = rows
    .filter((row) => {
      const vote = examples.vote[row];
      return vote !== wanted && vote !== VOTE.UNDECIDED;
    })
    .toSorted((a, b) => (examples.votedAt[b] ?? 0) - (examples.votedAt[a] ?? 0))
    .slice(0, COUNTEREXAMPLES_MAX);
  const numbers = await shown.numbers(against.map((row) => examples.delivery[row] ?? -1));
  return against.map((row) => {
    const orderDeliveryId = examples.delivery[row] ?? -1;
    return {
      orderDeliveryId,
      deliveryNo: numbers.get(orderDeliveryId) ?? '',
      decisionId: examples.votedBy[row] ?? -1,
      at: examples.votedAt[row] ?? 0,
      decided: decidedAs(examples.vote[row]),
    };
  });
}

type Verdict = { readonly proposal: Proposal } | { readonly refusal: Refusal };

/** Everything that was found out about a candidate before it is written. */
interface Found {
  readonly candidate: Candidate;
  readonly members: Uint8Array;
  readonly texts: readonly string[];
  /** Rows of the question on which it is true, in the whole period. */
  readonly rows: readonly number[];
  readonly learned: Evidence;
  readonly checked: Evidence;
  readonly ground: Ground;
  readonly errorMax: number;
  readonly backtest: readonly ClaimedChange[];
}

function lookAt(judging: Judging, candidate: Candidate): Found {
  const { examples, parts, statistics } = judging;
  const { question, literals } = candidate;
  const members = membersOf(examples.columns, examples.rows, literals);
  const rowsIn = (part: Period) => askedRows(examples, question, members, part);
  const rows = rowsIn(parts.all);
  const checked = evidenceOf(examples, question, rowsIn(parts.checked), parts.checked);
  const conditions = conditionsFor(examples.columns, literals, question.kind !== 'accept');
  return {
    candidate,
    members,
    texts: conditions.map(shownText),
    rows,
    learned: evidenceOf(examples, question, rowsIn(parts.learned), parts.learned),
    checked,
    ground: groundOf(examples, question, rows),
    errorMax: statistics.upperBound(checked.otherwise, checked.acts, CONFIDENCE),
    backtest: claimedChanges(examples, question, members),
  };
}

/** The first reason that speaks against a candidate; undefined: none does. */
function whyNot(judging: Judging, found: Found): Why | undefined {
  const { examples, parts, statistics, looked } = judging;
  const { candidate, members, rows, checked, ground, errorMax, backtest, learned } = found;
  const { question } = candidate;
  const later = askedRows(examples, question, members, parts.checked);
  const chance = chanceOf(examples, question, later, parts.checked, statistics);
  const asksTime = candidate.literals.some(({ column }) =>
    examples.columns[column]?.field.reads.some(
      (path) => path.startsWith('clock.') || path === PACKED_ON,
    ),
  );
  const ofDays = asksTime
    ? chanceOfDays(examples, question, later, parts.checked, statistics)
    : undefined;
  const why =
    twoWaysWhy(judging, question, members) ??
    refusalOf({
      question,
      checked,
      ground,
      groundChecked: groundOf(examples, question, later),
      errorMax,
      chance,
      chanceOfDays: ofDays,
      looked,
    });
  if (why) return why;
  const covering = coveredBy(judging, question, rows);
  if (covering !== undefined) {
    return { code: 'covered', why: `the rule ${covering} does the same, and only watches` };
  }
  const kept = backtest.find(({ from, to }) => from === 'accept' && to === 'hold');
  const count = kept?.deliveries ?? 0;
  if (count <= AGAINST_RULES_MAX * learned.agreed.deliveries) return undefined;
  return { code: 'against_rules', why: `it would hold ${count} that rules accept now` };
}

/** The texts of a proposal, with tests of real deliveries. */
async function writtenFor(
  judging: Judging,
  { candidate, texts }: Found,
  lookAgainOn: string | null,
) {
  const { examples, parts, inForce, shown, owner, taken } = judging;
  const { question, literals } = candidate;
  const everything = new Uint8Array(examples.rows).fill(1);
  const around = askedRows(examples, question, everything, parts.all);
  const chosen = chosenRows(examples, question, literals, around, texts.join('\n'));
  const remark = `Proposed from what people decided: look again on ${lookAgainOn}.`;
  return drafted({
    inForce,
    question,
    literals,
    columns: examples.columns,
    deliveries: await realDeliveries(examples, shown, chosen),
    owner,
    taken,
    holdRules: examples.holdRules,
    remarks: lookAgainOn === null ? [] : [remark],
  });
}

async function judge(judging: Judging, candidate: Candidate): Promise<Verdict> {
  const { examples, parts, taken } = judging;
  const { question } = candidate;
  const found = lookAt(judging, candidate);
  const { texts, ground, learned, checked, errorMax, backtest } = found;
  const { kind, errorAllowed } = question;
  const refuse = ({ code, why }: Why): Verdict => ({
    refusal: { kind, rule: ruleName(examples, question), conditions: texts, code, why },
  });
  const against = whyNot(judging, found);
  if (against) return refuse(against);
  const again = new Date(parts.all.until + LOOK_AGAIN_DAYS * DAY_MS).toISOString().slice(0, 10);
  const lookAgainOn = kind === 'hold' ? null : again;
  const written = await writtenFor(judging, found, lookAgainOn);
  if (!written) {
    const why = 'it cannot be written so that all tests pass: those of the rule want otherwise';
    return refuse({ code: 'untestable', why });
  }
  taken.add(written.id).add(written.draftId);
  const { id, text, draft } = written;
  const { days, people, customers } = ground;
  const counterexamples = await counterexamplesOf(judging, question, found.rows);
  return {
    proposal: {
      id,
      kind,
      title: texts.join(', '),
      conditions: texts,
      text,
      draft,
      learned,
      checked,
      errorMax,
      errorAllowed,
      days,
      people,
      customers,
      counterexamples,
      backtest,
      lookAgainOn,
    },
  };
}

/** Questions that are asked: about all rules, or those of one owner. */
function wantedQuestions(
  examples: Examples,
  { ruleSet }: LoadedRuleSet,
  owner: string | undefined,
): readonly Question[] {
  const all = questionsOf(examples);
  if (owner === undefined) return all;
  const own = new Set(ruleSet.rules.filter((rule) => rule.owner === owner).map(({ id }) => id));
  return all.filter((one) => one.rule === undefined || own.has(examples.holdRules[one.rule] ?? ''));
}

function countsOf(examples: Examples, questions: readonly Question[]) {
  const acts = new Set<number>();
  let [decided, undecided, covered] = [0, 0, 0];
  for (let row = 0; row < examples.rows; row += 1) {
    const vote = examples.vote[row];
    if (examples.isFirst[row] !== 1 || vote === VOTE.NONE) continue;
    const isOpen = questions.some((question) => isAsked(examples, question, row));
    if (vote === VOTE.UNDECIDED) undecided += Number(isOpen);
    else if (isOpen) {
      decided += 1;
      acts.add(examples.act[row] ?? -1);
    } else covered += 1;
  }
  return { decided, undecided, covered, acts: acts.size };
}

/** Proposes rules from what people decided in a period. */
export async function suggest(db: Db, options: SuggestOptions): Promise<Suggestion> {
  const { since, until, owner } = options;
  const inForce = await ruleSetInForce(db);
  const examples = await readExamples(db, { since, until }, inForce.ruleSet);
  const learnedUntil = middleOf(examples, options);
  const questions = wantedQuestions(examples, inForce, owner);
  const candidates = questions.flatMap((question) =>
    candidatesOf(examples, question, learnedUntil),
  );
  const statistics = createStatistics();
  const parts = {
    learned: { since, until: learnedUntil },
    checked: { since: learnedUntil, until },
    all: { since, until },
  };
  const ways = await twoWaysOf(db, { examples, questions, parts, statistics });
  const judging: Judging = {
    examples,
    inForce,
    parts,
    statistics,
    shown: await createShown(db, { since, until }, inForce.ruleSet),
    owner,
    looked: candidates.length,
    ways,
    taken: new Set(inForce.ruleSet.rules.map(({ id }) => id)),
  };
  const proposals: Proposal[] = [];
  const refused: Refusal[] = [];
  for (const candidate of candidates) {
    const verdict = await judge(judging, candidate);
    if ('proposal' in verdict) proposals.push(verdict.proposal);
    else refused.push(verdict.refusal);
  }
  return {
    since,
    until,
    learnedUntil,
    rules: inForce.ruleSet.hash,
    ...countsOf(examples, questions),
    proposals,
    refused,
    twoWays: ways.map(({ shown }): TwoWays => shown),
    overruled: overruledOf(examples, inForce.ruleSet, owner),
    notGathered: examples.notGathered,
  };
}

// The other direction: live hold rules, and how often people accepted what they held.

function overruledOf(
  examples: Examples,
  { rules }: RuleSet,
  owner: string | undefined,
): readonly Overruled[] {
  const counts = examples.holdRules.map(() => ({ alone: 0, accepted: 0, rejected: 0, kept: 0 }));
  for (let row = 0; row < examples.rows; row += 1) {
    const count = counts[examples.heldBy[row] ?? -1];
    if (!count || examples.isFirst[row] !== 1) continue;
    count.alone += 1;
    const vote = examples.vote[row];
    if (vote === VOTE.ACCEPT) count.accepted += 1;
    else if (vote === VOTE.REJECT) count.rejected += 1;
    else if (vote === VOTE.HOLD) count.kept += 1;
  }
  return examples.holdRules.flatMap((id, at): readonly Overruled[] => {
    const rule = rules.find((one) => one.id === id);
    const count = counts[at];
    const held = examples.matchedBy[at] ?? 0;
    if (!rule || !count || held === 0) return [];
    if (owner !== undefined && rule.owner !== owner) return [];
    return [{ rule: id, title: rule.title, held, ...count }];
  });
}

// Limits are rounded: of all numbers between two neighbouring values, people would have written
// one.

/** Share of a granule that is an error of binary fractions. */
const ROUNDING = 1e-9;

/** Smallest multiple of the coarsest granule in an interval that includes `from` and not `to`. */
function roundest(from: number, to: number, granules: readonly number[]): number {
  for (const granule of granules) {
    const multiple = Number((Math.ceil(from / granule - ROUNDING) * granule).toFixed(4));
    if (multiple >= from && multiple < to) return multiple;
  }
  return from;
}

/** The literal with a round limit that keeps apart the same values of these rows. */
function rounded(columns: readonly Column[], members: Uint8Array, literal: Literal): Literal {
  const column = columns[literal.column];
  if (literal.kind !== 'number' || column?.kind !== 'number') return literal;
  let [below, above] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let row = 0; row < column.values.length; row += 1) {
    const value = column.values[row] ?? Number.NaN;
    if (members[row] !== 1 || Number.isNaN(value)) continue;
    if (value <= literal.limit) below = Math.max(below, value);
    else above = Math.min(above, value);
  }
  const { granules, step } = column.field;
  const smallest = granules.at(-1) ?? step;
  if (!Number.isFinite(below)) return literal;
  // A limit that people can write, even where two values lie closer together.
  const from = Math.ceil(below / smallest - ROUNDING) * smallest;
  const end = Number.isFinite(above) ? above : below + step;
  return { ...literal, limit: roundest(from, Math.max(end, from + step), granules) };
}
