/**
 * Compiles the syntax tree of a checked condition to functions of plain facts (code.ts). Errors are
 * those of the expression library, in its order: the left side of a comparison is read first, of
 * two sides of `&&` the right one says what is missing. A node that is rare in rules gives no code;
 * then the library evaluates the whole condition.
 */
import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { Duration } from '@marcbachmann/cel-js/evaluator';
import type { Frame } from '../facts/build.ts';
import { ROOT_NAMES } from '../facts/table.ts';
import { type Code, leave, NotKnown, PLACES, type Run, unitsOfDecimal } from './code.ts';
import { Decimal, parseDecimal } from './decimal.ts';
import type { SetTypes } from './environment.ts';
import type { Read } from './lint.ts';
import {
  type Base,
  compareCode,
  creditBase,
  extraCode,
  fieldCode,
  LINE_BASE,
  LINES_CODE,
  negativeCode,
  rootBase,
  sumCode,
} from './reads.ts';
import { createResolver, type Scope } from './shape.ts';
import { isLiteral, sourceOf } from './tree.ts';

/** Knowledge of a compilation about the expression. */
export interface Compiling {
  readonly env: Environment;
  readonly types: SetTypes;
  readonly reads: readonly Read[];
  /** Shapes of the variables of loops. */
  readonly scope: Scope;
}

type NodeOf<Op extends ASTNode['op']> = Extract<ASTNode, { readonly op: Op }>;
type Truths = readonly [Run<boolean>, Run<boolean>];

/** Path that the library's error names, when the value of this node is absent. */
function pathOf({ end }: ASTNode, { reads }: Compiling): string | undefined {
  return reads.find((read) => read.end === end)?.path;
}

function baseOf(node: ASTNode, compiling: Compiling): Base | undefined {
  if (node.op === 'id') {
    const bound = compiling.scope.get(node.args);
    if (bound) return bound.kind === 'record' && bound.record === 'line' ? LINE_BASE : undefined;
    const root = ROOT_NAMES.find((name) => name === node.args);
    return root && rootBase(root);
  }
  const path = pathOf(node, compiling);
  return node.op === '.' && path === 'customer.credit' ? creditBase(path) : undefined;
}

function memberCode(node: NodeOf<'.'>, compiling: Compiling): Code | undefined {
  const { types, scope } = compiling;
  const shape = createResolver(types, () => undefined).shapeOf(node, scope);
  const [inner, name] = node.args;
  const path = pathOf(node, compiling);
  if (path === undefined) return undefined;
  if (shape.kind === 'records') return shape.path === 'delivery.lines' ? LINES_CODE : undefined;
  if (shape.kind === 'list') {
    if (types.lists[name] !== 'string') return undefined;
    return { kind: 'texts', run: ({ lists }) => textsIn(lists, name) };
  }
  if (shape.kind === 'item' && path.startsWith('customer.extra.')) {
    const extra = pathOf(inner, compiling);
    return extra === undefined ? undefined : extraCode(name, types.extra, { whole: path, extra });
  }
  if (shape.kind !== 'field') return undefined;
  const base = baseOf(inner, compiling);
  return base && fieldCode(base, name, shape.field, path);
}

function textsIn(lists: Frame['lists'], name: string): readonly unknown[] {
  const list = lists[name];
  return Array.isArray(list) ? list : leave();
}

function idCode(node: NodeOf<'id'>, { scope }: Compiling): Code | undefined {
  const bound = scope.get(node.args);
  if (bound?.kind !== 'item') return undefined;
  return { kind: 'text', run: ({ item }) => (typeof item === 'string' ? item : leave()) };
}

/** Value of an expression of literals alone, by the library. */
function constantCode(node: ASTNode, { env }: Compiling): Code | undefined {
  const value: unknown = node.op === 'value' ? node.args : env.parse(sourceOf(node))({});
  if (typeof value === 'boolean') return { kind: 'bool', run: () => value };
  if (typeof value === 'string') return { kind: 'text', run: () => value };
  if (typeof value === 'bigint' || typeof value === 'number') return numberCode(value);
  const ms = value instanceof Duration || value instanceof Date ? value.valueOf() : Number.NaN;
  if (!Number.isSafeInteger(ms)) return undefined;
  return { kind: value instanceof Date ? 'time' : 'duration', run: () => ms };
}

