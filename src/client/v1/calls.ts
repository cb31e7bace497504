/** Helpers of the V1 methods: building requests, and reading lists. */
import { z } from 'zod';
import type { CallOptions, Read } from '../calls.ts';
import { isNotFound, isPerhapsNotFound } from '../http/answer.ts';
import type { HttpRequest } from '../http/request.ts';
import { type CheckedRows, checkRows } from '../rows.ts';
import type { Sender } from '../transport.ts';
import type { Brands } from './brands.ts';
import { ask, askData, countIn, isNothing, NO_CONTENT, oddData, rowsIn } from './envelope.ts';
import { isTooLarge, longList } from './long-list.ts';
import type { Dialect, Interpreter } from './schemas.ts';
import type { VariantListOptions } from './variants.ts';

export interface V1Options {
  /** Root of the V1 API without a trailing slash, for example `https://key.example.com/api/v1`. */
  readonly baseUrl: string;
  readonly variants: VariantListOptions;
  /** Query parameter that names a season in the season lists. */
  readonly seasonParameter: string;
  /** Header for the idempotency key of a created order; undefined: none is sent. */
  readonly idempotencyHeader: string | undefined;
  /** Last part of an order's path to its pending refunds, where the account has another one. */
  readonly paths?: { readonly pendingRefunds: string };
  /** Deviations of the account from the contract; default: none. */
  readonly dialect?: Dialect;
  /** Level of the account (config/level.ts), such as `1.4.2`; undefined: V1 with everything. */
  readonly level?: string | undefined;
  /** Brands by which variants are read; undefined: no read names a brand. */
  readonly brands?: Brands | undefined;
}

export interface V1Wire {
  readonly options: V1Options;
  readonly sender: Sender;
  /** Sender for the catalog: variants, brands, freight and seasons. */
  readonly catalog: Sender;
  readonly interpreter: Interpreter;
}

/** A list: valid rows, rejected rows, and the service's count. */
export interface Listing<T> extends CheckedRows<T> {
  readonly count: number | undefined;
  /** Whether the service answered 404: the list is empty, or its address does not exist. */
  readonly isUnknown?: boolean;
  /** Whether that 404 is the service's own, and not one that a gateway may have given. */
  readonly isOwn?: boolean;
  /** Epoch ms at which the list was requested. */
  readonly startedAt: number;
}

export interface RawListing<T> extends Listing<T> {
  /** All received rows of the list in order, rejected ones included. */
  readonly raws: readonly unknown[];
  /** Whether the list goes on behind its last row here, which is reached by a cursor. */
  readonly isCut?: boolean;
}

/** Builds a GET; its priority is `read` unless the call says otherwise. */
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
    usage: call?.usage,
    beforeSend: call?.beforeSend,
    listsErrors: false,
    query,
  };
}

/** Builds the GET of a list that a pull reads. */
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
    sentFor: call?.sentFor,
    listsErrors: false,
    json,
  };
}

/** Translates the rows of a list into the contract's terms. */
export async function allIn<T, L extends Listing<T>>(
  listing: Promise<L>,
  interpret: (row: T) => T,
): Promise<L> {
  const found = await listing;
  return { ...found, rows: found.rows.map(interpret) };
}

/** Translates a single resource into the contract's terms. */
export async function oneIn<T>(
  reading: Promise<Read<T>>,
  interpret: (row: T) => T,
): Promise<Read<T>> {
  const { value, ...read } = await reading;
  return { ...read, value: interpret(value) };
}

/** Reads a list as one body or, where that is too large, row by row. */
export async function list<T>(
  ...[sender, request, member, schema, mayBeAbsent]: Parameters<typeof wholeList<T>>
): Promise<RawListing<T>> {
  try {
    return await wholeList(sender, request, member, schema, mayBeAbsent);
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    return longList(sender, request, member, schema, false);
  }
}

/**
 * Reads the list under `member` of `data`. Null and 204 are empty lists, unless the answer counts
 * rows. A missing list is empty below an existing resource (`mayBeAbsent`), or if counted as 0;
 * otherwise the answer is broken.
 */
export async function wholeList<T>(
  sender: Sender,
  request: HttpRequest,
  member: string,
  schema: z.ZodType<T>,
  mayBeAbsent = false,
): Promise<RawListing<T>> {
  const { data, status, startedAt } = await askData(sender, request);
  const count = countIn(data);
  const isNone = status === NO_CONTENT || count === 0;
  const isAbsent = (mayBeAbsent || isNone) && isNothing(data);
  const dialect = `${member}=${status === NO_CONTENT ? NO_CONTENT : 'absent'}`;
  const found = rowsIn(data, member) ?? (isAbsent ? { raws: [], dialect } : undefined);
  const isDenied = found?.dialect !== undefined && found.raws.length === 0 && (count ?? 0) > 0;
  if (!found || isDenied) throw oddData(request, { path: member, reason: 'there is no list' });
  const { raws } = found;
  if (found.dialect !== undefined) sender.note(request, found.dialect);
  return { ...checkRows(schema, raws, sender.decimals), raws, count, startedAt };
}

/** Options of a list below an order. */
export interface BelowOptions extends CallOptions {
  /** Read of the order itself, if the caller makes it anyway: it proves that the order exists. */
  readonly order?: Promise<Read<unknown>> | undefined;
}

/** Reads an order only to prove that it exists. */
function askOrder(wire: V1Wire, orderId: number, call: CallOptions | undefined) {
  const shape = z.looseObject({ orderId: z.coerce.number().pipe(z.literal(orderId)) });
  return ask(wire.sender, get(wire, `/orders/${orderId}`, call), shape);
}

/**
 * Reads a list below an order. A 404 means an empty list if the order itself exists; otherwise it
 * is the caller's error.
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
    return {
      rows: [],
      rejects: [],
      count: undefined,
      startedAt,
      isUnknown: true,
      isOwn: isNotFound(error),
    };
  }
}
