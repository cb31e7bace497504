/** Routes that retry, cancel and resolve pushes, below `/api/outbox/`. */
import { z } from 'zod';
import type { OutboxReview } from '../outbox/review/operations.ts';
import { OUTBOX_STATES } from '../store/tables.ts';
import { actorFields } from './actor.ts';
import type { RouteGroup } from './api.ts';

const outboxId = z.int().min(1);
const filter = z.strictObject({
  kind: z.string().max(50).optional(),
  state: z.enum(OUTBOX_STATES).optional(),
  needsAttention: z.boolean().optional(),
});
const many = z.strictObject({ filter, expect: z.int().min(0) });
const selected = z.strictObject({
  ...actorFields,
  select: z.union([z.strictObject({ outboxId }), many]),
});
const resolved = z.strictObject({
  ...actorFields,
  outboxId,
  resolution: z.discriminatedUnion('as', [
    z.strictObject({ as: z.enum(['absent', 'noted']) }),
    z.strictObject({ as: z.literal('confirmed'), id: z.string().max(100).nullable() }),
  ]),
});

const manyAbsent = z.strictObject({ ...actorFields, select: many });

export function outboxRoutes(review: OutboxReview): RouteGroup {
  const act = (body: unknown, name: 'retry' | 'cancel') => {
    const { select, ...who } = selected.parse(body);
    return review[name](select, who);
  };
  return {
    access: 'operator',
    install(app) {
      app.post('/api/outbox/retry', ({ body }) => act(body, 'retry'));
      app.post('/api/outbox/cancel', ({ body }) => act(body, 'cancel'));
      app.post('/api/outbox/resolve', ({ body }) => {
        const { outboxId: id, resolution, ...who } = resolved.parse(body);
        return review.resolve(id, resolution, who);
      });
      app.post('/api/outbox/absent', ({ body }) => {
        const { select, ...who } = manyAbsent.parse(body);
        return review.resolveAbsent(select, who);
      });
    },
  };
}
