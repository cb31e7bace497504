/**
 * V1, the sales and purchase side: one method per endpoint of docs/wire.md, "V1 endpoints".
 *
 * Reads go out as `read` (single things) or `pull` (lists), writes as `push`. Every answer is
 * checked; rows of lists that do not fit are put aside and the others given. Errors are those of
 * the transport and the session; a write whose answer cannot be understood is InDoubtError.
 * A read-only credential may stand in for the catalog (variants, brands, freight, seasons).
 */
import { z } from 'zod';
import type { Priority } from '../http/limiter.ts';
import type { HttpRequest } from '../http/request.ts';
import { type CheckedRows, checkRows } from '../rows.ts';
import type { Sender } from '../transport.ts';
import { ask, type Read } from './envelope.ts';
import {
  type Brand,
  brandSchema,
  type CreatedOrder,
  createdOrderSchema,
  deliverySchema,
  type PortalLink,
  portalLinkSchema,
  type SalesOrder,
  type SalesOrderDelivery,
  type SettableStatus,
  salesOrderSchema,
  type Variant,
  variantSchema,
} from './schemas.ts';
import { pullVariants, type VariantListOptions, type VariantPull } from './variants.ts';

export interface V1Options {
  /** Without a trailing slash, for example `https://key.example.com/api/v1`. */
  readonly baseUrl: string;
  readonly variants: VariantListOptions;
  /** Header that carries an idempotency key with a created order; undefined: none is sent. */
  readonly idempotencyHeader: string | undefined;
}

export interface V1Deps {
  readonly sender: Sender;
  /** For the catalog, when it has a credential of its own. */
  readonly catalogSender?: Sender | undefined;
}

