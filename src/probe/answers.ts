/** Reads a service's answers in whatever form they have: envelope or none, lists or maps. */
import type { PlainAnswer } from '../client/probe-client.ts';
import { isJsonObject } from '../lib/json.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Maximum characters quoted from an answer of the service. */
const WORDS_MAX = 160;

function innerStatus(json: unknown): number | undefined {
  const status = isJsonObject(json) ? Number(json.status ?? Number.NaN) : Number.NaN;
  return Number.isInteger(status) && status >= 100 && status <= 599 ? status : undefined;
}

/** HTTP status of an answer; an envelope may report a failure under a 200, which then counts. */
export function statusOf({ status, json }: PlainAnswer): number {
  const inner = innerStatus(json);
  return status < 300 && inner !== undefined && inner >= 300 ? inner : status;
}

/** Whether an answer is a success with JSON in it, rather than an HTML page. */
export function isGood(answer: PlainAnswer): boolean {
  const { status, json, isCut } = answer;
  if (status === 204) return true;
  return statusOf(answer) < 300 && (isCut || (json !== undefined && json !== null));
}

/** Whether an answer says that the address or the resource does not exist. */
export function isMissing(answer: PlainAnswer): boolean {
  return [404, 405, 410, 501].includes(statusOf(answer));
}

/** Whether an answer says that the token or key gives no access. */
export function isShut(answer: PlainAnswer): boolean {
  return [401, 403].includes(statusOf(answer));
}

function dataOf({ json }: PlainAnswer): unknown {
  return isJsonObject(json) && 'data' in json ? json.data : json;
}

function listIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (!isJsonObject(value)) return undefined;
  const names = Object.keys(value);
  return names.every((name) => /^\d+$/.test(name)) ? Object.values(value) : undefined;
}

/** The rows of a list: `data.<name>`, `data` itself, or the only list in it. */
export function rowsOf(answer: PlainAnswer, name: string): readonly Row[] | undefined {
  if (answer.status === 204) return [];
  const data = dataOf(answer);
  const members = isJsonObject(data) ? data : {};
  const inside = members[name] ?? members.data;
  const lists = Object.values(members).filter(Array.isArray);
  const found = listIn(inside) ?? listIn(data) ?? (lists.length === 1 ? lists[0] : undefined);
  if (!found && (data === null || (name in members && !inside))) return [];
  return found?.filter(isJsonObject);
}

/** Row count that the service states for a list. */
export function countOf(answer: PlainAnswer): number | undefined {
  const data = dataOf(answer);
  const count = isJsonObject(data) ? Number(data.count ?? Number.NaN) : Number.NaN;
  return Number.isInteger(count) ? count : undefined;
}

export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const number = value === '' ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : undefined;
}

function lineOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? '';
  return textOf(value.detail) ?? textOf(value.title) ?? JSON.stringify(value);
}

/** Message of an answer: its text and lines, or the text of its HTML page without markup. */
export function messageIn({ json, text }: PlainAnswer): string {
  const members = isJsonObject(json) ? json : {};
  const parts = [members.message, members.invalid_data, members.errors];
  const lines = parts.flatMap((part) => part ?? []).map(lineOf);
  const words = lines.length > 0 ? lines.join(' ') : text.replaceAll(/<[^>]*>|\s+/g, ' ');
  return words.trim();
}

/** Describes an answer for a person: its status and message. */
export function wordsOf(answer: PlainAnswer): string {
  const words = messageIn(answer).slice(0, WORDS_MAX);
  return `HTTP ${answer.status}${words === '' ? '' : `: ${words}`}`;
}

/** Whether an answer calls the request invalid, for whatever reason. */
export function isRefused(answer: PlainAnswer): boolean {
  return [400, 422].includes(statusOf(answer));
}

/** Whether an answer refuses the request because it names no brand. */
export function wantsBrand(answer: PlainAnswer): boolean {
  return isRefused(answer) && /brand[ _-]?name/i.test(answer.text);
}

export interface FoundText {
  readonly pointer: string;
  readonly text: string;
}

/** Finds the text of the outermost member whose name matches. */
export function findText(value: unknown, name: RegExp, depth = 0): FoundText | undefined {
  if (!isJsonObject(value) || depth > 4) return undefined;
  const members = Object.entries(value);
  for (const [member, inner] of members) {
    if (!name.test(member) || typeof inner !== 'string' || inner === '') continue;
    return { pointer: `/${member}`, text: inner };
  }
  for (const [member, inner] of members) {
    const below = findText(inner, name, depth + 1);
    if (below) return { pointer: `/${member}${below.pointer}`, text: below.text };
  }
  return undefined;
}
