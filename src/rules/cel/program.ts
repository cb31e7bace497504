/**
 * One condition, compiled: its problems, what it reads, its value for given facts and the values
 * of its operands. A condition has three values; missing data makes it unknown, and an error of
 * any other kind does too, so nothing that goes wrong can look like a "no".
 */
import { type ASTNode, type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { type BareAmount, bareAmounts, type CurrencyOwner, pinnedCurrencies } from './currency.ts';
import type { SetTypes } from './environment.ts';
import { syntaxHint, typeProblem, typeWord } from './hints.ts';
import { type Lookup, lintExpression, type Read } from './lint.ts';
import type { CelProblem, Scope } from './shape.ts';

export type Truth = boolean | 'unknown';

export type CelContext = Readonly<Record<string, unknown>>;

export type Result =
  | { readonly ok: true; readonly value: unknown }
  /** `missing` names the absent fact, or says what else prevented the evaluation. */
  | { readonly ok: false; readonly missing: string };

export interface Program {
  readonly text: string;
  readonly ast: ASTNode;
  /** Paths that it reads, without repetition, in alphabetical order. */
  readonly reads: readonly string[];
  readonly bareAmounts: readonly BareAmount[];
  readonly pins: readonly CurrencyOwner[];
  readonly lookups: readonly Lookup[];
  run(context: CelContext): Result;
}

export type Compiled = { readonly program: Program } | { readonly problems: readonly CelProblem[] };

export interface Language {
  /** Names bound around the expression; none for a whole condition. */
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

/** The public parts of the library's errors, and of whatever else it may throw. */
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

function wrongType(text: string, type: string | undefined): CelProblem {
  const message = `a condition must be true or false, this is ${typeWord(type ?? 'dyn')}`;
  const hint =
    type === 'string' ? 'compare it: order.country == "DK"' : 'compare it with something';
  return { start: 0, end: text.length, message, hint };
}

/** Codes of the library for a fact that is absent, and for one that is of another kind. */
const NOT_KNOWN: ReadonlySet<string> = new Set(['no_such_key', 'field_type_mismatch']);

/** What prevented the evaluation, in the words of the fact table where a fact is not known. */
function explainFailure(thrown: unknown, reads: readonly Read[]): string {
  const error = libraryError(thrown);
  if (!(thrown instanceof EvaluationError) || !NOT_KNOWN.has(thrown.code)) {
    return error.summary ?? error.message;
  }
  if (thrown.node?.op === '[]') {
    const table = reads.find((read) => read.path.startsWith('tables.'))?.path ?? 'the table';
    const key = (error.summary ?? '').replace('No such key: ', '');
    return `${table} has no row "${key}"`;
  }
  return reads.find((read) => read.end === error.end)?.path ?? error.summary ?? error.message;
}

/**
 * @param expected `bool` for conditions, `any` for the expressions of messages and records.
 */
export function compileExpression(
  text: string,
  { env, types, scope = new Map() }: Language,
  expected: 'bool' | 'any',
): Compiled {
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
  return {
    program: {
      text,
      ast: parsed.ast,
      reads: [...new Set(lint.reads.map((read) => read.path))].sort(),
      bareAmounts: bareAmounts(lint.meetings, lint.amountOwners),
      pins: pinnedCurrencies(parsed.ast),
      lookups: lint.lookups,
      run(context) {
        try {
          return { ok: true, value: parsed(context) };
        } catch (thrown) {
          return { ok: false, missing: explainFailure(thrown, lint.reads) };
        }
      },
    },
  };
}

/** The value of a condition; anything that is not exactly true or false is unknown. */
export function truthOf(result: Result): Truth {
  return result.ok && typeof result.value === 'boolean' ? result.value : 'unknown';
}
