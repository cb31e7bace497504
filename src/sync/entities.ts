/** How the rows of each entity come from the service: by which schema, and by which stream. */
import type { z } from 'zod';
import {
  brandSchema,
  deliverySchema,
  freightOptionSchema,
  pendingRefundSchema,
  REFUND_TYPES,
  refundSchema,
  salesOrderSchema,
  seasonSchema,
  variantSchema,
} from '../client/v1/schemas.ts';
import { resourceSchemas } from '../client/v2/resources.ts';
import { PDM_STREAMS } from '../config/schema/streams.ts';
import { STATUSES } from '../config/statuses.ts';
import { SEASON_VARIANT } from '../mirror/catalog/entities.ts';
import { BRAND, FREIGHT_OPTION, SEASON } from '../mirror/catalog/names.ts';
import { isPdmStream, PDM, type PdmStream } from '../mirror/catalog/pdm.ts';
import { STOCK_VARIANT } from '../mirror/catalog/variant.ts';
import { PENDING_REFUND, REFUND } from '../mirror/refund.ts';
import type { EntityDefinition } from '../mirror/rows/prepared.ts';
import { DELIVERY, SALES_ORDER } from '../mirror/sales-order.ts';

export interface Source {
  readonly definition: EntityDefinition;
  readonly schema: z.ZodType;
  /** Stream that delivers the rows; undefined: they belong to an order, which is read again. */
  readonly stream?: string;
  /** Values that the contract lists, by the path of their member. */
  readonly values?: Readonly<Record<string, readonly string[]>>;
}

function resource(stream: PdmStream): Source {
  const values = stream === 'styleColors' ? { 'attributes.noosType': ['none', 'noos'] } : {};
  return { definition: PDM[stream], schema: resourceSchemas[PDM[stream].type], stream, values };
}

const variants = { schema: variantSchema, values: { variantType: ['size', 'assortment'] } };

const SOURCES: readonly Source[] = [
  { definition: BRAND, schema: brandSchema, stream: 'brands' },
  { definition: FREIGHT_OPTION, schema: freightOptionSchema, stream: 'freight' },
  { definition: SEASON, schema: seasonSchema, stream: 'seasons' },
  { definition: STOCK_VARIANT, stream: 'stock', ...variants },
  { definition: SEASON_VARIANT, stream: 'season', ...variants },
  { definition: SALES_ORDER, schema: salesOrderSchema, values: { status: STATUSES.order } },
  { definition: DELIVERY, schema: deliverySchema, values: { status: STATUSES.delivery } },
  {
    definition: REFUND,
    schema: refundSchema,
    values: { status: STATUSES.refund, 'refundedLineItems.refundType': REFUND_TYPES },
  },
  {
    definition: PENDING_REFUND,
    schema: pendingRefundSchema,
    values: { status: STATUSES.pendingRefund, 'refundLineItems.refundType': REFUND_TYPES },
  },
  ...PDM_STREAMS.filter(isPdmStream).map(resource),
];

export function sourceOf(entity: string): Source | undefined {
  return SOURCES.find(({ definition }) => definition.entity === entity);
}

/** Entities whose rows a stream delivers; both order streams deliver those of orders. */
export function sourcesOfStream(stream: string): readonly Source[] {
  const own = stream === 'orders' || stream === 'ordersFull' ? undefined : stream;
  return SOURCES.filter((source) => source.stream === own);
}
