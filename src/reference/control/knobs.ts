/**
 * All knobs of the reference service, with their defaults: what the world looks like, how it lives,
 * and where it differs from the plain reading of the wire contract. A knob that is left out of a
 * file or a control request has its default.
 *
 * Times are milliseconds of the service's clock; as text they may have a unit (`15m`).
 */
import { z } from 'zod';
import { dialectSchema, v1Schema } from './dialect-knobs.ts';
import { faultSchema, webhookFaultSchema } from './fault-knobs.ts';
import { count, duration, share, size } from './knob-types.ts';

const off = z.boolean().default(false);

const deviationSchema = z.strictObject({
  /** Name of another header for the token, in lower case; null: the usual header. */
  tokenHeader: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/, 'no header name in lower case, e.g. x-api-token')
    .nullable()
    .default(null),
  /** Whether V2's log-in answers `{token}` without `data`. */
  v2TokenFlat: off,
  /** Whether a page of the list of orders begins with its oldest order. */
  ordersOldestFirst: off,
  /** Whether `count` of a page of variants counts that page only. */
  countOfPage: off,
  /** Whether every key that asks gets `pricing`. */
  pricingForEveryone: off,
  /** Whether a 422 lacks `invalid_data`. */
  invalidDataMissing: off,
  /** Whether deprecated paths answer without the headers that say so. */
  deprecationHidden: off,
  /** Whether `included` is an array, as in plain JSON:API. */
  includedArray: off,
  /** Whether collections lack `meta.pageToken`. */
  pageTokenMissing: off,
  /** Whether `links.prev` of a first page leads to that page itself. */
  prevOnFirstPage: off,
  /** Whether V2 answers with the plain media type `application/json`. */
  plainMediaType: off,
});

/**
 * Knobs for size and seed of the world. It has styles × colors × sizes variants. Those of the
 * newest season are not in stock yet (with more than one season), so the default gives 20,000 rows
 * of stock.
 */
const worldKnobs = z.strictObject({
  seed: z.number().int().min(0).max(4_294_967_295).default(7),
  brands: size(10, 200),
  styles: size(1_250, 200_000),
  /** Number of colors per style. */
  colors: size(4, 12),
  /**
   * Number of variants per style and color; if a style is also sold in assortments, the assortment
   * is one of them.
   */
  sizes: size(5, 10),
  seasons: size(5, 12),
  accounts: size(60, 10_000),
  /** Number of orders that exist before the first one arrives. */
  orders: count(40, 100_000),
});

const lifeKnobs = z.strictObject({
  ordersPerMinute: z.number().min(0).max(6_000).default(12),
  /** Number of variants per minute whose stock is filled up. */
  restocksPerMinute: z.number().min(0).max(6_000).default(6),
  /** Time from an order to its packed delivery. */
  packAfter: duration('6s'),
  /** Share of `packAfter` by which packing times vary, up or down. */
  packJitter: share(0.5),
  /** Share of orders that are packed in several deliveries. */
  splitShare: share(0.15),
  /** Share of arriving orders that are pre-orders of the newest season. */
  preOrderShare: share(0.2),
  /** Time from acceptance to shipping; after that, an accepted delivery keeps its status. */
  shipAfter: duration('30s'),
  /** Time from a rejection to the next packed delivery of the same order. */
  repackAfter: duration('45s'),
  /** Share of packed deliveries that the service itself cancels when nobody decided in time. */
  cancelShare: share(0.03),
  cancelAfter: duration('10m'),
  /** Share of shipped deliveries of which the customer sends a part back. */
  refundShare: share(0.05),
  refundAfter: duration('2m'),
  /** Time from a pending refund to the refund that confirms it; 0: only an operator confirms it. */
  confirmRefundAfter: duration('30s'),
});

const orderKnobs = z.strictObject({
  freightRequired: z.boolean().default(false),
  duplicateReference: z.enum(['create', 'conflict']).default('create'),
  rejectFromAccepted: z.enum(['conflict', 'allow']).default('conflict'),
  idempotencyKey: z.enum(['ignore', 'honour']).default('ignore'),
  /**
   * Time for which a new order is missing from the list of orders, but not from its own address.
   */
  listingLag: duration('0s'),
  /** Share of created orders that take effect only after their request was answered with 504. */
  lateCommitShare: share(0),
  lateCommitAfter: duration('20s'),
});

const authKnobs = z.strictObject({
  tokenLifetime: duration('15m'),
  /** Shortest time between two log-ins of one key. */
  loginSpacing: duration('6s'),
});

const pagingKnobs = z.strictObject({
  /** Number of rows of a variant page without `limit`; null: the whole list. */
  variantsDefault: z.number().int().min(1).max(250).nullable().default(null),
  orders: size(50, 250),
  /** Time for which V2's page tokens are valid. */
  tokenLifetime: duration('10m'),
});

/** Keys that exist from the start; their secrets are random unless given. */
const keyKnobs = z.strictObject({
  name: z.string().min(1),
  kind: z.enum(['plain', 'b2b']).default('plain'),
  detailedPricing: z.boolean().default(false),
  /** Whether the key is a read token: for variants, brands, freight and seasons, GET only. */
  readOnly: z.boolean().default(false),
  webhooks: z.boolean().default(true),
  clientId: z.string().min(1).optional(),
  clientSecret: z.string().min(1).optional(),
});

const rateKnobs = z.strictObject({
  /** Requests per second that a key may make, with as many at once; 0: without limit. */
  perSecond: z.number().min(0).max(1_000_000).default(20),
  /** Number of requests that each include of a V2 request costs beside the request itself. */
  includeCost: z.number().min(0).max(1_000).default(0),
});

const journalKnobs = z.strictObject({
  /** Number of requests that the journal keeps; the oldest are removed first. */
  size: size(10_000, 1_000_000),
});

export const knobsSchema = z.strictObject({
  world: worldKnobs.prefault({}),
  life: lifeKnobs.prefault({}),
  orders: orderKnobs.prefault({}),
  auth: authKnobs.prefault({}),
  paging: pagingKnobs.prefault({}),
  rates: rateKnobs.prefault({}),
  journal: journalKnobs.prefault({}),
  /**
   * Whether to refuse requests that the wire contract does not name, instead of ignoring what is
   * unknown.
   */
  strict: z.boolean().default(false),
  faults: z.array(faultSchema).max(100).default([]),
  webhooks: webhookFaultSchema.prefault({}),
  deviations: deviationSchema.prefault({}),
  v1: v1Schema.prefault({}),
  dialect: dialectSchema.prefault({}),
  keys: z
    .array(keyKnobs)
    .min(1)
    .check(({ value, issues }) => {
      const message = 'another key has this name';
      for (const [index, { name }] of value.entries()) {
        if (value.findIndex((one) => one.name === name) === index) continue;
        issues.push({ code: 'custom', input: name, path: [index, 'name'], message });
      }
    })
    .prefault([
      { name: 'plain', kind: 'plain' },
      { name: 'b2b', kind: 'b2b' },
      { name: 'b2bDetailed', kind: 'b2b', detailedPricing: true },
      { name: 'readOnly', kind: 'plain', readOnly: true, webhooks: false },
    ]),
});

export type Knobs = z.output<typeof knobsSchema>;

/** Gives the present knobs; to be called at each use, because they change at run time. */
export type CurrentKnobs = () => Knobs;
