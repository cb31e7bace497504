/**
 * Collects the values behind a condition, which answer "why was it held?". Each operand of a
 * comparison is compiled as a program of its own. For a loop over lines, the lines that decided it
 * are found: for `all` those that fail, for other loops those that match.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import type { Json } from '../../lib/json.ts';
import { type CelContext, celLineValue, type Frame, withVariable } from '../facts/build.ts';
import type { LineFacts } from '../facts/plain.ts';
import { fieldsOf } from '../facts/table.ts';
import { type Code, NotKnown, type Run, readable, resultOf } from './code.ts';
import { celTypeOf } from './environment.ts';
import { LOOPS } from './lint.ts';
import { compileExpression, type Language, type Program, type Shown } from './program.ts';
import { createResolver } from './shape.ts';
import { childrenOf, isLiteral, sourceOf } from './tree.ts';

/** Maximum of lines shown for a loop that they decided. */
const LOOP_ITEMS_MAX = 3;

export type Operand =
  | { readonly text: string; readonly value: Json }
  | { readonly text: string; readonly missing: string }
  | {
      readonly text: string;
      /** Whether `items` are the lines that fail (for `all`) or match (for other loops). */
      readonly which: 'fail' | 'match';
      readonly of: number;
      readonly count: number;
      readonly unknown: number;
      readonly items: readonly Json[];
    };

export interface OperandProgram {
  readonly run: (frame: Frame) => Operand;
  /**
   * Whether another value of the operand makes a new decision although the outcome is the same.
   * Ages, the clock and the sums of a day do not: they change all the time. Neither do lists of the
   * settings: an edit of one counts only if it changes the outcome.
   */
  readonly decides: boolean;
}

const BY_TIME = /^(?:clock|today)\b|(?:^|[._])age$|_today$/;

function decidesBy(reads: readonly string[]): boolean {
  const ofLists = reads.length > 0 && reads.every((path) => /^lists\b/.test(path));
  return !ofLists && !reads.some((path) => BY_TIME.test(path));
}

const CONNECTIVES: ReadonlySet<string> = new Set(['&&', '||', '!_', '?:']);
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);

/** Text for a list of records: its length, because the whole list would fill the journal. */
function countText(value: unknown, record: string): string {
  const count = Array.isArray(value) ? value.length : 0;
  return `${count} ${record}${count === 1 ? '' : 's'}`;
}

/** Source text of a node, on one line. */
function textFor(node: ASTNode): string {
  return sourceOf(node).replaceAll(/\s*\n\s*/g, ' ');
}

function valueOperand(node: ASTNode, language: Language): OperandProgram | undefined {
  const text = textFor(node);
  const compiled = compileExpression(sourceOf(node), language, 'any');
  if (!('program' in compiled)) return undefined;
  const { program } = compiled;
  const shape = createResolver(language.types, () => undefined).shapeOf(node, new Map());
  const told = (shown: Shown): Operand =>
    shown instanceof NotKnown ? { text, missing: shown.missing } : { text, value: shown.value };
  const decides = decidesBy(program.reads);
  if (shape.kind !== 'records') return { run: (frame) => told(program.show(frame)), decides };
  const { record } = shape;
  const run = (frame: Frame): Operand => {
    const list = program.code?.kind === 'lines' ? resultOf(program.code.run, frame) : undefined;
    if (Array.isArray(list)) return told({ value: countText(list, record) });
    const result = program.run(frame.typed);
    return told(result instanceof NotKnown ? result : { value: countText(result.value, record) });
  };
  return { run, decides };
}

/** A line as people know it: its barcode and the fields that the condition reads. */
function itemView(item: unknown, fields: readonly string[]): Json {
  if (typeof item !== 'object' || item === null) return readable(item);
  const members = new Map(Object.entries(item));
  const names = fields.filter((field) => members.has(field));
  return Object.fromEntries(names.map((name) => [name, readable(members.get(name))]));
}

type LinesRun = Extract<Code, { readonly kind: 'lines' }>['run'];

/** Loop over the lines, with its list and its condition as programs of their own. */
export interface Loop {
  readonly node: ASTNode;
  readonly text: string;
  /** Whether the lines that decide it are those that fail (for `all`) or match. */
  readonly which: 'fail' | 'match';
  readonly variable: string;
  readonly list: Program;
  readonly body: Program;
  readonly fields: readonly string[];
}

/** Runs the loop by the expression library. */
function runTyped(loop: Loop, context: CelContext): Operand {
  const { text, which, variable, list, body, fields } = loop;
  const result = list.run(context);
  if (result instanceof NotKnown) return { text, missing: result.missing };
  const items: readonly unknown[] = Array.isArray(result.value) ? result.value : [];
  let unknown = 0;
  const decisive = items.filter((item) => {
    const value = body.run(withVariable(context, variable, item));
    if (value instanceof NotKnown) unknown += 1;
    return !(value instanceof NotKnown) && value.value === (which === 'match');
  });
  const shown = decisive.slice(0, LOOP_ITEMS_MAX).map((item) => itemView(item, fields));
  return { text, which, of: items.length, count: decisive.length, unknown, items: shown };
}

