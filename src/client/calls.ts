/** Options of calls to the service and results of reads, common to V1 and V2. */
import type { Priority } from './http/limiter.ts';
import type { SentFor } from './http/request.ts';
import type { Usage } from './http/usage.ts';

export interface CallOptions {
  readonly priority?: Priority | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Usage counters to which the call's requests add. */
  readonly usage?: Usage | undefined;
  /** Called with the HTTP status of each answer to a writing request. */
  readonly onStatus?: ((status: number) => void) | undefined;
  /**
   * Called when a writing request gets its slot in the limiter; may throw to hold the request back.
   */
  readonly beforeSend?: (() => void) | undefined;
  /** Says what a writing request is for. */
  readonly sentFor?: (() => SentFor) | undefined;
}

/** An answer of the service, checked; `startedAt` (epoch ms) tells how old it is. */
export interface Read<T> {
  readonly value: T;
  readonly startedAt: number;
}
