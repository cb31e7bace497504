/**
 * Checks of a condition that the expression library does not make. The walk over the syntax tree
 * also collects the paths that the condition reads and the values that it compares, so that the
 * loader can demand a currency where an amount is compared with a bare number.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { nearestName } from '../../lib/nearest.ts';
import { DURATION_MS_MAX, parseDuration, parseExactTime } from '../../lib/units.ts';
import type { CurrencyOwner, FieldSpec } from '../facts/table.ts';
import { unknownCode } from './codes.ts';
import { amountOwner, fieldOwner, type Side } from './currency.ts';
import type { SetTypes } from './environment.ts';
import { CLOCK_HINT, DURATION_HINT, syntaxHint, TIMESTAMP_HINT, timestampHint } from './hints.ts';
import {
  type CelProblem,
  createResolver,
  itemShape,
  type Resolver,
  type Scope,
  type Shape,
} from './shape.ts';
import { childrenOf, isLiteral, sourceOf, textOf } from './tree.ts';

export interface Read {
  readonly path: string;
  /** End of the path in the text of the condition, where the library reports a missing key. */
  readonly end: number;
}

type ProblemText = Pick<CelProblem, 'message' | 'hint'>;

/** A fact that is looked up in a list, or among the keys of a table. */
export interface Lookup {
  /**
   * List or table of the lookup: `lists.nordic`; `tables.limits[]` for the second key of a table.
   */
  readonly data: string;
  /** Path of the fact. */
  readonly path: string;
  /** Says why a text in the list or table can never equal the fact; undefined if it may. */
  never(text: string): ProblemText | undefined;
}

export interface TextTest {
  readonly start: number;
  readonly end: number;
  readonly path: string;
}

export interface LintResult {
  readonly problems: readonly CelProblem[];
  readonly reads: readonly Read[];
  /** Pairs of values that are compared, added, subtracted or divided. */
  readonly meetings: readonly (readonly [Side, Side])[];
  readonly lookups: readonly Lookup[];
  /** Calls of `has(…)` for a fact that is a text, with the path of that fact. */
  readonly textTests: readonly TextTest[];
  /** Owners of the currencies of all amounts that the condition reads. */
  readonly amountOwners: ReadonlySet<CurrencyOwner>;
}

export const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);
const FUNCTIONS: ReadonlySet<string> = new Set([
  'has',
  'size',
  'days',
  'hours',
  'minutes',
  'duration',
  'timestamp',
  'lower',
]);
const METHODS: ReadonlySet<string> = new Set([
  'startsWith',
  'endsWith',
  'contains',
  'size',
  'join',
  ...LOOPS,
]);
const BINARY: ReadonlySet<string> = new Set([
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  '+',
  '-',
  '*',
  '/',
  '%',
]);
const ARITHMETIC: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%']);

/**
 * Whether the text is a point in time that the library accepts as well: to the second, with its
 * zone.
 */
function isRealTimestamp(text: string): boolean {
  return /T\d\d:\d\d:\d\d/.test(text) && text.length <= 30 && parseExactTime(text) !== undefined;
}

function literalProblem(name: string, argument: ASTNode | undefined): string | undefined {
  if (name !== 'duration' && name !== 'timestamp') return undefined;
  const text = textOf(argument);
  if (text === undefined) return `${name}(…) needs a text in quotes`;
  if (name === 'timestamp') {
    return isRealTimestamp(text) ? undefined : `"${text}" is not a point in time`;
  }
  const isDuration = /^-?(\d+(\.\d+)?(h|m|s|ms))+$/.test(text);
  const isFar = (parseDuration(text.replace('-', '')) ?? 0) === DURATION_MS_MAX;
  if (!isDuration || isFar) return `"${text}" is not a duration`;
  // The library makes mistakes in sums with a negative duration that has a fraction of a second.
  const mayBePart = text.startsWith('-') && /\.|ms/.test(text);
  return mayBePart ? `"${text}" is negative and not in whole hours, minutes or seconds` : undefined;
}

