/** Drift meter per V1 shape, with the values that the contract lists. */
import { STATUSES } from '../../config/statuses.ts';
import { createDriftMeter, type DriftMeter, type KnownValues } from '../drift.ts';
import {
  brandSchema,
  deliverySchema,
  freightOptionSchema,
  pendingRefundSchema,
  refundSchema,
  salesOrderSchema,
  seasonSchema,
  variantSchema,
} from './schemas.ts';

const SCHEMAS = {
  brand: brandSchema,
  freightOption: freightOptionSchema,
  season: seasonSchema,
  variant: variantSchema,
  salesOrder: salesOrderSchema,
  delivery: deliverySchema,
  refund: refundSchema,
  pendingRefund: pendingRefundSchema,
} as const;

const REFUND_TYPES = [
  'claim/credit',
  'claim/replace',
  'claim/price_reduction',
  'return/credit',
  'price_reduction/credit',
] as const;

const VALUES: Readonly<Partial<Record<keyof typeof SCHEMAS, KnownValues>>> = {
  variant: { variantType: ['size', 'assortment'] },
  salesOrder: { status: STATUSES.order },
  delivery: { status: STATUSES.delivery },
  refund: {
    status: STATUSES.refund,
    'refundedLineItems.refundType': REFUND_TYPES,
  },
  pendingRefund: {
    status: STATUSES.pendingRefund,
    'refundLineItems.refundType': REFUND_TYPES,
  },
};

export function v1DriftMeter(kind: keyof typeof SCHEMAS): DriftMeter {
  return createDriftMeter(SCHEMAS[kind], VALUES[kind]);
}
