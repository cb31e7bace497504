/**
 * Limits in conditions: comparisons of one fact with a number, a cell of a table or a list, also in
 * loops over lines. For each limit, this module reads the values that were compared, and builds the
 * rule with another limit.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { Duration } from '@marcbachmann/cel-js/evaluator';
import { isJsonObject } from '../../lib/json.ts';
import { Decimal, formatExact, Money } from '../cel/decimal.ts';
import type { SetTypes } from '../cel/environment.ts';
import { LOOPS } from '../cel/lint.ts';
import { createResolver, itemShape, type Scope, type Shape } from '../cel/shape.ts';
import { childrenOf, sourceOf } from '../cel/tree.ts';
import { type CelContext, withVariable } from '../facts/build.ts';
import type { Clause, Rule } from '../rule.ts';
import { MIRRORED, numberOf } from './atoms.ts';

export type LimitKind = 'whole' | 'exact' | 'duration' | 'time' | 'list';

export interface Limit {
  readonly clause: Clause;
  /** Path of the compared fact: `delivery.lines.missing`, `delivery.lines.size()`. */
  readonly path: string;
  readonly kind: LimitKind;
  /** Operator of the comparison, written with the fact on the left side. */
  readonly op: string;
  readonly node: ASTNode;
  readonly fact: ASTNode;
  /** Expression of the limit: a number, a cell of a table, or a list. */
  readonly bound: ASTNode;
  readonly loops: readonly Loop[];
}

interface Loop {
  readonly variable: string;
  readonly list: ASTNode;
}

/** Size of one step for each kind of limit: a piece, a hundredth, a minute in milliseconds. */
export const STEPS: Readonly<Record<Exclude<LimitKind, 'list'>, number>> = {
  whole: 1,
  exact: 0.01,
  duration: 60_000,
  time: 60_000,
};

const KINDS: Readonly<Record<string, LimitKind>> = {
  int: 'whole',
  money: 'exact',
  percent: 'exact',
  duration: 'duration',
  timestamp: 'time',
};

export interface Place {
  readonly scope: Scope;
  readonly loops: readonly Loop[];
  readonly types: SetTypes;
}

export function shapeIn(node: ASTNode, { types, scope }: Place): Shape {
  return createResolver(types, () => undefined).shapeOf(node, scope);
}

/** Path and kind of the fact that a node reads; undefined if it reads no single fact. */
export function factAt(node: ASTNode, place: Place) {
  if (node.op === 'rcall' && node.args[0] === 'size') {
    const list = shapeIn(node.args[1], place);
    return 'path' in list ? { path: `${list.path}.size()`, kind: KINDS.int } : undefined;
  }
  if (node.op !== '.') return undefined;
  const shape = shapeIn(node, place);
  if (shape.kind === 'field') return { path: shape.path, kind: KINDS[shape.field.type] };
  if (shape.kind !== 'item' || !shape.path.startsWith('customer.extra.')) return undefined;
  const type = place.types.extra[shape.path.split('.').at(-1) ?? ''];
  const kind: LimitKind | undefined = type === 'Decimal' ? 'exact' : KINDS[type ?? ''];
  return { path: shape.path, kind };
}

function isList(node: ASTNode, place: Place): boolean {
  return node.op === 'list' || shapeIn(node, place).kind === 'list';
}

function limitAt(node: ASTNode, clause: Clause, place: Place): Limit | undefined {
  const mirrored = MIRRORED.get(node.op);
  const [left, right] = childrenOf(node);
  if (!left || !right || (mirrored === undefined && node.op !== 'in')) return undefined;
  const { loops } = place;
  const straight = factAt(left, place);
  if (node.op === 'in') {
    if (!straight || !isList(right, place)) return undefined;
    const { path } = straight;
    return { clause, path, kind: 'list', op: 'in', node, fact: left, bound: right, loops };
  }
  const found = straight ?? factAt(right, place);
  const [fact, bound] = straight ? [left, right] : [right, left];
  if (found?.kind === undefined) return undefined;
  if (numberOf(bound) === undefined && shapeIn(bound, place).kind !== 'cell') return undefined;
  const op = straight ? node.op : (mirrored ?? node.op);
  return { clause, path: found.path, kind: found.kind, op, node, fact, bound, loops };
}

/**
 * Calls `see` for every node of a condition, together with the variables of the loops around it.
 */