function forbiddenHint(name: string): string | undefined {
  if (name === 'matches') return 'use startsWith, endsWith or contains';
  if (name.startsWith('get')) return CLOCK_HINT;
  if (name === 'dyn' || name === 'type') return 'facts have a type already; compare them directly';
  if (name === 'int' || name === 'double') return 'numbers compare with each other as they are';
  if (name === 'any' || name === 'some') return 'use exists(line, …)';
  if (name === 'count' || name === 'length') return 'use size()';
  if (name === 'date') return TIMESTAMP_HINT;
  if (name === 'weeks' || name === 'months') return DURATION_HINT;
  if (name === 'sum' || name === 'max' || name === 'min') return 'use exists(line, …) or all(…)';
  return undefined;
}

/** State of a walk over the syntax tree: the findings so far, and the resolvers of paths. */
interface Walk {
  readonly problems: CelProblem[];
  readonly reads: Read[];
  readonly meetings: (readonly [Side, Side])[];
  readonly lookups: Lookup[];
  readonly textTests: TextTest[];
  readonly amountOwners: Set<CurrencyOwner>;
  readonly extra: SetTypes['extra'];
  readonly resolver: Resolver;
  /** Resolves paths without reporting problems, for paths that are reported elsewhere. */
  readonly quiet: Resolver;
}

const NO_SCOPE: Scope = new Map();

interface Place {
  readonly scope: Scope;
  /** Number of loops around the node. */
  readonly loops: number;
}

function at(node: ASTNode): { readonly start: number; readonly end: number } {
  return { start: node.start, end: node.end };
}

export function lintExpression(root: ASTNode, types: SetTypes, scope: Scope): LintResult {
  const problems: CelProblem[] = [];
  const walk: Walk = {
    problems,
    reads: [],
    meetings: [],
    lookups: [],
    textTests: [],
    amountOwners: new Set(),
    extra: types.extra,
    resolver: createResolver(types, (problem) => problems.push(problem)),
    quiet: createResolver(types, () => undefined),
  };
  visit(walk, root, { scope, loops: 0 });
  return walk;
}

function visit(walk: Walk, node: ASTNode, place: Place): void {
  if (node.op === 'id' || node.op === '.' || node.op === '[]') visitPath(walk, node, place);
  else if (node.op === 'rcall') visitMethod(walk, node.args, node, place);
  else visitPlain(walk, node, place);
}

function visitPlain(walk: Walk, node: ASTNode, place: Place): void {
  if (node.op === 'call') {
    visitCall(walk, node.args, node);
    noteTextTest(walk, node.args, node, place.scope);
  }
  if (node.op === 'value') visitLiteral(walk, node);
  const children = childrenOf(node);
  const [left, right] = children;
  if (BINARY.has(node.op) && left && right) visitBinary(walk, node, [left, right], place.scope);
  for (const child of children) visit(walk, child, place);
}

function visitLiteral(walk: Walk, node: ASTNode): void {
  if (node.args === null) {
    const hint = 'write has(order.season), or !has(order.season) for "not known"';
    walk.problems.push({ ...at(node), message: 'there is no null in a rule', hint });
  }
  const text = node.input.slice(node.start, node.end);
  if (/^\d{1,3}\.000$/.test(text)) {
    const short = text.slice(0, text.indexOf('.'));
    const hint = `write ${text.replace('.', '')} without a thousands separator, or ${short}`;
    walk.problems.push({ ...at(node), message: `${text} means ${short}`, hint });
  }
}

function visitPath(walk: Walk, node: ASTNode, place: Place): void {
  const shape = walk.resolver.shapeOf(node, place.scope);
  if ('path' in shape) walk.reads.push({ path: shape.path, end: node.end });
  const owner = fieldOwner(shape);
  if (owner) walk.amountOwners.add(owner);
  let inner = node;
  while (inner.op === '.' || inner.op === '[]') {
    const key = inner.op === '[]' ? inner.args[1] : undefined;
    if (key) visit(walk, key, place);
    inner = inner.args[0];
    const base = walk.quiet.shapeOf(inner, place.scope);
    if ('path' in base) walk.reads.push({ path: base.path, end: inner.end });
    if (key) noteLookup(walk, key, base, place.scope);
  }
  if (inner.op !== 'id') visit(walk, inner, place);
}

