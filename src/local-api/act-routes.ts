/**
 * Acts of the command line, below `/api/acts/`: those of the console, with the same members and
 * refusals. The token may do everything, so that no role is asked for.
 */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { Keep } from '../store/transaction/keep.ts';
import { type BoundAct, perform } from '../surface/perform.ts';
import { actorFields } from './actor.ts';
import type { RouteGroup } from './api.ts';
import { KEPT_HEADER } from './ask.ts';

const actParams = z.object({ name: z.string().max(100) });
const given = z.record(z.string(), z.unknown());
const actBody = z.strictObject({
  ...actorFields,
  given,
  dryRun: z.boolean().default(false),
  things: z.array(given).optional(),
  select: z.strictObject({ filter: given, expect: z.unknown().optional() }).optional(),
});

export function actRoutes(acts: readonly BoundAct[], clock: Clock, keep?: Keep): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/acts/:name', async ({ params, body }, reply) => {
        const { actor, ...request } = actBody.parse(body);
        const asked = { act: actParams.parse(params).name, ...request };
        const as = (reason: string) => ({ actor, reason });
        const asker = { role: null, seesAddresses: true, actor: as };
        const answer = await perform(acts, asked, asker, clock.now());
        const kept = asked.dryRun ? 'kept' : await keep?.();
        if (kept === 'unknown') reply.header(KEPT_HEADER, 'here');
        return answer;
      });
    },
  };
}
