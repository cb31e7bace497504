/**
 * Settings of the streams: when each is pulled, how old its data may get, and how much it may
 * delete without a person.
 */
import { z } from 'zod';
import { choice, cron, decimal, duration, flag, whole } from './fields.ts';

/**
 * Limits of the deletion guard, in rows and as a share: a run that deletes more waits for a person.
 */
const DELETION_GUARDS = {
  brands: { absolute: 20, share: 0.2 },
  freight: { absolute: 10, share: 0.3 },
  seasons: { absolute: 3, share: 0.3 },
  ordersFull: { absolute: 100, share: 0.05 },
  styles: { absolute: 200, share: 0.1 },
  styleColors: { absolute: 500, share: 0.1 },
  colors: { absolute: 50, share: 0.2 },
  pdmBrands: { absolute: 20, share: 0.2 },
  types: { absolute: 20, share: 0.2 },
  genders: { absolute: 5, share: 0.3 },
  countries: { absolute: 20, share: 0.2 },
} as const;

/** Number of closed orders that a walk over all orders reads again. */
const CLOSED_ORDERS = 2_000;

const HOUR_MS = 3_600_000;

/** Schedules of the V2 lists that hardly ever change: three-hourly and half-daily. */
const V2_LISTS = {
  colors: { schedule: '21 */3 * * *', freshness: 7 * HOUR_MS },
  pdmBrands: { schedule: '22 */3 * * *', freshness: 7 * HOUR_MS },
  types: { schedule: '24 */3 * * *', freshness: 7 * HOUR_MS },
  genders: { schedule: '26 */12 * * *', freshness: 25 * HOUR_MS },
  countries: { schedule: '28 */12 * * *', freshness: 25 * HOUR_MS },
} as const;

/** Adds the constants of a stream to its settings. */
function withConstants<T extends object>(settings: T, name: keyof typeof DELETION_GUARDS) {
  return { ...settings, deletionGuard: DELETION_GUARDS[name] };
}

function listOfV2(name: keyof typeof V2_LISTS) {
  return withConstants(V2_LISTS[name], name);
}

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
  const names = Object.keys({ ...streams, ...V2_LISTS });
  const off = z.array(choice(...names)).register(z.globalRegistry, {
    expected: 'a list of names of streams',
    example: '[freight, countries]',
  });
  const section = z.strictObject({ off, ...streams });
  return section.transform((written) => ({
    ...written,
    brands: withConstants(written.brands, 'brands'),
    freight: withConstants(written.freight, 'freight'),
    seasons: withConstants(written.seasons, 'seasons'),
    ordersFull: { ...withConstants(written.ordersFull, 'ordersFull'), closedOrders: CLOSED_ORDERS },
    styles: withConstants(written.styles, 'styles'),
    styleColors: withConstants(written.styleColors, 'styleColors'),
    colors: listOfV2('colors'),
    pdmBrands: listOfV2('pdmBrands'),
    types: listOfV2('types'),
    genders: listOfV2('genders'),
    countries: listOfV2('countries'),
  }));
}