function refuse(walk: Walk, node: ASTNode, name: string, known: ReadonlySet<string>): void {
  const nearest = nearestName(name, known);
  const all = `known: ${[...known].join(', ')}`;
  const what = LOOPS.has(name) ? `delivery.lines.${name}(line, …)` : `order.comment.${name}(…)`;
  const behind = METHODS.has(name) && `write it behind the fact: ${what}`;
  const hint = behind || (nearest === undefined ? all : undefined);
  walk.problems.push({
    ...at(node),
    message: `${name}() cannot be used in a rule`,
    hint: forbiddenHint(name) ?? hint ?? `did you mean: ${nearest}?`,
  });
}

type CallArgs = (ASTNode & { op: 'call' })['args'];
type MethodArgs = (ASTNode & { op: 'rcall' })['args'];

function noteTextTest(walk: Walk, [name, [path]]: CallArgs, node: ASTNode, scope: Scope): void {
  if (name !== 'has' || path === undefined) return;
  const shape = walk.quiet.shapeOf(path, scope);
  const extra = shape.kind === 'item' ? walk.extra[shape.path.split('.').at(-1) ?? ''] : undefined;
  if (extra !== 'string' && !(shape.kind === 'field' && shape.field.type === 'string')) return;
  const start = node.start;
  walk.textTests.push({ start, end: start + sourceOf(node).length, path: sourceOf(path) });
}

function visitCall(walk: Walk, [name, args]: CallArgs, node: ASTNode): void {
  if (!FUNCTIONS.has(name)) refuse(walk, node, name, FUNCTIONS);
  const message = literalProblem(name, args[0]);
  if (message === undefined) return;
  const hint = name === 'timestamp' ? TIMESTAMP_HINT : DURATION_HINT;
  walk.problems.push({ ...at(args[0] ?? node), message, hint });
}

function visitMethod(walk: Walk, call: MethodArgs, node: ASTNode, place: Place): void {
  const [name, receiver, args] = call;
  if (!METHODS.has(name)) refuse(walk, node, name, METHODS);
  visit(walk, receiver, place);
  if (!LOOPS.has(name)) {
    for (const argument of args) visit(walk, argument, place);
    return;
  }
  if (place.loops > 0) {
    const hint = 'one loop over delivery.lines is the limit; ask for a fact instead';
    walk.problems.push({ ...at(node), message: `${name}() inside another loop`, hint });
    return;
  }
  const [variable, ...bodies] = args;
  if (variable?.op !== 'id') {
    const hint = `write ${name}(line, …)`;
    walk.problems.push({ ...at(node), message: `${name}() needs a name for the item`, hint });
    return;
  }
  if (walk.quiet.shapeOf(variable, NO_SCOPE).kind !== 'other') {
    const hint = `write ${name}(line, …)`;
    const message = `"${variable.args}" is a fact; the item of a loop needs its own name`;
    walk.problems.push({ ...at(variable), message, hint });
    return;
  }
  const tooMuch = bodies[name === 'map' ? 2 : 1];
  if (bodies.length === 0 || tooMuch) {
    const hint = (tooMuch && syntaxHint(node.input, tooMuch.start)) ?? `write ${name}(line, …)`;
    const message = `${name}() takes a name and one condition`;
    walk.problems.push({ ...at(tooMuch ?? node), message, hint });
    return;
  }
  const shape = itemShape(walk.quiet.shapeOf(receiver, place.scope));
  const scope = new Map([...place.scope, [variable.args, shape] as const]);
  for (const body of bodies) visit(walk, body, { scope, loops: place.loops + 1 });
}

