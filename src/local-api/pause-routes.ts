import { z } from 'zod';
import { PAUSE_TARGETS, type Pauses } from '../store/pauses.ts';
import { actorWithReason } from './actor.ts';
import type { RouteGroup } from './api.ts';

const body = z.strictObject({
  ...actorWithReason,
  target: z.enum(PAUSE_TARGETS),
  /** Kind of push, or stream, to pause or resume; empty: everything that the target has. */
  name: z.string().max(100).default(''),
});

export function pauseRoutes(pauses: Pauses): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      for (const action of ['pause', 'resume'] as const) {
        app.post(`/api/${action}`, async (request) => {
          const { target, name, ...who } = body.parse(request.body);
          const pause = await pauses[action]({ target, name }, who);
          return { pause, paused: pauses.list() };
        });
      }
    },
  };
}
