/** What the V1 methods share: how a request is made, and how a list is read. */
import { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import type { CallOptions, Read } from '../calls.ts';
import { isPerhapsNotFound } from '../http/answer.ts';
import type { HttpRequest } from '../http/request.ts';
import { type CheckedRows, checkRows } from '../rows.ts';
import type { Sender } from '../transport.ts';
import { ask, askData, oddData } from './envelope.ts';
import { countSchema } from './schemas.ts';
import type { VariantListOptions } from './variants.ts';

export interface V1Options {
  /** Without a trailing slash, for example `https://key.example.com/api/v1`. */
  readonly baseUrl: string;
  readonly variants: VariantListOptions;
  /** Query parameter that names a season in the season lists. */
  readonly seasonParameter: string;
  /** Header that carries an idempotency key with a created order; undefined: none is sent. */
  readonly idempotencyHeader: string | undefined;
  /** Of what stands elsewhere below an order than is usual. */
  readonly paths?: { readonly pendingRefunds: string };
}

export interface V1Wire {
  readonly options: V1Options;
  readonly sender: Sender;
  /** For variants, brands, freight and seasons. */
  readonly catalog: Sender;
}

/** A list: the good rows, the bad ones put aside, and what the service counted. */
export interface Listing<T> extends CheckedRows<T> {
  readonly count: number | undefined;
  /** Epoch ms of the request. */
  readonly startedAt: number;
}

export interface RawListing<T> extends Listing<T> {
  /** All rows as they came, in their order. */
  readonly raws: readonly unknown[];
}

/** A GET; `read` unless the call says otherwise. */
export function get(
  wire: V1Wire,
  path: string,
  call: CallOptions | undefined,
  query?: HttpRequest['query'],
): HttpRequest {
  return {
    method: 'GET',
    url: wire.options.baseUrl + path,
    priority: call?.priority ?? 'read',
    signal: call?.signal,
    tally: call?.tally,
    listsErrors: false,
    query,
  };
}

/** A GET of a list that belongs to a pull. */
export function pull(
  wire: V1Wire,
  path: string,
  call: CallOptions | undefined,
  query?: HttpRequest['query'],
): HttpRequest {
  return get(wire, path, { ...call, priority: call?.priority ?? 'pull' }, query);
}

export function post(
  wire: V1Wire,
  path: string,
  json: unknown,
  call: CallOptions | undefined,
): HttpRequest {
  return {
    method: 'POST',
    url: wire.options.baseUrl + path,
    priority: call?.priority ?? 'push',
    signal: call?.signal,
    onStatus: call?.onStatus,
    beforeSend: call?.beforeSend,
    listsErrors: false,
    json,
  };
}

const NO_CONTENT = 204;

const INDEX = /^\d{1,15}$/;

/** The rows of a list that is written as `{"0": …, "1": …}`; undefined: it is none. */
function indexedRows(value: Record<string, unknown>): readonly unknown[] | undefined {
  const entries = Object.entries(value);
  const isIndexed = entries.every(([name, row]) => INDEX.test(name) && isJsonObject(row));
  return isIndexed ? entries.map(([, row]) => row) : undefined;
}

interface FoundRows {
  readonly raws: readonly unknown[];
  /** How it differs from the contract. */
  readonly dialect?: string;
}

/** A list where it should be; null stands for one without rows. */
function rowsAt(value: unknown, at: string): FoundRows | undefined {
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

export function countIn(data: unknown): number | undefined {
  const count = isJsonObject(data) ? data.count : undefined;
  return countSchema.safeParse(count).data ?? undefined;
}

/** Data that says nothing at all: no list may hide in it under another name. */
function isNothing(data: unknown): boolean {
  if (data === undefined || data === null) return true;
  return isJsonObject(data) && Object.keys(data).every((name) => name === 'count');
}

/**
 * A list under `member` of `data`. Null and 204 are lists without rows, unless they are counted;
 * what is absent is so below something that is there (`mayBeAbsent`), and broken elsewhere.
 */
export async function list<T>(
  sender: Sender,
  request: HttpRequest,
  member: string,
  schema: z.ZodType<T>,
  mayBeAbsent = false,
): Promise<RawListing<T>> {
  const { data, status, startedAt } = await askData(sender, request);
  const count = countIn(data);
  const isAbsent = (mayBeAbsent || status === NO_CONTENT) && isNothing(data);
  const dialect = `${member}=${status === NO_CONTENT ? NO_CONTENT : 'absent'}`;
  const found = rowsIn(data, member) ?? (isAbsent ? { raws: [], dialect } : undefined);
  const isDenied = found?.dialect !== undefined && found.raws.length === 0 && (count ?? 0) > 0;
  if (!found || isDenied) throw oddData(request, { path: member, reason: 'there is no list' });
  const { raws } = found;
  if (found.dialect !== undefined) sender.note(request, found.dialect);
  return { ...checkRows(schema, raws), raws, count, startedAt };
}

/** Of a list below an order. */
export interface BelowOptions extends CallOptions {
  /** Resolves when the order is there, if its caller reads it anyway. */
  readonly order?: Promise<Read<unknown>> | undefined;
}

/** All that must be known of an order to say that it is there. */
function askOrder(wire: V1Wire, orderId: number, call: CallOptions | undefined) {
  const shape = z.looseObject({ orderId: z.coerce.number().pipe(z.literal(orderId)) });
  return ask(wire.sender, get(wire, `/orders/${orderId}`, call), shape);
}

/**
 * A list below an order, of which 404 may mean that it has no rows: the order itself is there
 * then. Where it is not, the 404 stands.
 */
export async function listBelow<T>(
  wire: V1Wire,
  { orderId, path, member }: { orderId: number; path: string; member: string },
  schema: z.ZodType<T>,
  call: BelowOptions | undefined,
): Promise<Listing<T>> {
  const { sender } = wire;
  const request = get(wire, `/orders/${orderId}/${path}`, call);
  try {
    return await list(sender, request, member, schema, true);
  } catch (error) {
    if (!isPerhapsNotFound(error)) throw error;
    const { startedAt } = await (call?.order ?? askOrder(wire, orderId, call));
    sender.note(request, `${member}=404`);
    return { rows: [], rejects: [], count: undefined, startedAt };
  }
}
