/** What a caller of either API gives along and gets back. */
import type { Priority } from './http/limiter.ts';

export interface CallOptions {
  readonly priority?: Priority | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A checked answer; `startedAt` (epoch ms) says how old the knowledge is. */
export interface Read<T> {
  readonly value: T;
  readonly startedAt: number;
}
