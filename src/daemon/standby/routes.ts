/** Route behind `selvedge standby drill`, below `/api/standby/`. */
import { z } from 'zod';
import { actorFields } from '../../local-api/actor.ts';
import type { RouteGroup } from '../../local-api/api.ts';

const body = z.strictObject({ actor: actorFields.actor, to: z.string().optional() });

/** Has the daemon give its lease away: it stops sending, and waits until PostgreSQL has all. */
export function standbyRoutes(handOver: (to?: string) => Promise<void>): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/standby/hand-over', async (request) => {
        await handOver(body.parse(request.body).to);
        return { handedOver: true };
      });
    },
  };
}
