/** undici's connection pools by origin: one for reads, one for requests with an effect. */
import { Pool } from 'undici';

export interface PoolOptions {
  readonly connectionsMax: number;
  readonly connectMs: number;
  readonly caText: string | undefined;
}

export interface Pools {
  of(origin: string, safe: boolean): Pool;
  destroy(): Promise<void>;
}

/** Connections for requests with an effect are not used again after this pause. */
const RECENT_MS_MAX = 1_000;
const KEEP_ALIVE_MS = 15_000;

export function createPools(options: PoolOptions): Pools {
  const pools = new Map<string, Pool>();
  return {
    of(origin, safe) {
      const key = `${origin} ${safe}`;
      const known = pools.get(key);
      if (known) return known;
      const idleMs = safe ? KEEP_ALIVE_MS : RECENT_MS_MAX;
      const pool = new Pool(origin, {
        connections: options.connectionsMax,
        pipelining: 1,
        allowH2: false,
        keepAliveTimeout: idleMs,
        keepAliveMaxTimeout: idleMs,
        connect: {
          timeout: options.connectMs,
          ...(options.caText === undefined ? {} : { ca: options.caText }),
        },
      });
      pools.set(key, pool);
      return pool;
    },
    async destroy() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
    },
  };
}
