/** Route that forgets stored names and addresses of the people in an order: `/api/forget`. */
import { z } from 'zod';
import type { Actor } from '../store/audit.ts';
import { actorWithReason } from './actor.ts';
import type { RouteGroup } from './api.ts';

const forgetBody = z.strictObject({ ...actorWithReason, order: z.string().min(1).max(200) });

export function forgetRoutes(forget: (order: string, who: Actor) => Promise<object>): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/forget', async ({ body }) => {
        const { order, ...who } = forgetBody.parse(body);
        return forget(order, who);
      });
    },
  };
}
