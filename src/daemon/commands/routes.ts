/** Routes of the local API on the daemon as a whole: pauses, raw calls, plane. */
import type { RouteGroup } from '../../local-api/api.ts';
import { pauseRoutes } from '../../local-api/pause-routes.ts';
import { planeRoutes } from '../../local-api/plane-routes.ts';
import type { Pauses } from '../../store/pauses.ts';
import type { SqliteStore } from '../../store/store.ts';
import { type CallerDeps, callRoutes } from './call.ts';
import { changeFeed } from './plane.ts';

export function commandRoutes(
  deps: CallerDeps & { readonly store: SqliteStore; readonly pauses: Pauses },
): readonly RouteGroup[] {
  return [
    pauseRoutes(deps.pauses),
    callRoutes(deps),
    planeRoutes((action, who) => changeFeed(deps, action, who)),
  ];
}
