/**
 * Acts of the command line, below `/api/acts/`: those of the console, with the same members and
 * refusals. The token may do everything, so that no role is asked for.
 */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { type BoundAct, perform } from '../surface/perform.ts';
import { actorFields } from './actor.ts';
import type { RouteGroup } from './api.ts';

const actParams = z.object({ name: z.string().max(100) });
const actBody = z.strictObject({
  ...actorFields,
  given: z.record(z.string(), z.unknown()),
  dryRun: z.boolean().default(false),
});

export function actRoutes(acts: readonly BoundAct[], clock: Clock): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/acts/:name', async ({ params, body }) => {
        const { actor, ...request } = actBody.parse(body);
        const asked = { act: actParams.parse(params).name, ...request };
        const asker = { role: null, actor: (reason: string) => ({ actor, reason }) };
        return perform(acts, asked, asker, clock.now());
      });
    },
  };
}
