/** Route that sends a test message through each channel: `/api/notify/test`. */
import { z } from 'zod';
import type { TriedChannel } from '../ops/notify/try-channels.ts';
import type { Actor } from '../store/audit.ts';
import { actorFields } from './actor.ts';
import type { RouteGroup } from './api.ts';

const body = z.strictObject(actorFields);

export function notifyRoutes(test: (actor: Actor) => Promise<readonly TriedChannel[]>): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/notify/test', async (request) => ({
        channels: await test(body.parse(request.body)),
      }));
    },
  };
}