export interface CallOptions {
  readonly priority?: Priority | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A list: the good rows, the bad ones put aside, and what the service counted. */
export interface Listing<T> extends CheckedRows<T> {
  readonly count: number | undefined;
  readonly startedAt: number;
}

/** How much of a variant is asked for. */
export interface VariantLevel {
  readonly detailed?: boolean | undefined;
  readonly detailedPricing?: boolean | undefined;
  readonly includeVariantsOnOrder?: boolean | undefined;
}

export interface StockQuery extends VariantLevel {
  readonly brandName?: string | undefined;
  readonly styleNo?: string | undefined;
  readonly search?: string | undefined;
}

export interface PullOptions extends CallOptions {
  /** `next` of the last batch that was kept. */
  readonly from?: number | undefined;
}

export interface CreateOrderOptions extends CallOptions {
  readonly idempotencyKey?: string | undefined;
}

export interface V1Client {
  brands(call?: CallOptions): Promise<Listing<Brand>>;
  stock(query: StockQuery, call?: PullOptions): VariantPull;
  stockVariant(barcode: string, level: VariantLevel, call?: CallOptions): Promise<Read<Variant>>;
  /** Newest first; only ids below `beforeOrderId`. */
  orders(beforeOrderId?: number, call?: CallOptions): Promise<Listing<SalesOrder>>;
  order(orderId: number, call?: CallOptions): Promise<Read<SalesOrder>>;
  /** `body` is the wire's own, see order-body.ts; it is sent as it is. */
  createOrder(body: unknown, call?: CreateOrderOptions): Promise<Read<CreatedOrder>>;
  deliveries(orderId: number, call?: CallOptions): Promise<Listing<SalesOrderDelivery>>;
  delivery(
    orderId: number,
    orderDeliveryId: number,
    call?: CallOptions,
  ): Promise<Read<SalesOrderDelivery>>;
  setDeliveryStatus(
    orderId: number,
    orderDeliveryId: number,
    status: SettableStatus,
    call?: CallOptions,
  ): Promise<Read<SalesOrderDelivery>>;
  webhookPortal(call?: CallOptions): Promise<Read<PortalLink>>;
}

interface Wire {
  readonly sender: Sender;
  readonly catalog: Sender;
  readonly options: V1Options;
}

function get(
  wire: Wire,
  path: string,
  call: CallOptions | undefined,
  query?: HttpRequest['query'],
): HttpRequest {
  return {
    method: 'GET',
    url: wire.options.baseUrl + path,
    priority: call?.priority ?? 'read',
    signal: call?.signal,
    query,
  };
}

function post(wire: Wire, path: string, json: unknown, call: CallOptions | undefined): HttpRequest {
  return {
    method: 'POST',
    url: wire.options.baseUrl + path,
    priority: call?.priority ?? 'push',
    signal: call?.signal,
    json,
  };
}

const countSchema = z.int().nullish();

/** A list under `member` of `data`: null and absent are broken answers, not empty lists. */
async function list<S extends z.ZodType>(
  sender: Sender,
  request: HttpRequest,
  member: string,
  schema: S,
): Promise<Listing<z.infer<S>>> {
  const shape = z.looseObject({ [member]: z.array(z.unknown()), count: countSchema });
  const { value, startedAt } = await ask(sender, request, shape);
  const raws: unknown = value[member];
  const count = typeof value.count === 'number' ? value.count : undefined;
  return { ...checkRows(schema, Array.isArray(raws) ? raws : []), count, startedAt };
}

type CatalogMethods = Pick<V1Client, 'brands' | 'stock' | 'stockVariant'>;

function catalogMethods(wire: Wire): CatalogMethods {
  return {
    brands: (call) =>
      list(
        wire.catalog,
        get(wire, '/brands', { priority: 'pull', ...call }),
        'brands',
        brandSchema,
      ),
    stock: (query, call) =>
      pullVariants({
        sender: wire.catalog,
        request: get(wire, '/variants/stock', { priority: 'pull', ...call }, { ...query }),
        options: wire.options.variants,
        from: call?.from,
      }),
    async stockVariant(barcode, level, call) {
      const path = `/variants/stock/${encodeURIComponent(barcode)}`;
      const shape = z.looseObject({ variant: variantSchema });
      const read = await ask(wire.catalog, get(wire, path, call, { ...level }), shape);
      return { value: read.value.variant, startedAt: read.startedAt };
    },
  };
}

type OrderMethods = Omit<V1Client, keyof CatalogMethods>;

function orderMethods(wire: Wire): OrderMethods {
  const { sender, options } = wire;
  const deliveryPath = (orderId: number, id: number): string =>
    `/orders/${orderId}/deliveries/${id}`;
  return {
    orders: (beforeOrderId, call) =>
      list(
        sender,
        get(wire, '/orders', { priority: 'pull', ...call }, { beforeOrderId }),
        'orders',
        salesOrderSchema,
      ),
    order: (orderId, call) => ask(sender, get(wire, `/orders/${orderId}`, call), salesOrderSchema),
    createOrder(body, call) {
      const header = options.idempotencyHeader;
      const key = call?.idempotencyKey;
      const headers = header !== undefined && key !== undefined ? { [header]: key } : undefined;
      return ask(sender, { ...post(wire, '/orders', body, call), headers }, createdOrderSchema);
    },
    deliveries: (orderId, call) =>
      list(sender, get(wire, `/orders/${orderId}/deliveries`, call), 'deliveries', deliverySchema),
    delivery: (orderId, id, call) =>
      ask(sender, get(wire, deliveryPath(orderId, id), call), deliverySchema),
    setDeliveryStatus: (orderId, id, status, call) =>
      ask(sender, post(wire, deliveryPath(orderId, id), { status }, call), deliverySchema),
    webhookPortal: (call) =>
      // Each call makes a new link and changes nothing else: never in doubt.
      ask(sender, { ...post(wire, '/webhook-portal', {}, call), safe: true }, portalLinkSchema),
  };
}

export function createV1Client(options: V1Options, deps: V1Deps): V1Client {
  const { sender } = deps;
  const wire: Wire = { options, sender, catalog: deps.catalogSender ?? sender };
  return { ...catalogMethods(wire), ...orderMethods(wire) };
}
