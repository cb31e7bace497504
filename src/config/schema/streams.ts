/**
 * Settings of the streams: when each is pulled, how old its data may get, and how much it may
 * delete without a person.
 */
import { z } from 'zod';
import { V1_LISTS, V2_LISTS } from '../lists.ts';
import { choice, cron, decimal, duration, flag, whole } from './fields.ts';

/** A walk over all orders: its deletion guard, and how many closed orders it reads again. */
const ORDERS_FULL = { deletionGuard: { absolute: 100, share: 0.05 }, closedOrders: 2_000 };

/** Each list by its name, with its settings and what of it is none. */
function withSettings(written: Readonly<Record<string, object | undefined>>) {
  const lists = Object.entries({ ...V1_LISTS, ...V2_LISTS });
  return Object.fromEntries(
    lists.map(([name, { fixed }]) => [name, { ...written[name], ...fixed }]),
  );
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
  const names = Object.keys({ ...streams, ...V1_LISTS, ...V2_LISTS });
  const off = z.array(choice(...names)).register(z.globalRegistry, {
    expected: 'a list of names of streams',
    example: '[freight, countries]',
  });
  return z.strictObject({ off, ...streams }).transform(({ ordersFull, ...written }) => ({
    ...written,
    ...withSettings(written),
    ordersFull: { ...ordersFull, ...ORDERS_FULL },
  }));
}
