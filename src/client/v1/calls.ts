/** What the V1 methods share: how a request is made, and how a list is read. */
import { z } from 'zod';
import type { CallOptions } from '../calls.ts';
import type { HttpRequest } from '../http/request.ts';
import { type CheckedRows, checkRows } from '../rows.ts';
import type { Sender } from '../transport.ts';
import { askLoosely } from './envelope.ts';
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

/** A list under `member` of `data`: null and absent are broken answers, not empty lists. */
export async function list<T>(
  sender: Sender,
  request: HttpRequest,
  member: string,
  schema: z.ZodType<T>,
): Promise<RawListing<T>> {
  const shape = z.looseObject({ [member]: z.array(z.unknown()), count: countSchema });
  const { value, startedAt } = await askLoosely(sender, request, shape);
  const given: unknown = value[member];
  const raws: readonly unknown[] = Array.isArray(given) ? given : [];
  const count = typeof value.count === 'number' ? value.count : undefined;
  return { ...checkRows(schema, raws), raws, count, startedAt };
}