export function walk(node: ASTNode, place: Place, see: (node: ASTNode, place: Place) => void) {
  see(node, place);
  let within = place;
  if (node.op === 'rcall' && LOOPS.has(node.args[0])) {
    const [, list, [variable]] = node.args;
    if (variable?.op === 'id') {
      const item = itemShape(shapeIn(list, place));
      const scope = new Map([...place.scope, [variable.args, item] as const]);
      within = { ...place, scope, loops: [...place.loops, { variable: variable.args, list }] };
    }
  }
  for (const child of childrenOf(node)) walk(child, within, see);
}

export function limitsOf({ clauses }: Pick<Rule, 'clauses'>, types: SetTypes): readonly Limit[] {
  const limits: Limit[] = [];
  for (const clause of clauses) {
    walk(clause.program.ast, { scope: new Map(), loops: [], types }, (node, place) => {
      const limit = limitAt(node, clause, place);
      if (limit) limits.push(limit);
    });
  }
  return limits;
}

function member(base: unknown, name: unknown): unknown {
  if (base instanceof Map) return base.get(name);
  return isJsonObject(base) ? base[String(name)] : undefined;
}

/** Value of a node that reads a fact, a cell, a list or a text; undefined if it is not known. */
function valueAt(node: ASTNode, context: CelContext): unknown {
  if (node.op === 'id') return context[node.args];
  if (node.op === 'value') return node.args;
  if (node.op === '.') return member(valueAt(node.args[0], context), node.args[1]);
  if (node.op === '[]') {
    return member(valueAt(node.args[0], context), valueAt(node.args[1], context));
  }
  if (node.op === 'list') return node.args.map((item) => valueAt(item, context));
  if (node.op !== 'rcall' || node.args[0] !== 'size') return undefined;
  const list = valueAt(node.args[1], context);
  return Array.isArray(list) ? BigInt(list.length) : undefined;
}

/** Value as a number: durations and times in milliseconds; undefined if it is none. */
function toNumber(value: unknown): number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value);
  if (value instanceof Money || value instanceof Decimal) return Number(formatExact(value));
  if (value instanceof Duration || value instanceof Date) return Number(value.valueOf());
  return undefined;
}

function contextsOf(loops: readonly Loop[], context: CelContext): readonly CelContext[] {
  const [loop, ...rest] = loops;
  if (!loop) return [context];
  const items = valueAt(loop.list, context);
  if (!Array.isArray(items)) return [];
  return items.flatMap((item) => contextsOf(rest, withVariable(context, loop.variable, item)));
}

/** Pairs of the fact's value and its limit; in a loop, one pair for each line. */
export function numbersAt(limit: Limit, context: CelContext) {
  return contextsOf(limit.loops, context).flatMap((inner) => {
    const value = toNumber(valueAt(limit.fact, inner));
    const bound = numberOf(limit.bound) ?? toNumber(valueAt(limit.bound, inner));
    return value === undefined || bound === undefined ? [] : [{ value, bound }];
  });
}

/** Texts that the fact has, and the texts of the list that it is compared with. */
export function textsAt(limit: Limit, context: CelContext) {
  const values = contextsOf(limit.loops, context).map((inner) => valueAt(limit.fact, inner));
  const listed = valueAt(limit.bound, context);
  const isText = (value: unknown) => typeof value === 'string';
  return {
    values: values.filter(isText),
    listed: Array.isArray(listed) ? listed.filter(isText) : [],
  };
}

/** Currency of the compared fact; undefined if it is no amount. */
export function currencyAt(limit: Limit, context: CelContext): string | undefined {
  const [first = context] = contextsOf(limit.loops, context);
  const value = valueAt(limit.fact, first);
  return value instanceof Money ? value.currency : undefined;
}

function literal(kind: LimitKind, value: number): string {
  if (kind === 'duration') return `minutes(${value / STEPS.duration})`;
  return kind === 'time' ? `timestamp("${new Date(value).toISOString()}")` : String(value);
}

/**
 * The rule with another number, or a list of these texts, in the place of a limit; undefined if the
 * new text is no condition.
 */
export function withLimit(
  rule: Rule,
  { clause, bound, kind }: Limit,
  value: number | readonly string[],
): Rule | undefined {
  const { text, variant } = clause.program;
  if (sourceOf(bound) !== text.slice(bound.start, bound.end)) return undefined;
  const written = typeof value === 'number' ? literal(kind, value) : JSON.stringify(value);
  const program = variant(text.slice(0, bound.start) + written + text.slice(bound.end));
  if (!program) return undefined;
  const clauses = rule.clauses.map((one) => (one === clause ? { ...clause, program } : one));
  return { ...rule, clauses };
}
