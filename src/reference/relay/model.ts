/** Records that the relay keeps. Times are epoch milliseconds of the relay's own clock. */

export interface Endpoint {
  /** `ep_…` */
  readonly id: string;
  readonly url: string;
  readonly description: string;
  /** Null: every type. */
  readonly eventTypes: readonly string[] | null;
  /** Why nothing is sent there; null while it is enabled. */
  readonly disabledReason: string | null;
  /** When the first message was given up since the last success. */
  readonly failingSince: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface SigningKey {
  /** `whsec_<base64>` */
  readonly secret: string;
  /** Null: the current key. A rotated key signs until then. */
  readonly expiresAt: number | null;
}

export interface Message {
  /** `msg_…`: the same on every attempt and on a re-send. */
  readonly id: string;
  readonly eventType: string;
  readonly eventId: string | null;
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

/** Only a scheduled attempt is tried again by itself. */
type JobKind = 'scheduled' | 'manual' | 'duplicate';

export type JobFault = 'wrong_signature' | 'stale_timestamp' | null;

/** An attempt that is still to be made; it leaves the queue when its outcome is recorded. */
export interface Job {
  readonly seq: number;
  readonly messageId: string;
  readonly endpointId: string;
  /** 0 for the first attempt. */
  readonly number: number;
  readonly kind: JobKind;
  readonly dueAt: number;
  readonly fault: JobFault;
}

export type NewJob = Omit<Job, 'seq'>;

export interface Attempt {
  /** `atmpt_…` */
  readonly id: string;
  readonly messageId: string;
  readonly endpointId: string;
  readonly url: string;
  readonly status: 'success' | 'failed';
  /** 0 when there was no answer. */
  readonly responseStatus: number;
  /** The first bytes of the answer, or why there was none. */
  readonly response: string;
  readonly durationMs: number;
  readonly trigger: 'scheduled' | 'manual';
  readonly at: number;
}

/** Page of a list, newest first; `iterator` continues after the last row. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly iterator: string | null;
  readonly prevIterator: string | null;
  readonly done: boolean;
}

/** Page wishes; a `limit` above {@link PAGE_LIMIT_MAX} is cut. */
export interface PageQuery {
  readonly limit?: number | undefined;
  readonly iterator?: string | undefined;
}

export const PAGE_LIMIT_DEFAULT = 50;
export const PAGE_LIMIT_MAX = 250;
