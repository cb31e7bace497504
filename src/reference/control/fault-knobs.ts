/** Faults of the answers, as knobs: where, what, how likely, how often and when. */
import { z } from 'zod';
import { duration, share } from './knob-types.ts';

/** Kinds of faults. Those of the body act on the answer, so their request has taken effect. */
const FAULT_KINDS = [
  'latency',
  'tooMany',
  'serverError',
  'maintenance',
  'unauthorized',
  'reset',
  'truncated',
  'malformed',
  'wrongTypes',
  'unknownMember',
  'emptyList',
  'nullList',
  'repeatedRow',
  'byteOrderMark',
  'drip',
  'padded',
  'gzipBomb',
] as const;

export const faultSchema = z.strictObject({
  kind: z.enum(FAULT_KINDS),
  /** Path pattern, `*` stands for any characters. */
  path: z.string().min(1).default('*'),
  /** Method that the fault applies to, or every method. */
  method: z.enum(['*', 'GET', 'POST', 'PATCH', 'DELETE']).default('*'),
  /**
   * Before the route ran, or after it took effect and before the client hears of it. For latency,
   * tooMany, serverError, maintenance, unauthorized and reset.
   */
  moment: z.enum(['before', 'after']).default('before'),
  probability: share(1),
  seed: z.number().int().min(0).max(4_294_967_295).default(1),
  /** How many times it happens at most; null is without end. */
  count: z.number().int().min(0).nullable().default(null),
  /** The window begins this long after the fault was set… */
  startsAfter: duration('0s'),
  /** …and lasts this long; null is without end. */
  lasts: duration('0s').nullable().default(null),
  /** The delay of latency, and of each piece of a drip. */
  delay: duration('1s'),
  /** Status of a serverError. */
  status: z.number().int().min(500).max(599).default(503),
  /**
   * Body of a serverError, maintenance, tooMany or unauthorized. The usual one is a page for the
   * first two, and the error of the API that was asked for the others.
   */
  body: z.enum(['usual', 'html', 'json', 'text', 'none']).default('usual'),
  /** Seconds in `Retry-After` of a tooMany; null leaves the header out. */
  retryAfter: z.number().int().min(0).nullable().default(1),
  /** Form of `Retry-After`; a date is one of the service's clock. */
  retryAfterAs: z.enum(['seconds', 'date']).default('seconds'),
  /** Bytes sent before a truncated answer ends, and bytes of each piece of a drip. */
  bytes: z.number().int().min(1).max(1_048_576).default(64),
  /** White space behind a padded answer, plain or packed by a gzipBomb. */
  padding: z.number().int().min(1).max(1_073_741_824).default(104_857_600),
  /**
   * Length that a truncated answer announces: of what is sent, or of the whole, which breaks the
   * connection.
   */
  contentLength: z.enum(['right', 'wrong']).default('right'),
});

export type Fault = z.output<typeof faultSchema>;

/** How the relay misbehaves; decided per message when it is published. */
export const webhookFaultSchema = z.strictObject({
  seed: z.number().int().min(0).max(4_294_967_295).default(1),
  /** Share that is recorded and never sent. */
  lost: share(0),
  /** Share that is sent a second time with the same id. */
  duplicated: share(0),
  /** Share that is held back, so that later ones overtake it… */
  reordered: share(0),
  /** …for up to this long. */
  reorderMax: duration('2s'),
  /** Share that is held back for long. */
  late: share(0),
  lateBy: duration('1m'),
  /** Share whose first attempt is signed with a key that nobody knows. */
  wrongSignature: share(0),
  /** Share whose first attempt carries a time that is long past. */
  staleTimestamp: share(0),
});

export type WebhookFaults = z.output<typeof webhookFaultSchema>;
