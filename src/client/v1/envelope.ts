/**
 * V1's envelope: `{status, message, data}` around everything, `data` checked by a schema. Accounts
 * that write the status as text or a word, leave the envelope away or lay its members beside those
 * of the data are read as well, and noted. What tells of a failure is never taken for data.
 */
import { z } from 'zod';
import { cutDeep, isJsonObject } from '../../lib/json.ts';
import { isRowNumber } from '../../lib/json-rows/keyed.ts';
import { parseOddJson } from '../../lib/reading/odd-json.ts';
import type { Read } from '../calls.ts';
import { errorOfAnswer, errorOfBrokenAnswer, errorOfPage } from '../http/answer.ts';
import type { AnswerHeaders } from '../http/exchange.ts';
import { askedOf, type HttpRequest, isSafe } from '../http/request.ts';
import { failureIn, statusIn } from '../http/said.ts';
import { firstProblem, type Reject, rowReader, tooDeep } from '../rows.ts';
import { type Answer, decodeJson, type Sender } from '../transport.ts';
import { countSchema } from './schemas.ts';

const UNAUTHORIZED = 401;

/** Words for a success in the place of the status. */
const SUCCESS = new Set<unknown>(['ok', 'success', 'true', true]);
/** Words for a failure there. No order has such a status, so that they are none of the data. */
const FAILURE = new Set<unknown>(['error', 'fail', 'failure', 'false', false, 0]);

