/**
 * Finds what would have let a delivery pass when a single condition stands in the way: another
 * limit, another list, or more stock. Each change is proved by evaluating with it.
 */
import { formatDecimal } from '../../lib/money.ts';
import {
  contextOf,
  type EvaluateOptions,
  type Evaluation,
  evaluate,
  outcomesWith,
} from '../evaluate.ts';
import { type Frame, missingOf } from '../facts/build.ts';
import type { Facts } from '../facts/plain.ts';
import type { Clause, Rule, RuleSet } from '../rule.ts';
import { limitText } from './limit-tests.ts';
import {
  currencyAt,
  type Limit,
  limitsOf,
  numbersAt,
  STEPS,
  textsAt,
  withLimit,
} from './limits.ts';

export interface Counterfactual {
  readonly rule: string;
  readonly line: number;
  readonly condition: string;
  /** Description of the change: `with a limit of 2500.00 EUR instead of 2000.00 EUR`. */
  readonly text: string;
  /** Description of the change that names no goods of this delivery, to sum up equal ones. */
  readonly change: string;
  /** Present limit, and below the limit that would let the delivery pass. */
  readonly was?: number;
  readonly limit?: number;
}

export interface Judged {
  readonly ruleSet: RuleSet;
  readonly facts: Facts;
  readonly options: EvaluateOptions;
  /** Outcome that must become an accept: the live one, or the one with shadow rules. */
  readonly which: 'live' | 'shadow';
}

type Suspect = readonly [Rule, Clause];

