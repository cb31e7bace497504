/** Routes for a person's acts on deliveries: accept, hold, reject, release, undo and note. */
import { z } from 'zod';
import { bulkAct, noteAct, reviewQuery } from '../console/acts.ts';
import { filterOf } from '../console/filter.ts';
import { createRulesShown } from '../console/rules.ts';
import { type UndoDeps, undoLatest } from '../console/undo.ts';
import { actOnSelected, requireFew, selectExpected } from '../decisions/review/bulk.ts';
import { deliveryIdOf } from '../decisions/review/deliveries.ts';
import { writeNote } from '../decisions/review/note.ts';
import { RELEASE_REASONS, REVIEW_ACTIONS } from '../decisions/review/review.ts';
import type { Clock } from '../lib/clock.ts';
import { actorFields, actorWithReason } from './actor.ts';
import type { RouteGroup } from './api.ts';

/** Most deliveries of one request; nobody has looked at more of them one by one. */
const DELIVERIES_MAX = 500;

const delivery = z.string().min(1).max(100);
const act = {
  ...actorWithReason,
  action: z.enum(REVIEW_ACTIONS),
  why: z.enum(RELEASE_REASONS).optional(),
  toRules: z.boolean().optional(),
  ifRejectWaits: z.boolean().optional(),
  confirmed: z.array(delivery).max(DELIVERIES_MAX).optional(),
};
const namedBody = z.strictObject({
  ...act,
  deliveries: z.array(delivery).min(1).max(DELIVERIES_MAX),
});
const selectBody = z.strictObject({
  ...act,
  select: z.strictObject({ filter: reviewQuery, expect: bulkAct.shape.expect }),
});
const undoBody = z.strictObject({ ...actorWithReason, delivery });
const noteBody = z.strictObject({ ...actorFields, delivery, text: noteAct.shape.text });

export interface DecisionRouteDeps extends UndoDeps {
  readonly clock: Clock;
}

export function reviewRoutes(deps: DecisionRouteDeps): RouteGroup {
  const { store, clock, review } = deps;
  const rulesShown = createRulesShown(store.db);
  return {
    access: 'operator',
    install(app) {
      app.post('/api/deliveries/review', async ({ body }) => {
        const { deliveries, ...request } = namedBody.parse(body);
        requireFew(request.action, deliveries.length);
        return { answers: await review.actOnAll(request, deliveries) };
      });
      app.post('/api/deliveries/review-all', async ({ body }) => {
        const { select, ...request } = selectBody.parse(body);
        const now = clock.now();
        const { owners } = await rulesShown();
        const filter = filterOf(select.filter, now, owners, { seesAddresses: true });
        const found = await selectExpected(store.db, filter, select.expect, now);
        return { answers: await actOnSelected(review, request, found.deliveries) };
      });
      app.post('/api/deliveries/undo', async ({ body }) => {
        const { delivery: named, ...actor } = undoBody.parse(body);
        return undoLatest(deps, { delivery: await deliveryIdOf(store.db, named) }, actor);
      });
      app.post('/api/deliveries/note', async ({ body }) => {
        const { delivery: named, text, ...actor } = noteBody.parse(body);
        return store.transaction(async (tx) => {
          const orderDeliveryId = await deliveryIdOf(tx, named);
          await writeNote(tx, orderDeliveryId, text, actor, clock.now());
          return { orderDeliveryId };
        });
      });
    },
  };
}
