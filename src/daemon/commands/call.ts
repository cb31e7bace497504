/** Calls of the service that a person composes, with the daemon's transport and limits. */
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
  /** The service's clock minus ours, in ms; null: the service does not tell its time. */
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

/** Whether a call is a log-in, whose body may hold a secret not named by a configuration. */
function isLogIn(path: string): boolean {
  return path.includes('/auth/login');
}

/** Creates the caller. A call that may change something is written into the audit first. */
export function createServiceCaller({ store, service, clock }: CallerDeps): ServiceCaller {
  return async (call, actor, signal) => {
    const target = service.raw[call.api];
    if (!target) {
      throw new RefusedError('api.no_v2', 'V2 is not enabled', { hint: 'service.v2.enabled' });
    }
    const { api, method, path } = call;
    if (method !== 'GET') {
      const act = { action: 'service.call', subject: `${api} ${method} ${path}` };
      // A body that is no valid JSON after its secrets were removed is kept as text.
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
