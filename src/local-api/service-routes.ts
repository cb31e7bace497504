/** Route that sends one raw request to the service for a person: `/api/service/call`. */
import { z } from 'zod';
import type { RawAnswer, RawCall } from '../client/raw-call.ts';
import type { Actor } from '../store/audit.ts';
import { actorFields } from './actor.ts';
import type { RouteGroup } from './api.ts';

const body = z.strictObject({
  ...actorFields,
  api: z.enum(['v1', 'v2']),
  method: z.enum(['GET', 'POST', 'PATCH']),
  path: z.string().max(2_000),
  json: z.unknown().optional(),
});

export function serviceRoutes(
  call: (call: RawCall, actor: Actor) => Promise<RawAnswer>,
): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/service/call', (request) => {
        const { actor, reason, ...wanted } = body.parse(request.body);
        return call(wanted, { actor, reason });
      });
    },
  };
}
