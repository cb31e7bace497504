/** What a person may do to the outbox, below `/api/outbox/`. */
import { z } from 'zod';
import type { OutboxReview } from '../outbox/review/operations.ts';
import type { RouteGroup } from './api.ts';
import { asker } from './asker.ts';

export const OUTBOX_STATES = [
  ...(['queued', 'sending', 'sent', 'confirmed'] as const),
  ...(['refused', 'in_doubt', 'dead', 'canceled'] as const),
] as const;

const outboxId = z.int().min(1);
const filter = z.strictObject({
  kind: z.string().max(50).optional(),
  state: z.enum(OUTBOX_STATES).optional(),
  needsAttention: z.boolean().optional(),
});
const many = z.strictObject({ filter, expect: z.int().min(0) });
const selected = z.strictObject({
  ...asker,
  select: z.union([z.strictObject({ outboxId }), many]),
});
const resolved = z.strictObject({
  ...asker,
  outboxId,
  resolution: z.discriminatedUnion('as', [
    z.strictObject({ as: z.enum(['absent', 'noted']) }),
    z.strictObject({ as: z.literal('confirmed'), id: z.string().max(100).nullable() }),
  ]),
});

const manyAbsent = z.strictObject({ ...asker, select: many });

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
