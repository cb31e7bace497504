/**
 * Parses the message of an error answer: V1's envelope, V2's list of errors, and forms of PHP
 * frameworks. Each reading states whether the service itself wrote it, because that decides what a
 * write counts as.
 */
import { cutDeep, isJsonObject, tryParseJson } from '../../lib/json.ts';

/** The part of a request that decides which forms of an error answer are the service's own. */
interface Question {
  /** False when the contract does not answer this request with a list of errors, as V2 does. */
  readonly listsErrors?: boolean | undefined;
}

interface Failure {
  readonly status: number;
  readonly text: string;
}

export interface Said {
  readonly message: string;
  readonly lines: readonly string[];
  /**
   * Form of the error answer. `own`: the contract's, repeating the status. `bare`: a JSON object
   * without a status, as a gateway may write it too. `text`: words, but no HTML page.
   */
  readonly kind: 'own' | 'bare' | 'text';
}

const NO_REASON = 'no reason given';

function lineOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(cutDeep(value));
}

/**
 * Whether the listed errors name this HTTP status, or several statuses that it summarizes; errors
 * without a status agree.
 */
function nameStatus(errors: readonly { status?: unknown }[], status: number): boolean {
  const named = errors.map((error) => Number(error.status ?? Number.NaN)).filter(Number.isInteger);
  if (named.length === 0 || named.includes(status)) return true;
  return named.every((one) => one - (one % 100) === status);
}

/** Makes one line of text per error of V2's list. */
function linesOfErrors(errors: readonly unknown[]): readonly string[] {
  return errors.map((error) => {
    if (!isJsonObject(error)) return lineOf(error);
    const pointer = isJsonObject(error.source) ? lineOf(Object.values(error.source)[0]) : '';
    const words = error.detail ?? error.title ?? error.message ?? error.code;
    const parts = [pointer, words].filter((part) => part !== '' && part !== undefined);
    return parts.length === 0 ? lineOf(error) : parts.map(lineOf).join(': ');
  });
}

/** Makes one line per text, from a list or from lists by member (`{field: [texts]}`). */
function linesOf(value: unknown): readonly string[] {
  if (!value) return [];
  if (Array.isArray(value)) return linesOfErrors(value);
  if (!isJsonObject(value)) return [lineOf(value)];
  return Object.entries(value).flatMap(([name, texts]) =>
    [texts].flat().map((text) => `${name}: ${lineOf(text)}`),
  );
}

const LINES = ['invalid_data', 'errors'] as const;
const MESSAGES = ['message', 'error', 'detail', 'title', 'error_description'] as const;

function firstText(json: Record<string, unknown>): string | undefined {
  for (const name of MESSAGES) {
    const value = json[name];
    if (typeof value === 'string' && value !== '') return value;
    if (isJsonObject(value) && typeof value.message === 'string') return value.message;
  }
  return undefined;
}

/** Reads an HTTP status in JSON; some services write it as text. */
export function statusIn(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^[1-5]\d\d$/.test(value);
  const status = isText ? Number(value) : value;
  if (typeof status !== 'number' || !Number.isInteger(status)) return undefined;
  return status >= 100 && status <= 599 ? status : undefined;
}

function saidInObject(
  { listsErrors = true }: Question,
  json: Record<string, unknown>,
  status: number,
): Said | undefined {
  const { errors } = json;
  // An answer that names another status than its own was changed by an intermediary.
  if (Array.isArray(errors) && !nameStatus(errors.filter(isJsonObject), status)) return undefined;
  if (Array.isArray(errors) && listsErrors) {
    const lines = linesOfErrors(errors);
    return { message: lines[0] ?? NO_REASON, lines, kind: 'own' };
  }
  const repeated = typeof json.status === 'number' ? json.status : statusIn(json.status);
  if (repeated !== undefined && repeated !== status) return undefined;
  const lines = LINES.flatMap((name) => linesOf(json[name]));
  const message = firstText(json) ?? lines[0];
  if (message === undefined) return undefined;
  const isOwn = repeated !== undefined && typeof json.message === 'string';
  return { message, lines, kind: isOwn ? 'own' : 'bare' };
}

export function isPage(text: string): boolean {
  return /^\s*</.test(text);
}

/**
 * Reads the message of an error answer; undefined: the answer is empty, or an intermediary's page.
 */
export function saidIn(question: Question, { status, text }: Failure): Said | undefined {
  const json = tryParseJson(text);
  if (isJsonObject(json)) return saidInObject(question, json, status);
  const words = typeof json === 'string' ? json : text;
  if (json !== undefined && typeof json !== 'string') return undefined;
  if (words.trim() === '' || isPage(words)) return undefined;
  return { message: words.trim(), lines: [], kind: 'text' };
}

/** Message of a failure reported inside a 2xx answer, in V1's or V2's form; undefined: none. */
export function failureIn(json: unknown): string | undefined {
  if (!isJsonObject(json)) return undefined;
  const { errors, status, success, error } = json;
  const [line] = linesOf(errors);
  if (line !== undefined) return line;
  const named = statusIn(status);
  if (named !== undefined && named >= 300) return `${named}: ${firstText(json) ?? NO_REASON}`;
  const fails = success === false || (error !== undefined && linesOf(error).length > 0);
  return fails ? (firstText(json) ?? lineOf(error ?? NO_REASON)) : undefined;
}

/**
 * Re-encodes JSON in its plainest form, so that secrets match: some services write \u002b for +, or
 * \/ for /.
 */
export function plainText(text: string): string {
  const json = tryParseJson(text);
  return json === undefined ? text : lineOf(json);
}
