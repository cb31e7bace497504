/**
 * Rate limit of requests per second and key: a bucket that fills evenly and holds one second's
 * worth.
 */
import type { Clock } from '../../lib/clock.ts';

export interface RateLimit {
  /**
   * Takes a request of the key, which may cost as much as several. Returns 0 when it may pass, else
   * the seconds to wait (at least 1).
   */
  take(key: string, perSecond: number, cost?: number): number;
  clear(): void;
}

/**
 * Maximum number of keys with a bucket; more are strangers who try names, and the oldest bucket
 * makes room.
 */
const BUCKETS_MAX = 1_000;

export function createRateLimit(clock: Clock): RateLimit {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return {
    clear: () => buckets.clear(),
    take(key, perSecond, cost = 1) {
      if (perSecond === 0) return 0;
      const holds = Math.max(1, perSecond);
      const now = clock.monotonic();
      const bucket = buckets.get(key) ?? { tokens: holds, at: now };
      const tokens = Math.min(holds, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
      // A request that costs more than the bucket holds passes when the bucket is full.
      const price = Math.min(cost, holds);
      const passes = tokens >= price;
      buckets.set(key, { tokens: passes ? tokens - price : tokens, at: now });
      const oldest = buckets.size > BUCKETS_MAX ? buckets.keys().next() : undefined;
      if (oldest && !oldest.done) buckets.delete(oldest.value);
      return passes ? 0 : Math.max(1, Math.ceil((price - tokens) / perSecond));
    },
  };
}