/** A line with the fields that the condition reads, as the library would show them. */
function lineView(line: LineFacts, fields: readonly string[], { view }: Frame): Json {
  const known = fields.flatMap((name) => {
    const value = celLineValue(line, name, view);
    return value === undefined ? [] : [[name, readable(value)] as const];
  });
  return Object.fromEntries(known);
}

/** Runs the loop by compiled code; its condition takes its value from the same pass. */
function runLines({ node, text, which, fields }: Loop, lines: LinesRun, test: Run<boolean>) {
  const wanted = which === 'match';
  return (frame: Frame): Operand => {
    const items = lines(frame);
    if (items instanceof NotKnown) return { text, missing: items.missing };
    let [count, unknown]: [number, number] = [0, 0];
    let unclear: LineFacts | undefined;
    const shown: Json[] = [];
    for (const item of items) {
      frame.item = item;
      const value = test(frame);
      if (value === wanted) {
        count += 1;
        if (shown.length < LOOP_ITEMS_MAX) shown.push(lineView(item, fields, frame));
      } else if (typeof value !== 'boolean') {
        unknown += 1;
        unclear ??= item;
      }
    }
    frame.passes = [...frame.passes, { loop: node, count, unclear }];
    return { text, which, of: items.length, count, unknown, items: shown };
  };
}

function loopRun(loop: Loop): OperandProgram['run'] {
  const { list, body } = loop;
  const byLibrary = (frame: Frame): Operand => runTyped(loop, frame.typed);
  if (list.code?.kind !== 'lines' || body.code?.kind !== 'bool') return byLibrary;
  const run = runLines(loop, list.code.run, body.code.run);
  return (frame) => resultOf(run, frame) ?? byLibrary(frame);
}

export function loopOf(node: ASTNode, language: Language): Loop | undefined {
  if (node.op !== 'rcall' || !LOOPS.has(node.args[0])) return undefined;
  const [name, receiver, [variable, bodyNode]] = node.args;
  const shape = createResolver(language.types, () => undefined).shapeOf(receiver, new Map());
  if (shape.kind !== 'records' || variable?.op !== 'id' || !bodyNode) return undefined;
  // A word of the library, such as `list`, may be a loop's variable but not a variable of a
  // program.
  if (language.env.hasVariable(variable.args)) return undefined;
  const env = language.env.clone().registerVariable(variable.args, celTypeOf(shape.record));
  const list = compileExpression(sourceOf(receiver), language, 'any');
  // The body was checked together with its loop, so it compiles on its own with the loop's
  // variable.
  const scope = new Map([[variable.args, { ...shape, kind: 'record' as const }]]);
  const body = compileExpression(sourceOf(bodyNode), { ...language, env, scope }, 'any');
  if (!('program' in list) || !('program' in body)) return undefined;
  const read = new Set(body.program.reads.map((path) => path.slice(shape.path.length + 1)));
  const known = Object.keys(fieldsOf(shape.record));
  return {
    node,
    text: textFor(receiver),
    which: name === 'all' ? 'fail' : 'match',
    variable: variable.args,
    list: list.program,
    body: body.program,
    fields: known.filter((field) => field === 'barcode' || read.has(field)),
  };
}

function loopOperand(node: ASTNode, language: Language): OperandProgram | undefined {
  const loop = loopOf(node, language);
  if (!loop) return undefined;
  const decides = decidesBy([...loop.list.reads, ...loop.body.reads]);
  return { run: loopRun(loop), decides };
}

function operandNodes(node: ASTNode): readonly ASTNode[] {
  if (isLiteral(node) || (node.op === 'call' && node.args[1].every(isLiteral))) return [];
  if (CONNECTIVES.has(node.op)) return childrenOf(node).flatMap(operandNodes);
  if (COMPARISONS.has(node.op)) return childrenOf(node).flatMap(operandNodes);
  if (node.op === 'rcall' && !LOOPS.has(node.args[0]))
    return childrenOf(node).flatMap(operandNodes);
  return [node];
}

/** Compiles each operand of the condition as a program, in the order of the text. */
export function operandsOf(program: Program, language: Language): readonly OperandProgram[] {
  const seen = new Set<string>();
  const programs: OperandProgram[] = [];
  for (const node of operandNodes(program.ast)) {
    const text = textFor(node);
    if (seen.has(text)) continue;
    seen.add(text);
    const made = loopOperand(node, language) ?? valueOperand(node, language);
    if (made) programs.push(made);
  }
  return programs;
}