function wordOf(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

/** Members of the envelope; what stands beside them is data. */
const OWN: ReadonlySet<string> = new Set([
  ...['status', 'message', 'success', 'code', 'errors', 'error', 'invalid_data'],
]);

interface Opened {
  readonly data: unknown;
  /** The status that it names; undefined: it names none. */
  readonly status: number | undefined;
  /** How it differs from the contract. */
  readonly dialect?: string;
  /** The failure that it tells of without a status. */
  readonly failure?: string | undefined;
}

/** An object that is no envelope of the contract. */
function openOther(json: Record<string, unknown>, status: number | undefined): Opened {
  const word = wordOf(json.status);
  if (Object.hasOwn(json, 'data')) {
    const how = status === undefined && !SUCCESS.has(word) ? 'none' : 'text';
    return { data: json.data, status, dialect: `envelope.status=${how}` };
  }
  // The status of an order is no part of an envelope.
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

/** The `data` of a parsed answer. Throws when it tells of a failure under a 2xx. */
export function dataOf(
  sender: Pick<Sender, 'scrub' | 'note'>,
  request: HttpRequest,
  json: unknown,
  headers: AnswerHeaders,
): unknown {
  const asked = { ...askedOf(request), scrub: sender.scrub };
  const { data, status = 200, dialect, failure } = openEnvelope(json);
  if (failure !== undefined) throw errorOfBrokenAnswer(asked, new Error(`it says ${failure}`));
  if (status >= 200 && status < 300) {
    if (dialect !== undefined) sender.note(request, dialect);
    return data;
  }
  // Its own clock is not needed: a failure inside a 2xx carries no Retry-After of its own.
  throw errorOfAnswer(asked, { status, headers, text: JSON.stringify(cutDeep(json)) }, 0);
}

/**
 * For decoders: throws when the envelope says under a 2xx that the token was refused. The session
 * takes it as it takes a 401.
 */
export function throwIfUnauthorized(sender: Sender, request: HttpRequest, json: unknown): void {
  if (!isJsonObject(json) || statusIn(json.status) !== UNAUTHORIZED) return;
  dataOf(sender, request, json, {});
}

/** JSON; what says that the token was refused is thrown. */
export function decoderOf(sender: Sender, request: HttpRequest): (body: Buffer) => unknown {
  return (body) => {
    const json = decodeJson(body, parseOddJson);
    throwIfUnauthorized(sender, request, json);
    return json;
  };
}

/** An answer that may have no body. */
export const NO_CONTENT = 204;

interface Enveloped extends Omit<Answer<unknown>, 'value'> {
  readonly data: unknown;
  /** The answer names itself a success: the service wrote it. */
  readonly isOwn: boolean;
}

/** Sends the request and gives the `data` of the answer as it came. */
export async function askData(sender: Sender, request: HttpRequest): Promise<Enveloped> {
  const { value: json, ...answer } = await sender.send(request, decoderOf(sender, request));
  const { status, headers } = answer;
  // A program that has broken off says nothing, either.
  if (json === undefined && status !== NO_CONTENT) {
    throw errorOfPage({ ...askedOf(request), scrub: sender.scrub }, '');
  }
  const word = isJsonObject(json) ? json.status : undefined;
  const isOwn = status === NO_CONTENT || statusIn(word) !== undefined || SUCCESS.has(wordOf(word));
  return { ...answer, data: dataOf(sender, request, json, headers), isOwn };
}

/** An object without members is written as a list by some. */
function unlessEmptyList(sender: Sender, request: HttpRequest, data: unknown): unknown {
  if (!Array.isArray(data) || data.length > 0) return data;
  sender.note(request, 'data=[] (for an object)');
  return {};
}

/** What stands under `member` of the data; some answer the thing itself in its place. */
function thingIn(sender: Sender, request: HttpRequest, data: unknown, member: string): unknown {
  if (!isJsonObject(data) || Object.hasOwn(data, member)) {
    return isJsonObject(data) ? data[member] : data;
  }
  sender.note(request, `data={} (${member})`);
  return data;
}

/** Sends the request and gives its `data`, or the `member` of it, in the shape of the schema. */
export async function ask<T>(
  sender: Sender,
  request: HttpRequest,
  schema: z.ZodType<T>,
  member?: string,
): Promise<Read<T>> {
  const { data: came, startedAt } = await askData(sender, request);
  const whole = unlessEmptyList(sender, request, came);
  const data = member === undefined ? whole : thingIn(sender, request, whole, member);
  // What had an effect had it, whatever else the answer says.
  const read = rowReader(schema)(isSafe(request) ? data : cutDeep(data));
  if ('problem' in read) throw oddData(request, read.problem);
  const deep = tooDeep(read.value);
  if (deep) throw oddData(request, deep);
  return { value: read.value, startedAt };
}

const named = z.looseObject({ status: z.string().min(1) });

/** What a status was set to, and the thing as the answer shows it. */
export interface StatusSet {
  readonly status: string;
  /** Anything, or nothing at all. */
  readonly shown: unknown;
}

/** Sets a status: a success says that it is set, whatever else the answer says or leaves away. */
export async function askStatus(
  sender: Sender,
  request: HttpRequest,
  wanted: string,
): Promise<Read<StatusSet>> {
  const { data, startedAt, isOwn } = await askData(sender, request);
  const told = named.safeParse(data);
  const shown = cutDeep(data);
  if (told.success) return { value: { status: told.data.status, shown }, startedAt };
  if (!isOwn) throw oddData(request, firstProblem(told.error));
  sender.note(request, 'data=other (in the answer to a status)');
  return { value: { status: wanted, shown }, startedAt };
}

/** The rows of a list that is written as `{"0": …, "1": …}`; undefined: it is none. */
function indexedRows(value: Record<string, unknown>): readonly unknown[] | undefined {
  const entries = Object.entries(value);
  const isIndexed = entries.every(([name, row]) => isRowNumber(name) && isJsonObject(row));
  return isIndexed ? entries.map(([, row]) => row) : undefined;
}

interface FoundRows {
  readonly raws: readonly unknown[];
  /** How it differs from the contract. */
  readonly dialect?: string;
}

/** A list where it should be; null stands for one without rows. */
export function rowsAt(value: unknown, at: string): FoundRows | undefined {
  if (Array.isArray(value)) return { raws: value };
  if (value === null) return { raws: [], dialect: `${at}=null` };
  const indexed = isJsonObject(value) ? indexedRows(value) : undefined;
  const isEmpty = indexed?.length === 0;
  return indexed && { raws: indexed, dialect: `${at}=${isEmpty ? '{}' : '{"0": …}'}` };
}

/** The list under `member` of the data, or in its place; undefined: there is none. */
export function rowsIn(data: unknown, member: string): FoundRows | undefined {
  if (isJsonObject(data) && Object.hasOwn(data, member)) return rowsAt(data[member], member);
  // An object without members may be any answer.
  if (isJsonObject(data) && Object.keys(data).length === 0) return undefined;
  const found = data === undefined ? undefined : rowsAt(data, `data (${member})`);
  return found && { dialect: `data=[] (${member})`, ...found };
}

/** The count that the service gives of a list; one that cannot be read is unknown. */
export function countIn(data: unknown): number | undefined {
  const count = isJsonObject(data) ? data.count : undefined;
  return countSchema.safeParse(count).data ?? undefined;
}

/** Data that says nothing at all: no list may hide in it under another name. */
export function isNothing(data: unknown): boolean {
  if (data === undefined || data === null) return true;
  return isJsonObject(data) && Object.keys(data).every((name) => name === 'count');
}

export function oddData(request: HttpRequest, problem: Omit<Reject, 'raw'>): Error {
  const { path, reason } = problem;
  const at = path === '' ? 'data' : `data.${path}`;
  return errorOfBrokenAnswer(askedOf(request), new Error(`${at}: ${reason}`));
}