/** Conditions that may stand in the way alone; only a trial with each of them shows it. */
function suspectsOf({ ruleSet, which }: Judged, evaluation: Evaluation): readonly Suspect[] {
  const { code, rules: deciding } = evaluation[which];
  const isHeld = code === 'hold_rule' || code === 'not_armed';
  if (code !== 'no_rule' && (!isHeld || deciding.length > 1)) return [];
  const ruleOf = (id: string) => ruleSet.rules.find((one) => one.id === id);
  if (isHeld) {
    const [rule] = deciding.flatMap((id) => ruleOf(id) ?? []);
    return rule ? rule.clauses.map((clause) => [rule, clause] as const) : [];
  }
  return evaluation.rules.flatMap(({ id, action, clauses }) => {
    if (action !== 'accept') return [];
    const stopping = clauses.flatMap(({ value, negated }, at) => (value === negated ? [at] : []));
    const [at] = stopping;
    const rule = at !== undefined && stopping.length === 1 ? ruleOf(id) : undefined;
    const clause = rule?.clauses[at ?? 0];
    return rule && clause ? [[rule, clause] as const] : [];
  });
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

type Try = Pick<Counterfactual, 'text' | 'was' | 'limit'> & { readonly put: number | string[] };

/** Limits to try next to the values that the fact had, the nearest to the present limit first. */
function numberTries(limit: Limit, frame: Frame): readonly Try[] {
  if (limit.kind === 'list' || limit.op === '==' || limit.op === '!=') return [];
  const found = numbersAt(limit, frame);
  const was = found[0]?.bound;
  if (was === undefined || found.some(({ bound }) => bound !== was)) return [];
  const step = STEPS[limit.kind];
  const isTime = limit.kind === 'duration' || limit.kind === 'time';
  const values = found.map(({ value }) => value);
  const near = [Math.min(...values), Math.max(...values)].flatMap((value) =>
    isTime ? [Math.floor(value / step) * step, Math.ceil(value / step) * step] : [value],
  );
  const all = new Set(near.flatMap((value) => [value - step, value, value + step].map(round)));
  const currency = currencyAt(limit, frame);
  const shown = (value: number): string =>
    currency === undefined
      ? limitText(limit.kind, value)
      : `${formatDecimal(value, currency)} ${currency}`;
  return [...all]
    .filter((value) => value !== was)
    .sort((a, b) => Math.abs(a - was) - Math.abs(b - was))
    .map((value) => {
      const text = `with a limit of ${shown(value)} instead of ${shown(was)}`;
      return { put: value, was, limit: value, text };
    });
}

function listTries(limit: Limit, frame: Frame): readonly Try[] {
  if (limit.kind !== 'list') return [];
  const { values, listed } = textsAt(limit, frame);
  const here = new Set(listed);
  const had = new Set(values);
  const [more, less] = [had.difference(here), had.intersection(here)];
  const { bound, clause } = limit;
  const name = clause.text.slice(bound.start, bound.end);
  return [
    ...(more.size > 0 ? [{ put: [...had], text: `with ${[...more].join(', ')} in ${name}` }] : []),
    ...(less.size > 0 ? [{ put: [''], text: `without ${[...less].join(', ')} in ${name}` }] : []),
  ];
}

/** The same delivery with enough stock for each line; undefined when nothing is missing. */
function restocked({
  facts,
}: Judged): { readonly facts: Facts; readonly text: string } | undefined {
  const { delivery } = facts;
  const pieces: string[] = [];
  const lines = delivery.lines.map((line) => {
    const missing = missingOf(line) ?? 0;
    if (missing <= 0) return line;
    pieces.push(`${missing} more piece${missing === 1 ? '' : 's'} of ${line.barcode ?? '?'}`);
    return { ...line, stock_free: line.quantity ?? null, missing: 0 };
  });
  if (pieces.length === 0) return undefined;
  const text = `with ${pieces.join(', ')}`;
  return { facts: { ...facts, delivery: { ...delivery, lines } }, text };
}

/** Options of an evaluation of which only the outcome is asked. */
function bare(options: EvaluateOptions): EvaluateOptions {
  return { ...options, operands: false, messages: false };
}

function passes({ ruleSet, facts, options, which }: Judged): boolean {
  return evaluate(ruleSet, facts, bare(options))[which].kind === 'accept';
}

function passesWith(
  { ruleSet, facts, options, which }: Judged,
  evaluation: Evaluation,
  other: Rule,
): boolean {
  return outcomesWith(ruleSet, facts, bare(options), evaluation, other)[which].kind === 'accept';
}

/** Rules with another limit that are kept: the values of many deliveries are the same few. */
const VARIANTS_MAX = 500;

/** Limits of a condition, and its rule with others. */
function limitsWith(rule: Rule, clause: Clause, ruleSet: RuleSet) {
  const variants = new Map<string, Rule | undefined>();
  return limitsOf({ clauses: [clause] }, ruleSet.types).map((limit, at) => {
    const other = (value: Try['put']): Rule | undefined => {
      const key = `${at} ${JSON.stringify(value)}`;
      const found = variants.get(key) ?? withLimit(rule, limit, value);
      if (variants.size >= VARIANTS_MAX) variants.clear();
      variants.set(key, found);
      return found;
    };
    return { limit, other };
  });
}

function provedTries(
  { program }: Clause,
  limits: ReturnType<typeof limitsWith>,
  judged: Judged,
  evaluation: Evaluation,
): readonly Omit<Counterfactual, 'rule' | 'line' | 'condition'>[] {
  const { ruleSet, facts, options } = judged;
  const frame = contextOf(ruleSet, facts, options.seen);
  const proved = limits.flatMap(({ limit, other }) => {
    const tries = [...numberTries(limit, frame), ...listTries(limit, frame)];
    const found = tries.find(({ put }) => {
      const rule = other(put);
      return rule !== undefined && passesWith(judged, evaluation, rule);
    });
    if (!found) return [];
    const { put: _, ...told } = found;
    return [{ change: told.text, ...told }];
  });
  const readsStock = program.reads.some((path) =>
    /^delivery\.lines\.(missing|stock_free)$/.test(path),
  );
  const more = readsStock ? restocked(judged) : undefined;
  const unseen = { ...options, seen: undefined };
  return more && passes({ ...judged, facts: more.facts, options: unseen })
    ? [...proved, { text: more.text, change: 'with more stock' }]
    : proved;
}

/**
 * Makes a function that finds the changes that would have let a delivery pass, also of many under
 * the same rules. Its evaluation is given if the caller has made it already.
 */
export function createCounterfactuals() {
  const known = new Map<Clause, ReturnType<typeof limitsWith>>();
  return (
    judged: Judged,
    evaluation: Evaluation = evaluate(judged.ruleSet, judged.facts, judged.options),
  ): readonly Counterfactual[] =>
    suspectsOf(judged, evaluation).flatMap(([rule, clause]) => {
      const limits = known.get(clause) ?? limitsWith(rule, clause, judged.ruleSet);
      known.set(clause, limits);
      const { line, text: condition } = clause;
      return provedTries(clause, limits, judged, evaluation).map((told) => {
        return { rule: rule.id, line, condition, ...told };
      });
    });
}

export function counterfactualText({ rule, line, condition, text }: Counterfactual): string {
  return `it would be accepted ${text} (${rule}, line ${line}: ${condition})`;
}
