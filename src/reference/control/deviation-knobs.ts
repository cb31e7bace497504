/**
 * Where an account differs from the wire contract: each knob is one difference. They let the
 * service stand for such an account, and the conformance suite show that it sees the difference.
 */
import { z } from 'zod';

const off = z.boolean().default(false);

export const deviationSchema = z.strictObject({
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
