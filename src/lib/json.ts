/**
 * Reads and writes JSON. Its canonical form is for hashes and comparisons, which must not depend on
 * the order of members.
 */
import { createHash, hash } from 'node:crypto';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: Json | undefined;
}

function sorted(value: unknown, replace: (value: unknown) => unknown = (same) => same): unknown {
  if (Array.isArray(value)) return value.map((item) => sorted(item, replace));
  if (value === null || typeof value !== 'object') return value;
  const other = replace(value);
  if (other !== value) return other;
  const out: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (member !== undefined) out[name] = sorted(member, replace);
  }
  return out;
}

/**
 * Writes a value as canonical JSON: members in code-unit order, `undefined` omitted, no white
 * space.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

/** Hashes a text or bytes with SHA-256, as lower-case hex. */
export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/**
 * Hashes the canonical JSON of a value. `texts` has the canonical JSON of large objects inside of
 * it, which are not written again.
 */
export function hashWithTexts(value: unknown, texts: ReadonlyMap<unknown, string>): string {
  const marks = new Map<string, string>();
  const marked = sorted(value, (one) => {
    const text = texts.get(one);
    if (text === undefined) return one;
    // No text of the value contains the hash of a text that is inside of the same value.
    const mark = `text ${sha256(text)}`;
    marks.set(mark, text);
    return mark;
  });
  const parts = JSON.stringify(marked).split(/"(text [0-9a-f]{64})"/);
  const digest = createHash('sha256');
  for (const [at, part] of parts.entries()) {
    const text = at % 2 === 1 ? marks.get(part) : part;
    digest.update(text ?? `"${part}"`);
  }
  return digest.digest('hex');
}

export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Members of an object; anything else has none. */
export function membersOf(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? value : {};
}

/** A text as it is, and any other value as JSON, for people. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Parses JSON of our own as an object; any other value gives an empty object. Throws for invalid
 * JSON.
 */
export function parseJsonObject(text: string): JsonObject {
  const value: JsonObject = JSON.parse(text);
  return isJsonObject(value) ? value : {};
}

/** Parses JSON; undefined when the text is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Open {
  /** Names of the object's members so far; undefined in a list. */
  names: Set<string> | undefined;
  /** Member name or item index that is being scanned. */
  step: string | number;
}

function showSteps(open: readonly Open[]): string {
  const steps = open.map(({ step }) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
  return steps.join('').replace(/^\./, '');
}

/** Index after the end of the JSON string that starts at `start`. */
function endOfText(json: string, start: number): number {
  let quote = json.indexOf('"', start + 1);
  while (quote !== -1) {
    let before = quote;
    while (json[before - 1] === '\\') before -= 1;
    if ((quote - before) % 2 === 0) return quote + 1;
    quote = json.indexOf('"', quote + 1);
  }
  return json.length;
}

function nameIn(json: string, [start, end]: readonly [number, number]): string {
  const name = json.slice(start + 1, end - 1);
  // A name with escapes must be decoded; most names have none.
  return name.includes('\\') ? String(tryParseJson(`"${name}"`)) : name;
}

/**
 * Path of the first duplicate member, such as `lines[0].quantity`; undefined: none. Parsers
 * disagree about which of the two counts. The text must be JSON.
 */
export function memberTwice(json: string): string | undefined {
  const open: Open[] = [];
  let text: readonly [start: number, end: number] = [0, 0];
  for (let at = 0; at < json.length; at += 1) {
    const here = open.at(-1);
    switch (json[at]) {
      case '"':
        text = [at, endOfText(json, at)];
        at = text[1] - 1;
        break;
      case '{':
        open.push({ names: undefined, step: '' });
        break;
      case '[':
        open.push({ names: undefined, step: 0 });
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ',':
        if (typeof here?.step === 'number') here.step += 1;
        break;
      case ':': {
        if (!here) break;
        here.step = nameIn(json, text);
        here.names ??= new Set();
        if (here.names.has(here.step)) return showSteps(open);
        here.names.add(here.step);
        break;
      }
      default:
    }
  }
  return undefined;
}

/**
 * Maximum levels of nesting: SQLite reads no JSON deeper than 1,000, and recursion over some
 * thousand levels overflows the stack.
 */
export const DEPTH_MAX = 256;

function bracketsIn(value: unknown): readonly object[] {
  const all: readonly unknown[] = value instanceof Object ? Object.values(value) : [];
  return all.filter((one) => one instanceof Object);
}

/** Whether a value is nested deeper than the maximum, so that it is no usable data. */
export function isTooDeep(value: unknown): boolean {
  let level = bracketsIn([value]);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) return true;
    level = level.flatMap(bracketsIn);
  }
  return false;
}

/** Copies a value, with null for what is nested too deep. */
export function cutDeep(value: unknown, depth = 1): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (depth > DEPTH_MAX) return null;
  if (Array.isArray(value)) return value.map((one) => cutDeep(one, depth + 1));
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([name, one]) => [name, cutDeep(one, depth + 1)]));
}

/** Escaped characters of two halves, or a half alone; in JSON within JSON with more backslashes. */
const HALVES =
  /((?<!\\)\\+ud[89ab][\da-f]{2}\\+ud[c-f][\da-f]{2})|((?<!\\)\\+)ud[89a-f][\da-f]{2}/gi;

/**
 * The text with U+FFFD in the place of each half of a character, also of one that JSON escapes: no
 * SQL client can read it otherwise.
 */
export function readable(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  if (!/^[[{]/.test(whole) || !/\\ud/i.test(whole)) return whole;
  return whole.replaceAll(HALVES, (_all, both?: string, slashes?: string) =>
    both === undefined ? `${slashes}ufffd` : both,
  );
}
