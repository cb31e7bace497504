/**
 * Settings of the streams: when each is pulled, how old its data may get, and how much it may
 * delete without a person.
 */
import { z } from 'zod';
import { choice, cron, decimal, duration, flag, whole } from './fields.ts';

const HOUR_MS = 3_600_000;

/**
 * What of a stream is no setting: the limits of the deletion guard, in rows and as a share (a run
 * that deletes more waits for a person); when the lists of V2 run that hardly ever change; and how
 * many closed orders a walk over all orders reads again.
 */
const CONSTANTS = {
  brands: { deletionGuard: { absolute: 20, share: 0.2 } },
  freight: { deletionGuard: { absolute: 10, share: 0.3 } },
  seasons: { deletionGuard: { absolute: 3, share: 0.3 } },
  ordersFull: { deletionGuard: { absolute: 100, share: 0.05 }, closedOrders: 2_000 },
};

/** The same of V2's streams, which are all of them. */
const V2 = {
  styles: { deletionGuard: { absolute: 200, share: 0.1 } },
  styleColors: { deletionGuard: { absolute: 500, share: 0.1 } },
  colors: {
    schedule: '21 */3 * * *',
    freshness: 7 * HOUR_MS,
    deletionGuard: { absolute: 50, share: 0.2 },
  },
  pdmBrands: {
    schedule: '22 */3 * * *',
    freshness: 7 * HOUR_MS,
    deletionGuard: { absolute: 20, share: 0.2 },
  },
  types: {
    schedule: '24 */3 * * *',
    freshness: 7 * HOUR_MS,
    deletionGuard: { absolute: 20, share: 0.2 },
  },
  genders: {
    schedule: '26 */12 * * *',
    freshness: 25 * HOUR_MS,
    deletionGuard: { absolute: 5, share: 0.3 },
  },
  countries: {
    schedule: '28 */12 * * *',
    freshness: 25 * HOUR_MS,
    deletionGuard: { absolute: 20, share: 0.2 },
  },
};

/** Names of the streams that are read from V2. */
export const PDM_STREAMS: readonly string[] = Object.keys(V2);

export function streamsSection() {
  // The schema of usual streams is built once: one for each would take as long as all the rest.
  const usual = z.strictObject({ schedule: cron(), freshness: duration('1s', '90d') });
  const guarded = usual.extend({
    deletionGuard: z.strictObject({ absolute: whole(0, 100_000_000), share: decimal(0, 1, '0.1') }),
    detailedPricing: flag(),
  });
  const streams = {
    brands: usual,
    freight: usual,
    seasons: usual,
    stock: guarded.extend({ detailed: flag(), includeVariantsOnOrder: flag() }),
    season: guarded.extend({ detailed: flag() }),
    orders: usual.extend({
      calmFreshness: duration('1m', '90d'),
      refunds: flag(),
      pendingRefunds: flag(),
    }),
    ordersFull: usual,
    styles: usual,
    styleColors: usual,
  };
  const names = Object.keys({ ...streams, ...CONSTANTS, ...V2 });
  const off = z.array(choice(...names)).register(z.globalRegistry, {
    expected: 'a list of names of streams',
    example: '[freight, countries]',
  });
  const section = z.strictObject({ off, ...streams });
  return section.transform(({ brands, freight, seasons, ordersFull, ...written }) => ({
    ...CONSTANTS,
    ...V2,
    ...written,
    brands: { ...brands, ...CONSTANTS.brands },
    freight: { ...freight, ...CONSTANTS.freight },
    seasons: { ...seasons, ...CONSTANTS.seasons },
    ordersFull: { ...ordersFull, ...CONSTANTS.ordersFull },
    styles: { ...written.styles, ...V2.styles },
    styleColors: { ...written.styleColors, ...V2.styleColors },
  }));
}