function numberCode(value: bigint | number): Code | undefined {
  const decimal = parseDecimal(String(value));
  if (decimal === undefined || decimal.places > PLACES) return undefined;
  const literal = Number(decimal.units);
  if (!Number.isSafeInteger(literal)) return undefined;
  const type = typeof value === 'bigint' ? 'int' : 'double';
  return { kind: 'number', type, places: decimal.places, literal, run: () => literal };
}

function isConstant(node: ASTNode): boolean {
  if (node.op === 'call') return node.args[0] !== 'has' && node.args[1].every(isConstant);
  return node.op !== 'list' && isLiteral(node);
}

/** Row of a table; the keys before the last one are looked up in the maps of the rows. */
function rowRun(node: ASTNode, compiling: Compiling): Run | undefined {
  if (node.op === '.') {
    const [inner, name] = node.args;
    const isTable = inner.op === 'id' && inner.args === 'tables' && !compiling.scope.has('tables');
    return isTable ? ({ tables }) => tables[name] ?? leave() : undefined;
  }
  if (node.op !== '[]') return undefined;
  const outer = rowRun(node.args[0], compiling);
  const key = codeOf(node.args[1], compiling);
  if (!outer || key?.kind !== 'text') return undefined;
  const table = compiling.reads.find(({ path }) => path.startsWith('tables.'))?.path;
  return (frame) => {
    const rows = outer(frame);
    if (rows instanceof NotKnown) return rows;
    const text = key.run(frame);
    if (text instanceof NotKnown) return text;
    const value: unknown = rows instanceof Map ? rows.get(text) : leave();
    return value ?? new NotKnown(`${table ?? 'the table'} has no row "${text}"`);
  };
}

function cellCode(node: NodeOf<'[]'>, compiling: Compiling): Code | undefined {
  const run = rowRun(node, compiling);
  if (!run) return undefined;
  const type = 'checkedType' in node ? String(node.checkedType) : '';
  const typed =
    <T>(as: (value: unknown) => T): Run<T> =>
    (frame) => {
      const value = run(frame);
      return value instanceof NotKnown ? value : as(value);
    };
  if (type === 'Decimal') {
    const asUnits = (value: unknown) =>
      value instanceof Decimal ? unitsOfDecimal(value) : leave();
    return { kind: 'number', type: 'decimal', places: PLACES, run: typed(asUnits) };
  }
  if (type === 'string') {
    return { kind: 'text', run: typed((value) => (typeof value === 'string' ? value : leave())) };
  }
  if (type !== 'bool') return undefined;
  return { kind: 'bool', run: typed((value) => (typeof value === 'boolean' ? value : leave())) };
}

/** `has(…)`: an empty text counts as absent. */
function hasCode(path: ASTNode | undefined, compiling: Compiling): Code | undefined {
  if (path?.op !== '.') return undefined;
  const { types, scope } = compiling;
  const shape = createResolver(types, () => undefined).shapeOf(path, scope);
  if (shape.kind === 'record' && shape.path === 'customer.credit') {
    const { run } = creditBase(shape.path);
    return { kind: 'bool', run: (frame) => !(run(frame) instanceof NotKnown) };
  }
  if (shape.kind !== 'field' && shape.kind !== 'item') return undefined;
  const code = memberCode(path, compiling);
  if (!code) return undefined;
  const own = pathOf(path, compiling);
  const isText = code.kind === 'text' && !(shape.kind === 'field' && shape.field.type === 'enum');
  const run = (frame: Frame): boolean | NotKnown => {
    const value: unknown = code.run(frame);
    if (!(value instanceof NotKnown)) return !isText || value !== '';
    if (value.missing === own) return false;
    // The record around the fact is absent: whether the fact is there is not known.
    return isText ? leave() : value;
  };
  return { kind: 'bool', run };
}

function sizeCode(of: ASTNode | undefined, compiling: Compiling): Code | undefined {
  const list = of && codeOf(of, compiling);
  if (list?.kind !== 'lines' && list?.kind !== 'texts') return undefined;
  const { run: listRun } = list;
  const run: Run<number> = (frame) => {
    const items = listRun(frame);
    return items instanceof NotKnown ? items : items.length;
  };
  return { kind: 'number', type: 'int', places: 0, run };
}

function callCode(node: NodeOf<'call'>, compiling: Compiling): Code | undefined {
  const [name, [argument]] = node.args;
  if (name === 'has') return hasCode(argument, compiling);
  if (name === 'size') return sizeCode(argument, compiling);
  const text = name === 'lower' && argument ? codeOf(argument, compiling) : undefined;
  if (text?.kind !== 'text') return undefined;
  const { run: textRun } = text;
  const run: Run<string> = (frame) => {
    const value = textRun(frame);
    return typeof value === 'string' ? value.toLowerCase() : value;
  };
  return { kind: 'text', run };
}

