/**
 * A compiled condition: its problems, the paths it reads, its value for given facts, and the values
 * of its operands. A condition is true, false or unknown: missing data and any other error make it
 * unknown, so that no failure looks like a "no".
 */
import { type ASTNode, type Environment, EvaluationError } from '@marcbachmann/cel-js';
import type { Json } from '../../lib/json.ts';
import type { CelContext, Frame } from '../facts/build.ts';
import type { CurrencyOwner } from '../facts/table.ts';
import { codeOf } from './closures.ts';
import { type Code, NotKnown, readable, resultOf, shownBy } from './code.ts';
import { type BareAmount, bareAmounts, pinnedCurrencies } from './currency.ts';
import type { SetTypes } from './environment.ts';
import { syntaxHint, typeProblem, typeWord } from './hints.ts';
import { type Lookup, lintExpression, type Read, type TextTest } from './lint.ts';
import type { CelProblem, Scope } from './shape.ts';

export type Truth = boolean | 'unknown';

/** Value by the expression library, or the absent fact, or what else prevented the evaluation. */
type Result = { readonly value: unknown } | NotKnown;

/** Value as readable JSON, in an object because a value may be anything. */
export type Shown = { readonly value: Json } | NotKnown;

export interface Program {
  readonly text: string;
  readonly ast: ASTNode;
  /** Paths that the condition reads, each once, in alphabetical order. */
  readonly reads: readonly string[];
  readonly bareAmounts: readonly BareAmount[];
  readonly pins: readonly CurrencyOwner[];
  readonly lookups: readonly Lookup[];
  /** The program as functions of plain facts; undefined: only the library evaluates it. */
  readonly code: Code | undefined;
  /** Code of one node of it, inside of these names; undefined: only the library evaluates it. */
  codeAt(node: ASTNode, scope: Scope): Code | undefined;
  /** Value of a condition. */
  test(frame: Frame): boolean | NotKnown;
  /** Value of any expression, for people. */
  show(frame: Frame): Shown;
  /** Evaluates it by the expression library. */
  run(context: CelContext): Result;
  /** Compiles another text in the same language; undefined if it has mistakes. */
  variant(text: string): Program | undefined;
}

export type Compiled = { readonly program: Program } | { readonly problems: readonly CelProblem[] };

export interface Language {
  /** Names that are bound around the expression; none for a whole condition. */
  readonly scope?: Scope;
  readonly env: Environment;
  readonly types: SetTypes;
}

interface LibraryError {
  readonly message: string;
  readonly summary: string | undefined;
  readonly start: number | undefined;
  readonly end: number | undefined;
}

/** Reads message and place from an error of the library, or from anything else that it throws. */
function libraryError(thrown: unknown): LibraryError {
  const message = thrown instanceof Error ? thrown.message.split('\n')[0] : String(thrown);
  const open: object = thrown instanceof Error ? thrown : {};
  const summary = 'summary' in open && typeof open.summary === 'string' ? open.summary : undefined;
  const range: object = 'range' in open && typeof open.range === 'object' ? (open.range ?? {}) : {};
  return {
    message: message ?? '',
    summary,
    start: 'start' in range && typeof range.start === 'number' ? range.start : undefined,
    end: 'end' in range && typeof range.end === 'number' ? range.end : undefined,
  };
}

function syntaxProblem(text: string, thrown: unknown): CelProblem {
  const error = libraryError(thrown);
  const start = Math.min(error.start ?? 0, Math.max(0, text.length - 1));
  const end = Math.max(start + 1, error.end ?? 0);
  const message = error.summary ?? error.message;
  return { start, end, message, hint: syntaxHint(text, start) };
}

interface Rewritten {
  readonly text: string;
  /** Position in the author's text that belongs to a position in the rewritten text. */
  back(offset: number): number;
}

/** Rewrites `has(a)` of a text to `(has(a) && a != "")`, because an empty text counts as absent. */
function askForText(text: string, tests: readonly TextTest[]): Rewritten {
  const sorted = tests.toSorted((a, b) => a.start - b.start);
  const pieces: string[] = [];
  // Positions from which the rewritten text is the author's again, and by how much it has moved.
  const moves: { readonly from: number; readonly by: number }[] = [];
  let [done, added] = [0, 0];
  for (const { start, end, path } of sorted) {
    const more = ` && ${path} != "")`;
    pieces.push(text.slice(done, start), '(', text.slice(start, end), more);
    moves.push({ from: start + added, by: added + 1 });
    added += 1 + more.length;
    moves.push({ from: end + added, by: added });
    done = end;
  }
  pieces.push(text.slice(done));
  const back = (offset: number): number => {
    const move = moves.findLast(({ from }) => from <= offset);
    return offset - (move?.by ?? 0);
  };
  return { text: pieces.join(''), back };
}

