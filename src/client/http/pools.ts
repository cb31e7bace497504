/** undici's connection pools by origin: one for reads, one for writes. */
import type * as undici from 'undici';
import { ConfigError } from '../../lib/errors.ts';
import { Pool } from '../../lib/http-client/undici.ts';
import { type OutgoingProxy, type Route, tlsOf, tunnelled } from './tunnel.ts';

export interface PoolOptions extends Route {
  readonly connectionsMax: number;
  readonly connectMs: number;
}

export interface Pools {
  of(origin: string, safe: boolean): undici.Pool;
  /** Makes new connections with these certificates; open ones end with their requests. */
  renew(certificates: Pick<Route, 'caText' | 'client'>): void;
  destroy(): Promise<void>;
}

/**
 * Milliseconds that a connection may be idle and still be reused for a write; an older one may be
 * dead.
 */
const RECENT_MS_MAX = 1_000;
const KEEP_ALIVE_MS = 15_000;

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Requires TLS outside of this machine, because credentials travel in headers. */
function requireSecrecy(origin: string): void {
  const url = new URL(origin);
  if (url.protocol === 'https:') return;
  if (url.protocol === 'http:' && LOOPBACK.test(url.hostname)) return;
  throw new ConfigError('config.base_url', `the base URL must be https: ${origin}`, {
    hint: 'plain http is allowed for this machine itself only',
  });
}

/** The proxy for an address; addresses of this machine never use one. */
export function proxyFor(origin: string, { proxy }: Route): OutgoingProxy | undefined {
  return LOOPBACK.test(new URL(origin).hostname) ? undefined : proxy;
}

export function createPools(options: PoolOptions): Pools {
  const pools = new Map<string, undici.Pool>();
  /** Pools of former certificates whose requests are still on their way. */
  const retired = new Set<undici.Pool>();
  let route = options;
  return {
    of(origin, safe) {
      const key = `${origin} ${safe}`;
      const known = pools.get(key);
      if (known) return known;
      requireSecrecy(origin);
      const proxy = proxyFor(origin, options);
      const idleMs = safe ? KEEP_ALIVE_MS : RECENT_MS_MAX;
      const pool = new Pool(origin, {
        connections: options.connectionsMax,
        pipelining: 1,
        allowH2: false,
        keepAliveTimeout: idleMs,
        keepAliveMaxTimeout: idleMs,
        connect: proxy
          ? tunnelled(proxy, route, options.connectMs)
          : { timeout: options.connectMs, ...tlsOf(route) },
      });
      pools.set(key, pool);
      return pool;
    },
    renew({ caText, client }) {
      route = { ...options, caText, client };
      for (const pool of pools.values()) {
        retired.add(pool);
        void pool.close().then(
          () => retired.delete(pool),
          () => retired.delete(pool),
        );
      }
      pools.clear();
    },
    async destroy() {
      await Promise.all([...pools.values(), ...retired].map((pool) => pool.destroy()));
    },
  };
}