function visitBinary(
  walk: Walk,
  node: ASTNode,
  [left, right]: readonly [ASTNode, ASTNode],
  scope: Scope,
): void {
  if (ARITHMETIC.has(node.op) && isLiteral(left) && isLiteral(right)) {
    const date = /^(\d{4})-(\d{1,2})-(\d{1,2})\b/.exec(node.input.slice(node.start));
    const [, year = '', month = '', day = ''] = date ?? [];
    const message = 'write the result instead of a calculation';
    walk.problems.push({
      ...at(node),
      message,
      hint: date ? timestampHint(year, month, day) : undefined,
    });
  }
  if (!ARITHMETIC.has(node.op)) {
    checkLiteral(walk, left, right, scope);
    checkLiteral(walk, right, left, scope);
  }
  if (node.op === 'in') {
    checkIn(walk, right, scope);
    noteLookup(walk, left, walk.quiet.shapeOf(right, scope), scope);
  }
  if (node.op === 'in' || node.op === '*') return;
  const shapeOf = (inner: ASTNode): Shape => walk.quiet.shapeOf(inner, scope);
  const side = (inner: ASTNode): Side => ({ node: inner, owner: amountOwner(inner, shapeOf) });
  walk.meetings.push([side(left), side(right)]);
}

const CODES = {
  country: { form: /^[A-Z]{2}$/, hint: 'a country is two capital letters such as "DK"' },
  currency: { form: /^[A-Z]{3}$/, hint: 'a currency is three capital letters such as "DKK"' },
} as const;

/** Says why a text can never be the value of a fact; undefined if it may be. */
export function impossible(field: FieldSpec, path: string, text: string): ProblemText | undefined {
  const never = `"${text}" is never a value of ${path}`;
  if (field.values && !field.values.includes(text)) {
    return { message: `${never}; possible: ${field.values.join(', ')}` };
  }
  const code = field.code && CODES[field.code];
  return !code || code.form.test(text) ? undefined : { message: never, hint: code.hint };
}

/** Reports a code that has the right form but belongs to no country or currency. */
function unknown({ code }: FieldSpec, path: string, text: string): ProblemText | undefined {
  const hint = code && unknownCode(code, text);
  return hint === undefined ? undefined : { message: `"${text}" is no ${code} of ${path}`, hint };
}

function noteLookup(walk: Walk, fact: ASTNode, data: Shape, scope: Scope): void {
  const shape = walk.quiet.shapeOf(fact, scope);
  const isData = data.kind === 'list' || data.kind === 'table' || data.kind === 'cell';
  if (shape.kind !== 'field' || !isData) return;
  const { field, path } = shape;
  walk.lookups.push({
    data: data.kind === 'cell' ? `${data.path}[]` : data.path,
    path,
    never: (text) => impossible(field, path, text) ?? unknown(field, path, text),
  });
}

function checkLiteral(walk: Walk, path: ASTNode, other: ASTNode, scope: Scope): void {
  if (path.op !== '.') return;
  const shape = walk.quiet.shapeOf(path, scope);
  if (shape.kind !== 'field') return;
  for (const literal of other.op === 'list' ? other.args : [other]) {
    const text = textOf(literal);
    const problem = text === undefined ? undefined : impossible(shape.field, shape.path, text);
    if (problem) walk.problems.push({ ...at(literal), ...problem });
  }
}

/**
 * Refuses `in` with a text on its right side, such as `"D" in "DK"`: it would search within the
 * text.
 */
function checkIn(walk: Walk, right: ASTNode, scope: Scope): void {
  const shape = right.op === '.' ? walk.quiet.shapeOf(right, scope) : undefined;
  const isText = shape?.kind === 'field' && shape.field.type !== 'strings';
  if (textOf(right) === undefined && !isText) return;
  const hint = 'write == for one value, or in ["DK", "SE"] for several';
  walk.problems.push({ ...at(right), message: 'in needs a list on its right side', hint });
}
