/** Routes that replay events and open the relay's portal. */
import { z } from 'zod';
import type { PortalLink } from '../client/portal-link.ts';
import type { EventOperations } from '../inbox/operations.ts';
import type { Actor } from '../store/audit.ts';
import { actorFields } from './actor.ts';
import type { RouteGroup } from './api.ts';

/** Most event ids of one request; more events are replayed by time. */
const IDS_MAX = 10_000;

const replayBody = z
  .strictObject({
    ...actorFields,
    ids: z.array(z.string().min(1).max(256)).min(1).max(IDS_MAX).optional(),
    since: z.int().optional(),
  })
  .refine(({ ids, since }) => (ids === undefined) !== (since === undefined), {
    error: 'either ids or since',
  });
const plainBody = z.strictObject(actorFields);

export interface EventRouteDeps {
  readonly events: EventOperations;
  /** Makes a link into the relay's portal, which works once and opens all of it. */
  readonly openPortal: (actor: Actor) => Promise<PortalLink>;
}

export function eventRoutes({ events, openPortal }: EventRouteDeps): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/events/replay', ({ body }) => {
        const { ids, since, ...who } = replayBody.parse(body);
        return events.replay(ids ? { ids } : { since: since ?? 0 }, who);
      });
      app.post('/api/portal/open', async ({ body }, reply) => {
        const { url, expiresAt } = await openPortal(plainBody.parse(body));
        reply.header('cache-control', 'no-store');
        return { url: url.reveal(), expiresAt: expiresAt ?? null };
      });
    },
  };
}
