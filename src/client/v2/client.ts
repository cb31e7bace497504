/**
 * V2, the style and product API (JSON:API): collections, single resources and writes for every
 * resource type of docs/wire.md, "V2 (JSON:API)". Errors are those of transport, session and paging
 * (pages.ts).
 */
import type { CallOptions, Read } from '../calls.ts';
import { errorOfBrokenAnswer } from '../http/answer.ts';
import { askedOf, type HttpRequest } from '../http/request.ts';
import { createPagingMemories } from '../paging.ts';
import { checkRows } from '../rows.ts';
import type { Sender } from '../transport.ts';
import { askDocument, type Included, readIncluded, singleSchema } from './document.ts';
import { pullCollection, type V2Pages, type V2Paging } from './pages.ts';
import {
  RESOURCE_PATHS,
  type ResourceId,
  type ResourceOf,
  type ResourceType,
  resourceSchemas,
} from './resources.ts';

export interface V2Options {
  /** Root of the V2 API without a trailing slash, for example `https://key.example.com/api/v2`. */
  readonly baseUrl: string;
  readonly paging: V2Paging;
  /** Paths of collections below `/pdm`, where the account has others. */
  readonly paths?: Readonly<Partial<Record<ResourceType, string>>>;
  /** False when the account knows no sparse fieldsets, so that whole resources are requested. */
  readonly sparseFields?: boolean;
  /** Media type of written bodies; default: that of JSON:API. */
  readonly mediaType?: string;
}

interface V2Query {
  /** Relationship paths whose resources are included: `brand`, `styleColors.color`. */
  readonly include?: readonly string[] | undefined;
  /**
   * Names of fields to return, by type, for primary and included resources; an unlisted type comes
   * whole.
   */
  readonly fields?: Readonly<Partial<Record<ResourceType, readonly string[]>>> | undefined;
  readonly filter?: Readonly<Record<string, string | boolean>> | undefined;
}

interface V2PullOptions extends CallOptions {
  /** Position to resume from: `next` of the last page that was kept. */
  readonly from?: string | undefined;
}

interface V2Read<R> extends Read<R> {
  readonly included: Included;
}

/** Parts of a resource that a write sends. */
interface ResourceInput {
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  readonly relationships?:
    | Readonly<Record<string, { readonly data: ResourceId | readonly ResourceId[] | null }>>
    | undefined;
}

export interface V2Client {
  collection<T extends ResourceType>(
    type: T,
    query?: V2Query,
    call?: V2PullOptions,
  ): V2Pages<ResourceOf<T>>;
  resource<T extends ResourceType>(
    type: T,
    id: string,
    query?: V2Query,
    call?: CallOptions,
  ): Promise<V2Read<ResourceOf<T>>>;
  create<T extends 'style' | 'brand' | 'type'>(
    type: T,
    input: ResourceInput,
    call?: CallOptions,
  ): Promise<V2Read<ResourceOf<T>>>;
  update<T extends 'style' | 'brand' | 'type'>(
    type: T,
    id: string,
    input: ResourceInput,
    call?: CallOptions,
  ): Promise<V2Read<ResourceOf<T>>>;
}

const MEDIA_TYPE = 'application/vnd.api+json';

function parametersOf(query: V2Query | undefined, isSparse: boolean): Record<string, string> {
  const parameters: Record<string, string> = {};
  if (query?.include?.length) parameters.include = query.include.join(',');
  for (const [type, fields] of Object.entries((isSparse && query?.fields) || {})) {
    parameters[`fields_${type}`] = fields.join(',');
  }
  for (const [name, value] of Object.entries(query?.filter ?? {})) {
    parameters[`filter[${name}]`] = String(value);
  }
  return parameters;
}

/** Reads a single resource of V2. */
async function askOne<T extends ResourceType>(
  sender: Sender,
  request: HttpRequest,
  type: T,
): Promise<V2Read<ResourceOf<T>>> {
  const { value: document, startedAt } = await askDocument(sender, request, singleSchema);
  const { rows, rejects } = checkRows(resourceSchemas[type], [document.data]);
  const [value] = rows;
  if (value !== undefined) {
    return { value, startedAt, included: readIncluded(document.included) };
  }
  const [reject] = rejects;
  const problem = new Error(`data.${reject?.path}: ${reject?.reason}`);
  throw errorOfBrokenAnswer(askedOf(request), problem);
}

type WriteMethods = Pick<V2Client, 'create' | 'update'>;

/** URL path of a collection, or of one of its resources. */
function pathOf({ paths }: V2Options, type: ResourceType, id?: string): string {
  const path = `/pdm/${paths?.[type] ?? RESOURCE_PATHS[type]}`;
  return id === undefined ? path : `${path}/${encodeURIComponent(id)}`;
}

function writeMethods(options: V2Options, sender: Sender): WriteMethods {
  const headers = { 'content-type': options.mediaType ?? MEDIA_TYPE };
  const write = (
    method: 'POST' | 'PATCH',
    path: string,
    data: ResourceInput & { readonly type: ResourceType; readonly id?: string },
    call: CallOptions | undefined,
  ): HttpRequest => ({
    method,
    url: options.baseUrl + path,
    priority: call?.priority ?? 'push',
    signal: call?.signal,
    onStatus: call?.onStatus,
    beforeSend: call?.beforeSend,
    sentFor: call?.sentFor,
    json: { data },
    headers,
  });
  return {
    create: (type, input, call) =>
      askOne(sender, write('POST', pathOf(options, type), { type, ...input }, call), type),
    update: (type, id, input, call) =>
      askOne(sender, write('PATCH', pathOf(options, type, id), { type, id, ...input }, call), type),
  };
}

export function createV2Client(options: V2Options, sender: Sender): V2Client {
  const memoryOf = createPagingMemories();
  const get = (
    path: string,
    query: V2Query | undefined,
    call: CallOptions | undefined,
    priority: 'read' | 'pull',
  ): HttpRequest => ({
    method: 'GET',
    url: options.baseUrl + path,
    query: parametersOf(query, options.sparseFields ?? true),
    priority: call?.priority ?? priority,
    signal: call?.signal,
    usage: call?.usage,
  });
  return {
    collection(type, query, call) {
      const request = get(pathOf(options, type), query, call, 'pull');
      const memory = memoryOf(request.url);
      const { paging } = options;
      return pullCollection({ sender, type, request, paging, from: call?.from, memory });
    },
    resource: (type, id, query, call) =>
      askOne(sender, get(pathOf(options, type, id), query, call, 'read'), type),
    ...writeMethods(options, sender),
  };
}
