/** Joins the declared acts with the operations of the rooms that do them. */

import type { EventOperations } from '../inbox/operations.ts';
import { openPortal, type PortalOperations, replayEvents } from '../inbox/surface.ts';
import { forgetOrder, type OrderOperations } from '../outbox/surface.ts';
import { type BoundAct, bind } from '../surface/perform.ts';
import type { SyncOperations } from '../sync/operations.ts';
import { syncActs } from '../sync/surface.ts';

export interface ActParts {
  readonly sync: { readonly operations: SyncOperations };
  readonly orders: OrderOperations;
  readonly inbox: PortalOperations & { readonly operations: EventOperations };
}

export function createActs({ sync, inbox, orders }: ActParts): readonly BoundAct[] {
  return [
    ...bind(syncActs, () => sync.operations),
    ...bind([replayEvents], () => inbox.operations),
    ...bind([openPortal], () => inbox),
    ...bind([forgetOrder], () => orders),
  ];
}
