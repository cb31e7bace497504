/** Options and results common to both APIs. */
import type { Priority } from './http/limiter.ts';
import type { Usage } from './http/usage.ts';

export interface CallOptions {
  readonly priority?: Priority | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Usage counters for the call's requests. */
  readonly usage?: Usage | undefined;
  /** Called with the HTTP status of each answer to a writing request. */
  readonly onStatus?: ((status: number) => void) | undefined;
  /** Called when a writing request gets its slot; may throw to hold it back. */
  readonly beforeSend?: (() => void) | undefined;
}

/** A checked answer; `startedAt` (epoch ms) tells how old it is. */
export interface Read<T> {
  readonly value: T;
  readonly startedAt: number;
}
