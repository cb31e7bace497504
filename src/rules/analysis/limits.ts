/**
 * Limits in conditions: comparisons of one fact with a number, a cell of a table or a list, also in
 * loops over lines. For each limit, this module reads the values that were compared, and builds the
 * rule with another limit.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { type Code, NotKnown, resultOf } from '../cel/code.ts';
import type { SetTypes } from '../cel/environment.ts';
import { LOOPS } from '../cel/lint.ts';
import { createResolver, itemShape, type Scope, type Shape } from '../cel/shape.ts';
import { childrenOf, sourceOf, textOf } from '../cel/tree.ts';
import type { Frame } from '../facts/build.ts';
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
  /** Expression of the limit: a number, a cell of a table, or a list. */
  readonly bound: ASTNode;
  readonly codes: Codes;
}

/** Code of a comparison; the values of what has none are not told. */
interface Codes {
  readonly fact: Code | undefined;
  readonly bound: Code | undefined;
  /** List of the loop around the comparison; null: it is in none. */
  readonly list: Code | undefined | null;
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
  /** List of the loop around it; loops are not in each other. */
  readonly list?: ASTNode;
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

function codesOf(
  { program }: Clause,
  fact: ASTNode,
  bound: ASTNode,
  { scope, list }: Place,
): Codes {
  return {
    fact: program.codeAt(fact, scope),
    bound: program.codeAt(bound, scope),
    list: list ? program.codeAt(list, new Map()) : null,
  };
}

function limitAt(node: ASTNode, clause: Clause, place: Place): Limit | undefined {
  const mirrored = MIRRORED.get(node.op);
  const [left, right] = childrenOf(node);
  if (!left || !right || (mirrored === undefined && node.op !== 'in')) return undefined;
  const straight = factAt(left, place);
  if (node.op === 'in') {
    if (!straight || !isList(right, place)) return undefined;
    const codes = codesOf(clause, left, right, place);
    return { clause, path: straight.path, kind: 'list', op: 'in', node, bound: right, codes };
  }
  const found = straight ?? factAt(right, place);
  const [fact, bound] = straight ? [left, right] : [right, left];
  if (found?.kind === undefined) return undefined;
  if (numberOf(bound) === undefined && shapeIn(bound, place).kind !== 'cell') return undefined;
  const op = straight ? node.op : (mirrored ?? node.op);
  const codes = codesOf(clause, fact, bound, place);
  return { clause, path: found.path, kind: found.kind, op, node, bound, codes };
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
      within = { ...place, scope, list };
    }
  }
  for (const child of childrenOf(node)) walk(child, within, see);
}

export function limitsOf({ clauses }: Pick<Rule, 'clauses'>, types: SetTypes): readonly Limit[] {
  const limits: Limit[] = [];
  for (const clause of clauses) {
    walk(clause.program.ast, { scope: new Map(), types }, (node, place) => {
      const limit = limitAt(node, clause, place);
      if (limit) limits.push(limit);
    });
  }
  return limits;
}

/** Reads at each item of the loop around the limit, or once. */
function atEach<T>({ list }: Codes, frame: Frame, read: (frame: Frame) => T): readonly T[] {
  if (list === null) return [read(frame)];
  if (list?.kind !== 'lines') return [];
  const items = list.run(frame);
  if (items instanceof NotKnown) return [];
  return items.map((item) => {
    frame.item = item;
    return read(frame);
  });
}

/** Value as a number: durations and times in milliseconds; undefined if it is none. */
function numberIn(code: Code | undefined, frame: Frame): number | undefined {
  const value = code?.run(frame);
  if (typeof value !== 'number') return undefined;
  return code?.kind === 'number' ? value / 10 ** code.places : value;
}

/** Pairs of the fact's value and its limit; in a loop, one pair for each line. */
export function numbersAt({ codes, bound: node }: Limit, frame: Frame) {
  const literal = numberOf(node);
  const read = (given: Frame) =>
    atEach(codes, given, (inner) => {
      return { value: numberIn(codes.fact, inner), bound: literal ?? numberIn(codes.bound, inner) };
    });
  return (resultOf(read, frame) ?? []).flatMap(({ value, bound }) =>
    value === undefined || bound === undefined ? [] : [{ value, bound }],
  );
}

/** Texts that the fact has, and the texts of the list that it is compared with. */
export function textsAt({ codes, bound }: Limit, frame: Frame) {
  const read = (given: Frame) => atEach(codes, given, (inner): unknown => codes.fact?.run(inner));
  const literals = bound.op === 'list' ? bound.args.map(textOf) : undefined;
  const listed: unknown = literals ?? resultOf((given) => codes.bound?.run(given), frame);
  const isText = (value: unknown) => typeof value === 'string';
  return {
    values: (resultOf(read, frame) ?? []).filter(isText),
    listed: Array.isArray(listed) ? listed.filter(isText) : [],
  };
}

/** Currency of the compared fact; undefined if it is no amount. */
export function currencyAt({ codes: { fact } }: Limit, { view }: Frame): string | undefined {
  return fact?.kind === 'number' && fact.owner ? view.currencies[fact.owner] : undefined;
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
