/** Joins the declared acts with the operations of the rooms that do them. */

import type { Config } from '../config/schema.ts';
import type { Entrance } from '../console/access/entrance.ts';
import { peopleActs } from '../console/surface/people.ts';
import {
  keepReport,
  type RuleOperations,
  resetBreaker,
  ruleActs,
} from '../decisions/reject/surface.ts';
import { createReviewOperations } from '../decisions/review/operations.ts';
import type { Review } from '../decisions/review/review.ts';
import { deliveryActs } from '../decisions/review/surface.ts';
import type { EventOperations } from '../inbox/operations.ts';
import { openPortal, type PortalOperations, replayEvents } from '../inbox/surface.ts';
import { createIncidentOperations } from '../ops/incidents.ts';
import { createPlaneFeed } from '../ops/plane-feed.ts';
import { incidentActs, notifyActs, pauseActs, planeActs } from '../ops/surface.ts';
import type { OutboxReview } from '../outbox/review/operations.ts';
import { forgetOrder, type OrderOperations, outboxActs } from '../outbox/surface.ts';
import type { Pauses } from '../store/pauses.ts';
import { type BoundAct, bind } from '../surface/perform.ts';
import type { SyncOperations } from '../sync/operations.ts';
import { syncActs } from '../sync/surface.ts';
import type { RulesInForce } from './decisions.ts';
import { createMessages, type MessagesDeps } from './notify.ts';

export interface ActParts extends MessagesDeps {
  readonly rules: Pick<RulesInForce, 'current'>;
  readonly sync: { readonly operations: SyncOperations };
  readonly orders: OrderOperations;
  readonly inbox: PortalOperations & { readonly operations: EventOperations };
  readonly pauses: Pauses;
  readonly decisions: { readonly ruleOperations: RuleOperations; readonly review: Review };
  readonly outbox: { readonly review: OutboxReview };
  readonly entrance: () => Entrance;
}

function reviewOperationsOf({ store, clock, rules, decisions, outbox }: ActParts) {
  return createReviewOperations({
    store,
    clock,
    rules: () => rules.current(),
    review: decisions.review,
    cancelPush: (outboxId, actor) => outbox.review.cancel({ outboxId }, actor),
  });
}

export function createActs(config: Config, parts: ActParts): readonly BoundAct[] {
  const { sync, inbox, orders, outbox, pauses, decisions, entrance } = parts;
  const messages = createMessages(config, parts);
  const feed = createPlaneFeed(parts);
  const incidents = createIncidentOperations(parts);
  const deliveries = reviewOperationsOf(parts);
  return [
    ...bind(deliveryActs, () => deliveries),
    ...bind(syncActs, () => sync.operations),
    ...bind([replayEvents], () => inbox.operations),
    ...bind([openPortal], () => inbox),
    ...bind([forgetOrder], () => orders),
    ...bind(outboxActs, () => outbox.review),
    ...bind(pauseActs, () => pauses),
    ...bind(incidentActs, () => incidents),
    ...bind(notifyActs, () => messages),
    ...bind(planeActs, () => feed),
    ...bind([...ruleActs, resetBreaker, keepReport], () => decisions.ruleOperations),
    ...bind(peopleActs, entrance),
  ];
}
