/** How the rows of each entity come from the service: by which schema, and by which stream. */
import type { z } from 'zod';
import {
  deliverySchema,
  pendingRefundSchema,
  REFUND_TYPES,
  refundSchema,
  salesOrderSchema,
  variantSchema,
} from '../client/v1/schemas.ts';
import { SHORT_LISTS as lists } from '../client/v1/short-lists.ts';
import { resourceSchemas } from '../client/v2/resources.ts';
import { V1_STREAMS, V2_STREAMS } from '../config/lists.ts';
import { STATUSES } from '../config/statuses.ts';
import { SEASON_VARIANT } from '../mirror/catalog/entities.ts';
import { SHORT_LISTS } from '../mirror/catalog/names.ts';
import { PDM, type PdmStream } from '../mirror/catalog/pdm.ts';
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
  ...V1_STREAMS.map((stream) => ({
    definition: SHORT_LISTS[stream],
    schema: lists[stream].schema,
    stream,
  })),
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
  ...V2_STREAMS.map(resource),
];

export function sourceOf(entity: string): Source | undefined {
  return SOURCES.find(({ definition }) => definition.entity === entity);
}

/** Entities whose rows a stream delivers; both order streams deliver those of orders. */
export function sourcesOfStream(stream: string): readonly Source[] {
  const own = stream === 'orders' || stream === 'ordersFull' ? undefined : stream;
  return SOURCES.filter((source) => source.stream === own);
}
