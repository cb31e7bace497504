/**
 * V1's envelope: `{status, message, data}` around everything, `data` checked by a schema. Accounts
 * that write the status as text or a word, omit the envelope, or put its members beside the data
 * are read as well, and noted. A reported failure is never taken for data.
 */
import { z } from 'zod';
import { cutDeep, isJsonObject } from '../../lib/json.ts';
import { isRowNumber } from '../../lib/json-rows/keyed.ts';
import { parseOddJson } from '../../lib/reading/odd-json.ts';
import { quoted } from '../../lib/reading/quoted.ts';
import type { Read } from '../calls.ts';
import { errorOfAnswer, errorOfBrokenAnswer, errorOfPage } from '../http/answer.ts';
import type { AnswerHeaders } from '../http/exchange.ts';
import { askedOf, type HttpRequest, isSafe } from '../http/request.ts';
import { failureIn, statusIn } from '../http/said.ts';
import { firstProblem, type Reject, rowReader, tooDeep } from '../rows.ts';
import { itemsOf } from '../tolerant/values.ts';
import { type Answer, decodeJson, type Sender } from '../transport.ts';
import { countSchema } from './schemas.ts';

const UNAUTHORIZED = 401;

/** Words that mean success where the envelope should have an HTTP status. */
const SUCCESS = new Set<unknown>(['ok', 'success', 'true', true]);
/**
 * Words that mean failure where the envelope should have an HTTP status; no order has such a
 * status.
 */
const FAILURE = new Set<unknown>(['error', 'fail', 'failure', 'false', false, 0]);