function wrongType(text: string, type: string | undefined): CelProblem {
  const message = `a condition must be true or false, this is ${typeWord(type ?? 'dyn')}`;
  const hint =
    type === 'string' ? 'compare it: order.country == "DK"' : 'compare it with something';
  return { start: 0, end: text.length, message, hint };
}

/** The library's error codes for an absent fact and for one of another type. */
const NOT_KNOWN: ReadonlySet<string> = new Set(['no_such_key', 'field_type_mismatch']);

/** Explains a failed evaluation; an unknown fact is named by its path in the fact table. */
function explainFailure(
  thrown: unknown,
  reads: readonly Read[],
  back: (offset: number) => number,
): string {
  const error = libraryError(thrown);
  if (!(thrown instanceof EvaluationError) || !NOT_KNOWN.has(thrown.code)) {
    return error.summary ?? error.message;
  }
  if (thrown.node?.op === '[]') {
    const table = reads.find((read) => read.path.startsWith('tables.'))?.path ?? 'the table';
    const key = (error.summary ?? '').replace('No such key: ', '');
    return `${table} has no row "${key}"`;
  }
  const end = back(error.end ?? 0);
  return reads.find((read) => read.end === end)?.path ?? error.summary ?? error.message;
}

/**
 * Compiles an expression, or gives its problems.
 * @param expected `bool` for conditions, `any` for the expressions of messages and records.
 */
export function compileExpression(
  text: string,
  language: Language,
  expected: 'bool' | 'any',
): Compiled {
  const { env, types, scope = new Map() } = language;
  let parsed: ReturnType<Environment['parse']>;
  try {
    parsed = env.parse(text);
  } catch (thrown) {
    return { problems: [syntaxProblem(text, thrown)] };
  }
  const lint = lintExpression(parsed.ast, types, scope);
  if (lint.problems.length > 0) return { problems: lint.problems };
  const checked = parsed.check();
  if (!checked.valid) {
    const { start, end } = syntaxProblem(text, checked.error);
    return { problems: [{ start, end, ...typeProblem(checked.error?.summary ?? 'wrong type') }] };
  }
  if (expected === 'bool' && checked.type !== 'bool') {
    return { problems: [wrongType(text, checked.type)] };
  }
  const rewritten = askForText(text, lint.textTests);
  const asked = lint.textTests.length === 0 ? parsed : env.parse(rewritten.text);
  const codeAt: Program['codeAt'] = (node, inner) =>
    codeOf(node, { env, types, scope: inner, reads: lint.reads });
  const code = codeAt(parsed.ast, scope);
  const run = (context: CelContext): Result => {
    try {
      return { value: asked(context) };
    } catch (thrown) {
      return new NotKnown(explainFailure(thrown, lint.reads, rewritten.back));
    }
  };
  return {
    program: {
      text,
      ast: parsed.ast,
      reads: [...new Set(lint.reads.map((read) => read.path))].sort(),
      bareAmounts: bareAmounts(lint.meetings, lint.amountOwners),
      pins: pinnedCurrencies(parsed.ast),
      lookups: lint.lookups,
      code,
      codeAt,
      variant(other) {
        const compiled = compileExpression(other, language, expected);
        return 'program' in compiled ? compiled.program : undefined;
      },
      test: testOf(code, run),
      show: showOf(code, run),
      run,
    },
  };
}

const NO_TRUTH = new NotKnown('its value is neither true nor false');

/** Value of a condition; anything but exactly true or false is not known. */
function testOf(code: Code | undefined, run: Program['run']): Program['test'] {
  const byLibrary = (frame: Frame): boolean | NotKnown => {
    const result = run(frame.typed);
    if (result instanceof NotKnown) return result;
    return typeof result.value === 'boolean' ? result.value : NO_TRUTH;
  };
  if (code?.kind !== 'bool') return byLibrary;
  const { run: test } = code;
  return (frame) => resultOf(test, frame) ?? byLibrary(frame);
}

function showOf(code: Code | undefined, run: Program['run']): Program['show'] {
  const byLibrary = (frame: Frame): Shown => {
    const result = run(frame.typed);
    return result instanceof NotKnown ? result : { value: readable(result.value) };
  };
  const show = code && shownBy(code);
  return show ? (frame) => resultOf(show, frame) ?? byLibrary(frame) : byLibrary;
}
