/** Calls of the service that a person makes, through the daemon's own transport and limits. */
import { callRaw, type RawAnswer, type RawCall } from '../../client/raw-call.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import type { RouteGroup } from '../../local-api/api.ts';
import { serviceRoutes } from '../../local-api/service-routes.ts';
import { type Actor, writeAudit } from '../../store/audit.ts';
import type { Store } from '../../store/store.ts';
import type { Service } from '../service.ts';

export interface Answered extends RawAnswer {
  readonly tookMs: number;
  /** The service's clock less ours; null: it does not say. */
  readonly clockOffsetMs: number | null;
}

export interface CallerDeps {
  readonly store: Store;
  readonly service: Service;
  readonly clock: Clock;
}

export type ServiceCaller = (
  call: RawCall,
  actor: Actor,
  signal?: AbortSignal,
) => Promise<Answered>;

/** Its body may hold a secret that no configuration has told us yet. */
function isLogIn(path: string): boolean {
  return path.includes('/auth/login');
}

/** Writes every call that may change something into the audit before it is sent. */
export function createServiceCaller({ store, service, clock }: CallerDeps): ServiceCaller {
  return async (call, actor, signal) => {
    const target = service.raw[call.api];
    if (!target) {
      throw new RefusedError('api.no_v2', 'V2 is not enabled', { hint: 'service.v2.enabled' });
    }
    const { api, method, path } = call;
    if (method !== 'GET') {
      const act = { action: 'service.call', subject: `${api} ${method} ${path}` };
      // A body that is no JSON after the secrets were taken out is kept as text.
      const body = service.transport.scrub(JSON.stringify(call.json ?? null));
      const detail = { body: isLogIn(path) ? null : (tryParseJson(body) ?? body) };
      await writeAudit(store.db, { ...actor, ...act, detail }, clock.now());
    }
    const startedAt = clock.monotonic();
    const answer = await callRaw(target, call, signal);
    const { clockOffsetMs = null } = service.transport.stats();
    return { ...answer, tookMs: Math.round(clock.monotonic() - startedAt), clockOffsetMs };
  };
}

export function callRoutes(deps: CallerDeps): RouteGroup {
  return serviceRoutes(createServiceCaller(deps));
}
