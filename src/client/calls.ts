/** What a caller of either API gives along and gets back. */
import type { Priority } from './http/limiter.ts';
import type { Tally } from './http/tally.ts';

export interface CallOptions {
  readonly priority?: Priority | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told what the requests of the call cost besides themselves. */
  readonly tally?: Tally | undefined;
  /** Told the HTTP status of each answer to a request that changes something. */
  readonly onStatus?: ((status: number) => void) | undefined;
  /** Asked when the turn of a request that changes something has come: may throw, to hold it. */
  readonly beforeSend?: (() => void) | undefined;
}

/** A checked answer; `startedAt` (epoch ms) says how old the knowledge is. */
export interface Read<T> {
  readonly value: T;
  readonly startedAt: number;
}
