/** The pulls: when each runs, how old its data may get, and what it may delete unasked. */
import { z } from 'zod';
import { choice, cron, decimal, duration, flag, whole } from './fields.ts';

/** What every stream has; a new stream adds its own settings to these. */
function stream() {
  return z.strictObject({
    enabled: flag(),
    schedule: cron(),
    jitter: duration('0s', '1h'),
    freshness: duration('1s', '90d'),
    deletionGuard: z.strictObject({
      absolute: whole(0, 100_000_000),
      share: decimal(0, 1, '0.1'),
    }),
  });
}

export function streamsSection() {
  // One for all: to build one for each takes as long as all the rest of the schema.
  const same = stream();
  const priced = { detailed: flag(), detailedPricing: flag() };
  return z.strictObject({
    brands: same,
    freight: same,
    seasons: same,
    stock: same.extend({
      ...priced,
      includeVariantsOnOrder: flag(),
      unlisted: choice('unknown', 'zero'),
    }),
    season: same.extend(priced),
    // A short walk says nothing about what is gone: no deletion guard.
    orders: same.omit({ deletionGuard: true }).extend({ refunds: flag(), pendingRefunds: flag() }),
    ordersFull: same.extend({ closedOrders: whole(0, 1_000_000) }),
    styles: same,
    styleColors: same,
    colors: same,
    pdmBrands: same,
    types: same,
    genders: same,
    countries: same,
  });
}
