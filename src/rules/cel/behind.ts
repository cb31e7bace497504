/** Finds the lines of a delivery that made a rule match, for the rule's message. */
import type { ASTNode } from '@marcbachmann/cel-js';
import { type Frame, withVariable } from '../facts/build.ts';
import { NotKnown, resultOf } from './code.ts';
import { type Loop, loopOf } from './operands.ts';
import type { Language, Program } from './program.ts';
import { childrenOf } from './tree.ts';

/** Maximum of lines that a message names. */
const NAMED_MAX = 3;

/** Lines that a condition is about. */
interface LinesBehind {
  readonly count: number;
  /** Lines among which they were found. */
  readonly of: number;
  /**
   * The first of them in words, with how many pieces are missing where a condition asks for that:
   * `Odin Jacket, Washed Navy, M (2 of 5 missing); Lund Shirt, White, L and 4 more`.
   */
  readonly words: string;
}

/** Gives the lines behind a match; undefined: no line stands out. */
export type FindLines = (frame: Frame) => LinesBehind | undefined;

interface Sought {
  readonly loop: Loop;
  /** Value of the loop's condition for the lines that are sought. */
  readonly wanted: boolean;
}

/** Loops that decide about single lines, where the condition has this value. */
function soughtIn(node: ASTNode, value: boolean, language: Language): readonly Sought[] {
  if (node.op === '!_') return soughtIn(node.args, !value, language);
  if (node.op === '==' || node.op === '!=') {
    const [left, right] = node.args;
    const truth = right.op === 'value' ? right.args : undefined;
    const isEqual = value === (node.op === '==');
    if (typeof truth === 'boolean') return soughtIn(left, isEqual === truth, language);
  }
  const name = node.op === 'rcall' ? node.args[0] : undefined;
  // Where `all` is true or `exists` is false, no line stands out.
  const isAsked = value && (name === 'exists' || name === 'exists_one');
  const standsOut = isAsked || name === 'filter' || (name === 'all' && !value);
  const loop = standsOut ? loopOf(node, language) : undefined;
  if (loop) return [{ loop, wanted: name !== 'all' }];
  return childrenOf(node).flatMap((child) => soughtIn(child, value, language));
}

type Members = ReadonlyMap<string, unknown>;

/** Pieces that the free stock lacks for a line: `2 of 5 missing`; empty: none, or not known. */
function lackOf(members: Members): string {
  const [packed, free] = ['quantity', 'stock_free'].map((name) => {
    const value = members.get(name);
    return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
  });
  if (packed === undefined || free === undefined || free >= packed) return '';
  return ` (${packed - free} of ${packed} missing)`;
}

function nameIn(members: Members): string {
  const text = (name: string): string => {
    const value = members.get(name);
    return typeof value === 'string' ? value : '';
  };
  const style = text('style_name') || text('style_no');
  if (style === '') return text('barcode') || 'a line without a barcode';
  return [style, text('color_name'), text('size_name')].filter((word) => word !== '').join(', ');
}

function wordsOf(line: unknown, { fields }: Loop): string {
  const members = new Map(typeof line === 'object' && line !== null ? Object.entries(line) : []);
  return `${nameIn(members)}${fields.includes('missing') ? lackOf(members) : ''}`;
}

function told(found: readonly unknown[], of: number, loop: Loop): LinesBehind | undefined {
  if (found.length === 0) return undefined;
  const first = found.slice(0, NAMED_MAX);
  const named = first.map((line) => wordsOf(line, loop)).join('; ');
  const more = found.length > NAMED_MAX ? ` and ${found.length - NAMED_MAX} more` : '';
  return { count: found.length, of, words: `${named}${more}` };
}

function finderOf({ loop, wanted }: Sought): FindLines {
  const { list, body, variable } = loop;
  const byLibrary: FindLines = ({ typed }) => {
    const result = list.run(typed);
    const all = !(result instanceof NotKnown) && Array.isArray(result.value) ? result.value : [];
    const found = all.filter((item) => {
      const value = body.run(withVariable(typed, variable, item));
      return !(value instanceof NotKnown) && value.value === wanted;
    });
    return told(found, all.length, loop);
  };
  if (list.code?.kind !== 'lines' || body.code?.kind !== 'bool') return byLibrary;
  const [lines, test] = [list.code.run, body.code.run];
  const byCode: FindLines = (frame) => {
    const all = lines(frame);
    if (all instanceof NotKnown) return undefined;
    const found = all.filter((item) => {
      frame.item = item;
      return test(frame) === wanted;
    });
    return told(found, all.length, loop);
  };
  return (frame) => {
    const found = resultOf((given) => ({ lines: byCode(given) }), frame);
    return found ? found.lines : byLibrary(frame);
  };
}

/** Makes a function that finds the lines behind a match; undefined: no clause is about lines. */
export function linesBehind(
  clauses: readonly { readonly program: Program; readonly negated: boolean }[],
  language: Language,
): FindLines | undefined {
  const sought = clauses.flatMap(({ program, negated }) =>
    soughtIn(program.ast, !negated, language),
  );
  if (sought.length === 0) return undefined;
  const finders = sought.map(finderOf);
  return (frame) => {
    for (const find of finders) {
      const found = find(frame);
      if (found) return found;
    }
    return undefined;
  };
}