function wordOf(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

/** Members that belong to the envelope; all others beside them are data. */
const OWN: ReadonlySet<string> = new Set([
  'status',
  'message',
  'success',
  'code',
  'errors',
  'error',
  'invalid_data',
]);

interface Opened {
  readonly data: unknown;
  /** HTTP status that the envelope repeats; undefined: none. */
  readonly status: number | undefined;
  /** Deviation of the envelope from the contract, for the counts of dialects. */
  readonly dialect?: string;
  /** Failure that the envelope reports by a word instead of a status. */
  readonly failure?: string | undefined;
}

/** Reads an answer that has no envelope as in the contract. */
function openOther(json: Record<string, unknown>, status: number | undefined): Opened {
  const word = wordOf(json.status);
  if (Object.hasOwn(json, 'data')) {
    const how = status === undefined && !SUCCESS.has(word) ? 'none' : 'text';
    return { data: json.data, status, dialect: `envelope.status=${how}` };
  }
  // A status that is no success may be an order's own, so the object is taken for data.
  if (status === undefined && !SUCCESS.has(word)) {
    return { data: json, status, dialect: 'envelope=none' };
  }
  const beside = Object.entries(json).filter(([name]) => !OWN.has(name));
  const isText = typeof json.status === 'string';
  if (beside.length === 0) {
    return { data: undefined, status, ...(isText && { dialect: 'envelope.status=text' }) };
  }
  return { data: Object.fromEntries(beside), status, dialect: 'envelope.data=none' };
}

function failureOf(json: Record<string, unknown>): string | undefined {
  const word = FAILURE.has(wordOf(json.status)) ? `${String(json.status)}: ` : undefined;
  const said = failureIn(json);
  return said ?? (word && word + String(json.message ?? 'no reason given'));
}

function openEnvelope(json: unknown): Opened {
  if (!isJsonObject(json)) {
    const isData = json !== undefined && json !== null;
    return { data: json, status: undefined, ...(isData && { dialect: 'envelope=none' }) };
  }
  const status = statusIn(json.status);
  const failure = status === undefined || status < 300 ? failureOf(json) : undefined;
  if (failure !== undefined) return { data: undefined, status, failure };
  const { data } = json;
  const isOfContract = status !== undefined && typeof json.status === 'number';
  return isOfContract && data !== undefined ? { data, status } : openOther(json, status);
}

/** Returns the `data` of a parsed answer. Throws for a failure inside a 2xx. */
export function dataOf(
  sender: Pick<Sender, 'scrub' | 'note'>,
  request: HttpRequest,
  json: unknown,
  headers: AnswerHeaders,
): unknown {
  const asked = { ...askedOf(request), scrub: sender.scrub };
  const { data, status = 200, dialect, failure } = openEnvelope(json);
  if (failure !== undefined)
    throw errorOfBrokenAnswer(asked, new Error(`it says ${quoted(failure)}`));
  if (status >= 200 && status < 300) {
    if (dialect !== undefined) sender.note(request, dialect);
    return data;
  }
  // No clock is needed, because a failure inside a 2xx has no Retry-After.
  throw errorOfAnswer(asked, { status, headers, text: JSON.stringify(cutDeep(json)) }, 0);
}

/**
 * Throws when the envelope inside a 2xx says that the token was refused. Called while decoding, so
 * that the session handles it like a 401.
 */
export function throwIfUnauthorized(sender: Sender, request: HttpRequest, json: unknown): void {
  if (!isJsonObject(json) || statusIn(json.status) !== UNAUTHORIZED) return;
  dataOf(sender, request, json, {});
}

/** Builds a decoder of JSON that throws when the body says that the token was refused. */
export function decoderOf(sender: Sender, request: HttpRequest): (body: Buffer) => unknown {
  return (body) => {
    const json = decodeJson(body, parseOddJson);
    throwIfUnauthorized(sender, request, json);
    return json;
  };
}

export const NO_CONTENT = 204;

interface Enveloped extends Omit<Answer<unknown>, 'value'> {
  readonly data: unknown;
  /** Whether the answer states its success, so that the service itself wrote it. */
  readonly isOwn: boolean;
}

/** Sends the request and returns the unchecked `data`. */
export async function askData(sender: Sender, request: HttpRequest): Promise<Enveloped> {
  const { value: json, ...answer } = await sender.send(request, decoderOf(sender, request));
  const { status, headers } = answer;
  // An empty body is no answer either: a crashed program sends one, too.
  if (json === undefined && status !== NO_CONTENT) {
    throw errorOfPage({ ...askedOf(request), scrub: sender.scrub }, '');
  }
  const word = isJsonObject(json) ? json.status : undefined;
  const isOwn = status === NO_CONTENT || statusIn(word) !== undefined || SUCCESS.has(wordOf(word));
  return { ...answer, data: dataOf(sender, request, json, headers), isOwn };
}

/** Turns an empty list into an empty object, because some services write the one for the other. */
function unlessEmptyList(sender: Sender, request: HttpRequest, data: unknown): unknown {
  if (!Array.isArray(data) || data.length > 0) return data;
  sender.note(request, 'data=[] (for an object)');
  return {};
}

/** Finds a resource under `member` of the data; some services put it in place of the data. */
function thingIn(sender: Sender, request: HttpRequest, data: unknown, member: string): unknown {
  if (!isJsonObject(data) || Object.hasOwn(data, member)) {
    return isJsonObject(data) ? data[member] : data;
  }
  sender.note(request, `data={} (${member})`);
  return data;
}

/** Sends the request and returns its `data`, or a `member` of it, checked by the schema. */
export async function ask<T>(
  sender: Sender,
  request: HttpRequest,
  schema: z.ZodType<T>,
  member?: string,
): Promise<Read<T>> {
  const { data: came, startedAt } = await askData(sender, request);
  const whole = unlessEmptyList(sender, request, came);
  const data = member === undefined ? whole : thingIn(sender, request, whole, member);
  // After a write that took effect, unreadable extras in the answer must not fail it.
  const read = rowReader(schema, sender.decimals)(isSafe(request) ? data : cutDeep(data));
  if ('problem' in read) throw oddData(request, read.problem);
  const deep = tooDeep(read.value);
  if (deep) throw oddData(request, deep);
  return { value: read.value, startedAt };
}

const named = z.looseObject({ status: z.string().min(1) });

/** Result of setting a status: the status now, and the resource as the answer shows it. */
export interface StatusSet {
  readonly status: string;
  /** Resource in the answer, not validated; it may be missing. */
  readonly shown: unknown;
}

/**
 * Sets a status at the service. A success means that it is set, whatever else the answer contains.
 */
export async function askStatus(
  sender: Sender,
  request: HttpRequest,
  wanted: string,
): Promise<Read<StatusSet>> {
  const { data, startedAt, isOwn } = await askData(sender, request);
  const parsed = named.safeParse(data);
  const shown = cutDeep(data);
  if (parsed.success) return { value: { status: parsed.data.status, shown }, startedAt };
  if (!isOwn) throw oddData(request, firstProblem(parsed.error));
  sender.note(request, 'data=other (in the answer to a status)');
  return { value: { status: wanted, shown }, startedAt };
}

/** Rows of a list written as an object (`{"0": …, "1": …}`); undefined: the object is no list. */
function indexedRows(value: Record<string, unknown>): readonly unknown[] | undefined {
  const entries = Object.entries(value);
  const isIndexed = entries.every(([name, row]) => isRowNumber(name) && isJsonObject(row));
  return isIndexed ? entries.map(([, row]) => row) : undefined;
}

interface FoundRows {
  readonly raws: readonly unknown[];
  /** Deviation of the list from the contract, for the counts of dialects. */
  readonly dialect?: string;
}

/** Rows of a list; null counts as empty; undefined: the value is no list. */
export function rowsAt(value: unknown, at: string): FoundRows | undefined {
  if (Array.isArray(value)) return { raws: value };
  if (value === null) return { raws: [], dialect: `${at}=null` };
  const indexed = isJsonObject(value) ? indexedRows(value) : undefined;
  const isEmpty = indexed?.length === 0;
  return indexed && { raws: indexed, dialect: `${at}=${isEmpty ? '{}' : '{"0": …}'}` };
}

/** Rows under the name of a list; they may stand by id there, and a single one alone. */
function rowsUnder(value: unknown, member: string): FoundRows | undefined {
  const found = rowsAt(value, member);
  if (found || !isJsonObject(value)) return found;
  const raws = itemsOf(value);
  return raws
    ? { raws, dialect: `${member}={"id": …}` }
    : { raws: [value], dialect: `${member}={…} (one)` };
}

/** Rows under `member` of the data, or in place of the data; undefined: there is no list. */
export function rowsIn(data: unknown, member: string): FoundRows | undefined {
  if (isJsonObject(data) && Object.hasOwn(data, member)) return rowsUnder(data[member], member);
  // An empty object in place of the data may be any answer, so it is no list.
  if (isJsonObject(data) && Object.keys(data).length === 0) return undefined;
  const found = data === undefined ? undefined : rowsAt(data, `data (${member})`);
  return found && { dialect: `data=[] (${member})`, ...found };
}

/** Row count that the service states for a list; undefined: absent or unreadable. */
export function countIn(data: unknown): number | undefined {
  const count = isJsonObject(data) ? data.count : undefined;
  return countSchema.safeParse(count).data ?? undefined;
}

/** Whether the data has no members, so that no list can hide under another name. */
export function isNothing(data: unknown): boolean {
  if (data === undefined || data === null) return true;
  return isJsonObject(data) && Object.keys(data).every((name) => name === 'count');
}

export function oddData(request: HttpRequest, problem: Omit<Reject, 'raw'>): Error {
  const { path, reason } = problem;
  const at = path === '' ? 'data' : `data.${path}`;
  return errorOfBrokenAnswer(askedOf(request), new Error(`${at}: ${reason}`));
}
