/**
 * Every knob of the reference service, with its default: what the world looks like, how it lives
 * and where it behaves differently from the plain reading of the wire contract. A knob that is
 * left out of a file or a control request has the value written here.
 *
 * Times are milliseconds of the service's clock; as text they may carry a unit (`15m`).
 */
import { z } from 'zod';
import { dialectSchema, v1Schema } from './dialect-knobs.ts';
import { faultSchema, webhookFaultSchema } from './fault-knobs.ts';
import { count, duration, share, size } from './knob-types.ts';

const off = z.boolean().default(false);

const deviationSchema = z.strictObject({
  /** Another header carries the token (in lower case); null is the usual one. */
  tokenHeader: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/, 'no header name in lower case, e.g. x-api-token')
    .nullable()
    .default(null),
  /** V2's log-in answers `{token}` without `data`. */
  v2TokenFlat: off,
  /** The list of orders begins with the oldest of the page. */
  ordersOldestFirst: off,
  /** `count` of a page of variants counts the page. */
  countOfPage: off,
  /** `pricing` is there for every key that asks. */
  pricingForEveryone: off,
  /** A 422 has no `invalid_data`. */
  invalidDataMissing: off,
  /** Deprecated paths do not say so. */
  deprecationHidden: off,
  /** `included` is the array of plain JSON:API. */
  includedArray: off,
  /** Collections have no `meta.pageToken`. */
  pageTokenMissing: off,
  /** `links.prev` of a first page leads to itself. */
  prevOnFirstPage: off,
  /** V2 answers as plain `application/json`. */
  plainMediaType: off,
});

/**
 * Size and seed of the world. Variants = styles × colors × sizes; those of the newest season are
 * not in stock yet (with more than one season), so the default gives 20,000 rows of stock.
 */
const worldKnobs = z.strictObject({
  seed: z.number().int().min(0).max(4_294_967_295).default(7),
  brands: size(10, 200),
  styles: size(1_250, 200_000),
  /** Per style. */
  colors: size(4, 12),
  /** Rows per style and color; where a style is also sold in assortments, one of them is one. */
  sizes: size(5, 10),
  seasons: size(5, 12),
  accounts: size(60, 10_000),
  /** Orders that exist before the first one arrives. */
  orders: count(40, 100_000),
});

const lifeKnobs = z.strictObject({
  ordersPerMinute: z.number().min(0).max(6_000).default(12),
  /** Variants per minute whose stock is filled up. */
  restocksPerMinute: z.number().min(0).max(6_000).default(6),
  /** From the order to its packed delivery. */
  packAfter: duration('6s'),
  /** Packing times are drawn from ± this share of `packAfter`. */
  packJitter: share(0.5),
  /** Share of orders that are packed in several deliveries. */
  splitShare: share(0.15),
  /** Share of arriving orders that are pre-orders of the newest season. */
  preOrderShare: share(0.2),
  /** From acceptance to shipping; an accepted delivery that has shipped no longer moves. */
  shipAfter: duration('30s'),
  /** From rejection to the next packed delivery of the same order. */
  repackAfter: duration('45s'),
  /** Share of packed deliveries that the service itself cancels when nobody decided in time. */
  cancelShare: share(0.03),
  cancelAfter: duration('10m'),
  /** Share of shipped deliveries that the customer sends back in part. */
  refundShare: share(0.05),
  refundAfter: duration('2m'),
  /** From a pending refund to the refund that confirms it; 0 means by hand only. */
  confirmRefundAfter: duration('30s'),
});

const orderKnobs = z.strictObject({
  freightRequired: z.boolean().default(false),
  duplicateReference: z.enum(['create', 'conflict']).default('create'),
  rejectFromAccepted: z.enum(['conflict', 'allow']).default('conflict'),
  idempotencyKey: z.enum(['ignore', 'honour']).default('ignore'),
  /** A new order is missing from the list (not from its own address) for this long. */
  listingLag: duration('0s'),
  /** Share of created orders that take effect only after the request was answered with 504. */
  lateCommitShare: share(0),
  lateCommitAfter: duration('20s'),
});

const authKnobs = z.strictObject({
  tokenLifetime: duration('15m'),
  /** At most one log-in per key in this time. */
  loginSpacing: duration('6s'),
});

const pagingKnobs = z.strictObject({
  /** Rows of a variant page without `limit`; null gives the whole list. */
  variantsDefault: z.number().int().min(1).max(250).nullable().default(null),
  orders: size(50, 250),
  /** Life of V2's page tokens. */
  tokenLifetime: duration('10m'),
});

/** Keys that exist from the start; their secrets are drawn from chance unless given. */
const keyKnobs = z.strictObject({
  name: z.string().min(1),
  kind: z.enum(['plain', 'b2b']).default('plain'),
  detailedPricing: z.boolean().default(false),
  /** A read-only key is a read token: variants, brands, freight and seasons, GET only. */
  readOnly: z.boolean().default(false),
  webhooks: z.boolean().default(true),
  clientId: z.string().min(1).optional(),
  clientSecret: z.string().min(1).optional(),
});

const rateKnobs = z.strictObject({
  /** Requests per key and second, with as many at once; 0 is without limit. */
  perSecond: z.number().min(0).max(1_000_000).default(20),
  /** Requests that each include of a V2 request costs beside the request itself. */
  includeCost: z.number().min(0).max(1_000).default(0),
});

const journalKnobs = z.strictObject({
  /** Requests kept; the oldest go first. */
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
  /** Refuse what the wire contract does not name, instead of passing over it. */
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

/** Reads the knobs again at each use, because they change at run time. */
export type CurrentKnobs = () => Knobs;
