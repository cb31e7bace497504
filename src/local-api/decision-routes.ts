/** Route for a person's decisions about deliveries. */
import { z } from 'zod';
import { RELEASE_REASONS, REVIEW_ACTIONS, type Review } from '../decisions/review/review.ts';
import { actorWithReason } from './actor.ts';
import type { RouteGroup } from './api.ts';

/** Deliveries of one request; more than that nobody has looked at one by one. */
const DELIVERIES_MAX = 500;

const delivery = z.string().min(1).max(100);
const reviewBody = z.strictObject({
  ...actorWithReason,
  action: z.enum(REVIEW_ACTIONS),
  deliveries: z.array(delivery).min(1).max(DELIVERIES_MAX),
  why: z.enum(RELEASE_REASONS).optional(),
  toRules: z.boolean().optional(),
  ifRejectWaits: z.boolean().optional(),
  confirmed: z.array(delivery).max(DELIVERIES_MAX).optional(),
});

export function reviewRoutes(review: Review): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/deliveries/review', async ({ body }) => {
        const { deliveries, ...request } = reviewBody.parse(body);
        return { answers: await review.actOnAll(request, deliveries) };
      });
    },
  };
}
