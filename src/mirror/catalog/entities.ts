/** All entities of the mirror, as their files declare them: others go through this list. */

import { ERP_CUSTOMER } from '../erp-customer.ts';
import { PENDING_REFUND, REFUND } from '../refund.ts';
import type { EntityDefinition } from '../rows/prepared.ts';
import { DELIVERY, SALES_ORDER } from '../sales-order.ts';
import { SHORT_LISTS } from './names.ts';
import { PDM } from './pdm.ts';
import { STOCK_VARIANT, seasonVariants } from './variant.ts';

/** Orders and what belongs to them. */
export const OF_ORDERS: readonly EntityDefinition[] = [
  DELIVERY,
  SALES_ORDER,
  REFUND,
  PENDING_REFUND,
];

/** Variants of any season. */
export const SEASON_VARIANT: EntityDefinition = seasonVariants('');

export const ENTITIES: readonly EntityDefinition[] = [
  ...OF_ORDERS,
  STOCK_VARIANT,
  SEASON_VARIANT,
  ...Object.values(SHORT_LISTS),
  ...Object.values(PDM),
  ERP_CUSTOMER,
];
