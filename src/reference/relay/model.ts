/** Records that the relay keeps. Times are epoch milliseconds of the relay's own clock. */

export interface Endpoint {
  /** Id of the endpoint: `ep_…`. */
  readonly id: string;
  readonly url: string;
  readonly description: string;
  /** Event types that the endpoint receives; null: every type. */
  readonly eventTypes: readonly string[] | null;
  /** Reason for which nothing is sent to the endpoint; null: it is enabled. */
  readonly disabledReason: string | null;
  /** Time at which the first message since the last success was given up; null: none was. */
  readonly failingSince: number | null;
  /** Index of the account whose events the endpoint receives; null: those of all. */
  readonly account: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface SigningKey {
  /** Secret of the form `whsec_<base64>`. */
  readonly secret: string;
  /** Time until which a rotated key still signs; null: the current key. */
  readonly expiresAt: number | null;
}

export interface Message {
  /** Id of the message, `msg_…`: the same on every attempt and when it is sent again. */
  readonly id: string;
  readonly eventType: string;
  readonly eventId: string | null;
  /** Index of the account that the event is about; null: it is for all. */
  readonly account: number | null;
  /** Exactly the bytes that are signed and sent. */
  readonly body: Buffer;
  readonly createdAt: number;
}

export type DeliveryStatus = 'success' | 'pending' | 'failed';

/** Message on its way to an endpoint. */
export interface Delivery {
  readonly messageId: string;
  readonly endpointId: string;
  readonly status: DeliveryStatus;
  readonly nextAttemptAt: number | null;
}

/** Kind of an attempt; only a scheduled one is repeated by itself. */
type JobKind = 'scheduled' | 'manual' | 'duplicate';

export type JobFault = 'wrong_signature' | 'stale_timestamp' | null;

/** Attempt that is still to be made; it leaves the queue when its outcome is recorded. */
export interface Job {
  readonly seq: number;
  readonly messageId: string;
  readonly endpointId: string;
  /** Number of the attempt; 0 for the message's first. */
  readonly number: number;
  readonly kind: JobKind;
  readonly dueAt: number;
  readonly fault: JobFault;
}

export type NewJob = Omit<Job, 'seq'>;

export interface Attempt {
  /** Id of the attempt: `atmpt_…`. */
  readonly id: string;
  readonly messageId: string;
  readonly endpointId: string;
  readonly url: string;
  readonly status: 'success' | 'failed';
  /** HTTP status of the answer; 0: there was none. */
  readonly responseStatus: number;
  /** First bytes of the answer, or the reason why there was none. */
  readonly response: string;
  readonly durationMs: number;
  readonly trigger: 'scheduled' | 'manual';
  readonly at: number;
}

/**
 * Page of a list, newest first; `iterator` names its last row, after which the next page continues.
 */
export interface Page<T> {
  readonly data: readonly T[];
  readonly iterator: string | null;
  readonly prevIterator: string | null;
  readonly done: boolean;
}

/** Requested part of a list; a `limit` above {@link PAGE_LIMIT_MAX} is reduced to that. */
export interface PageQuery {
  readonly limit?: number | undefined;
  readonly iterator?: string | undefined;
}

export const PAGE_LIMIT_DEFAULT = 50;
export const PAGE_LIMIT_MAX = 250;
