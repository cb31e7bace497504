/** Routes that start and end the feed for the copy in PostgreSQL: `/api/plane/init`, `…/remove`. */
import { z } from 'zod';
import type { Actor } from '../store/audit.ts';
import { actorFields } from './actor.ts';
import type { RouteGroup } from './api.ts';

const body = z.strictObject(actorFields);

export function planeRoutes(
  change: (action: 'init' | 'remove', who: Actor) => Promise<object>,
): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      for (const action of ['init', 'remove'] as const) {
        app.post(`/api/plane/${action}`, (request) => change(action, body.parse(request.body)));
      }
    },
  };
}