const PARTS = {
  startsWith: (text: string, part: string) => text.startsWith(part),
  endsWith: (text: string, part: string) => text.endsWith(part),
  contains: (text: string, part: string) => text.includes(part),
};

function isPart(name: string): name is keyof typeof PARTS {
  return Object.hasOwn(PARTS, name);
}

/** A question about a part of a text; the part is read before the text. */
function partCode(
  test: (text: string, part: string) => boolean,
  whole: Code | undefined,
  part: Code | undefined,
): Code | undefined {
  if (whole?.kind !== 'text' || part?.kind !== 'text') return undefined;
  const run: Run<boolean> = (frame) => {
    const given = part.run(frame);
    if (typeof given !== 'string') return given;
    const text = whole.run(frame);
    return typeof text === 'string' ? test(text, given) : text;
  };
  return { kind: 'bool', run };
}

function methodCode(node: NodeOf<'rcall'>, compiling: Compiling): Code | undefined {
  const [name, receiver, args] = node.args;
  if (name === 'size') return sizeCode(receiver, compiling);
  if (isPart(name)) {
    const part = args[0] && codeOf(args[0], compiling);
    return partCode(PARTS[name], codeOf(receiver, compiling), part);
  }
  const list = codeOf(receiver, compiling);
  const [variable, body] = args;
  if (list?.kind !== 'lines' && list?.kind !== 'texts') return undefined;
  if (variable?.op !== 'id' || !body || args.length !== 2) return undefined;
  const item =
    list.kind === 'lines'
      ? { kind: 'record' as const, record: 'line' as const, path: 'delivery.lines' }
      : { kind: 'item' as const, path: pathOf(receiver, compiling) ?? 'lists.' };
  const scope = new Map([...compiling.scope, [variable.args, item] as const]);
  const test = codeOf(body, { ...compiling, scope });
  if (test?.kind !== 'bool') return undefined;
  if (name === 'all' || name === 'exists') return quantifierCode(node, list, test.run);
  return name === 'filter' && list.kind === 'lines' ? filterCode(list.run, test.run) : undefined;
}

type ListCode = Extract<Code, { readonly kind: 'lines' | 'texts' }>;

function eachItem(frame: Frame, item: unknown): void {
  frame.item = typeof item === 'string' || isLine(item) ? item : leave();
}

function isLine(item: unknown): item is Exclude<Frame['item'], string | undefined> {
  return typeof item === 'object' && item !== null;
}

/** `all` and `exists`: an item that decides counts, whatever is not known of others. */
function quantifierCode(loop: ASTNode, list: ListCode, test: Run<boolean>): Code {
  const decisive = loop.op === 'rcall' && loop.args[0] === 'exists';
  const { run: listRun } = list;
  const run: Run<boolean> = (frame) => {
    for (const pass of frame.passes) {
      if (pass.loop !== loop) continue;
      if (pass.count > 0) return decisive;
      if (pass.unclear === undefined) return !decisive;
      frame.item = pass.unclear;
      return test(frame);
    }
    const items = listRun(frame);
    if (items instanceof NotKnown) return items;
    let unclear: NotKnown | undefined;
    for (const item of items) {
      eachItem(frame, item);
      const value = test(frame);
      if (value === decisive) return decisive;
      if (typeof value !== 'boolean') unclear ??= value;
    }
    return unclear ?? !decisive;
  };
  return { kind: 'bool', run };
}

function filterCode(
  list: Extract<Code, { readonly kind: 'lines' }>['run'],
  test: Run<boolean>,
): Code {
  return {
    kind: 'lines',
    run: (frame) => {
      const items = list(frame);
      if (items instanceof NotKnown) return items;
      const found: (typeof items)[number][] = [];
      for (const item of items) {
        eachItem(frame, item);
        const value = test(frame);
        if (typeof value !== 'boolean') return value;
        if (value) found.push(item);
      }
      return found;
    },
  };
}

/** A side that decides counts; of two that do not, the right one says what is not known. */
function logicCode(decisive: boolean, [left, right]: Truths): Code {
  const run: Run<boolean> = (frame) => {
    const first = left(frame);
    if (first === decisive) return decisive;
    const second = right(frame);
    return second === !decisive ? first : second;
  };
  return { kind: 'bool', run };
}

