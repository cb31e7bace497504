/** Knobs for faults of answers: where, what, how likely, how often and when. */
import { z } from 'zod';
import { duration, share } from './knob-types.ts';

/** Kinds of faults. Those of the body change only the answer, so their request has taken effect. */
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
  /** Pattern of the paths that the fault applies to; `*` stands for any characters. */
  path: z.string().min(1).default('*'),
  /** Method that the fault applies to; `*`: every method. */
  method: z.enum(['*', 'GET', 'POST', 'PATCH', 'DELETE']).default('*'),
  /**
   * Moment of the fault: before the route runs, or after it took effect and before the client hears
   * of it. For latency, tooMany, serverError, maintenance, unauthorized and reset.
   */
  moment: z.enum(['before', 'after']).default('before'),
  probability: share(1),
  seed: z.number().int().min(0).max(4_294_967_295).default(1),
  /** Maximum number of times that the fault happens; null: without end. */
  count: z.number().int().min(0).nullable().default(null),
  /** Time from setting the fault until its window begins. */
  startsAfter: duration('0s'),
  /** Length of the window in which the fault may happen; null: without end. */
  lasts: duration('0s').nullable().default(null),
  /** Delay of a latency fault, and of each piece of a drip. */
  delay: duration('1s'),
  /** HTTP status of a serverError. */
  status: z.number().int().min(500).max(599).default(503),
  /**
   * Body of a serverError, maintenance, tooMany or unauthorized. The usual one is an HTML page for
   * the first two, and for the others the error of the API that was asked.
   */
  body: z.enum(['usual', 'html', 'json', 'text', 'none']).default('usual'),
  /** Seconds in `Retry-After` of a tooMany; null leaves the header out. */
  retryAfter: z.number().int().min(0).nullable().default(1),
  /** Form of `Retry-After`; a date is one of the service's clock. */
  retryAfterAs: z.enum(['seconds', 'date']).default('seconds'),
  /** Number of bytes sent before a truncated answer ends, and of each piece of a drip. */
  bytes: z.number().int().min(1).max(1_048_576).default(64),
  /** Bytes of white space after a padded answer, sent plain or compressed by a gzipBomb. */
  padding: z.number().int().min(1).max(1_073_741_824).default(104_857_600),
  /**
   * Length that a truncated answer announces: that of what is sent, or that of the whole answer,
   * which breaks the connection.
   */
  contentLength: z.enum(['right', 'wrong']).default('right'),
});

export type Fault = z.output<typeof faultSchema>;

/** Knobs for the relay's misbehaviour, which is decided per message when it is published. */
export const webhookFaultSchema = z.strictObject({
  seed: z.number().int().min(0).max(4_294_967_295).default(1),
  /** Share of messages that are recorded and never sent. */
  lost: share(0),
  /** Share of messages that are sent a second time with the same id. */
  duplicated: share(0),
  /** Share of messages that are held back for a moment, so that later ones overtake them. */
  reordered: share(0),
  /** Longest time for which a reordered message is held back. */
  reorderMax: duration('2s'),
  /** Share of messages that are held back for long, by `lateBy`. */
  late: share(0),
  lateBy: duration('1m'),
  /** Share of messages whose first attempt is signed with an unknown key. */
  wrongSignature: share(0),
  /** Share of messages whose first attempt has a signed time that is long past. */
  staleTimestamp: share(0),
});

export type WebhookFaults = z.output<typeof webhookFaultSchema>;