function notCode(of: Code | undefined): Code | undefined {
  if (of?.kind !== 'bool') return undefined;
  const { run: inner } = of;
  const run: Run<boolean> = (frame) => {
    const value = inner(frame);
    return typeof value === 'boolean' ? !value : value;
  };
  return { kind: 'bool', run };
}

/** Longest list that is searched from its beginning. */
const SEARCHED_MAX = 8;

/** Whether a value is in a list; a list of the settings is the same one for many deliveries. */
function memberTest(): (items: readonly unknown[], value: unknown) => boolean {
  let [last, values]: [readonly unknown[], ReadonlySet<unknown>] = [[], new Set()];
  return (items, value) => {
    if (items.length <= SEARCHED_MAX) return items.includes(value);
    if (items !== last) [last, values] = [items, new Set(items)];
    return values.has(value);
  };
}

/** Texts, or whole numbers, of a list of literals; undefined: it has others. */
function literalsOf(list: ASTNode, kind: 'text' | 'number'): readonly unknown[] | undefined {
  if (list.op !== 'list') return undefined;
  const type = kind === 'text' ? 'string' : 'bigint';
  const values = list.args.map((one) => (one.op === 'value' ? one.args : undefined));
  if (values.length === 0 || values.some((value) => typeof value !== type)) return undefined;
  return kind === 'text' ? values : values.map(Number);
}

function inCode(
  [left, right]: readonly [ASTNode, ASTNode],
  compiling: Compiling,
): Code | undefined {
  const of = codeOf(left, compiling);
  if (of?.kind !== 'text' && !(of?.kind === 'number' && of.type === 'int')) return undefined;
  const literals = literalsOf(right, of.kind);
  const listed = literals ? undefined : codeOf(right, compiling);
  const isListed = of.kind === 'text' && listed?.kind === 'texts';
  const rows = of.kind === 'text' && right.op === '.' ? rowRun(right, compiling) : undefined;
  if (!literals && !isListed && !rows) return undefined;
  const has = memberTest();
  const listRun: Run = isListed ? listed.run : (rows ?? (() => literals));
  const run: Run<boolean> = (frame) => {
    const value: unknown = of.run(frame);
    if (value instanceof NotKnown) return value;
    const among = listRun(frame);
    if (among instanceof NotKnown) return among;
    if (among instanceof Map) return among.get(value) !== undefined;
    return Array.isArray(among) ? has(among, value) : leave();
  };
  return { kind: 'bool', run };
}

function choiceCode(
  [condition, left, right]: NodeOf<'?:'>['args'],
  compiling: Compiling,
): Code | undefined {
  const test = codeOf(condition, compiling);
  const [yes, no] = [codeOf(left, compiling), codeOf(right, compiling)];
  if (test?.kind !== 'bool' || yes?.kind !== 'bool' || no?.kind !== 'bool') return undefined;
  const run: Run<boolean> = (frame) => {
    const value = test.run(frame);
    if (typeof value !== 'boolean') return value;
    return value ? yes.run(frame) : no.run(frame);
  };
  return { kind: 'bool', run };
}

function binaryCode(node: ASTNode, compiling: Compiling): Code | undefined {
  if (node.op === 'list' || !Array.isArray(node.args)) return undefined;
  const [leftNode, rightNode]: readonly unknown[] = node.args;
  if (!isNode(leftNode) || !isNode(rightNode)) return undefined;
  if (node.op === 'in') return inCode([leftNode, rightNode], compiling);
  const left = codeOf(leftNode, compiling);
  const right = left && codeOf(rightNode, compiling);
  if (!left || !right) return undefined;
  if (node.op === '&&' || node.op === '||') {
    if (left.kind !== 'bool' || right.kind !== 'bool') return undefined;
    return logicCode(node.op === '||', [left.run, right.run]);
  }
  return compareCode(node.op, left, right) ?? sumCode(node.op, left, right);
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value;
}

/** Compiles a node; undefined: the library evaluates the whole expression. */
export function codeOf(node: ASTNode, compiling: Compiling): Code | undefined {
  if (isConstant(node)) return constantCode(node, compiling);
  switch (node.op) {
    case 'id':
      return idCode(node, compiling);
    case '.':
      return memberCode(node, compiling);
    case '[]':
      return cellCode(node, compiling);
    case 'call':
      return callCode(node, compiling);
    case 'rcall':
      return methodCode(node, compiling);
    case '!_':
      return notCode(codeOf(node.args, compiling));
    case '-_':
      return negativeCode(codeOf(node.args, compiling));
    case '?:':
      return choiceCode(node.args, compiling);
    default:
      return binaryCode(node, compiling);
  }
}
