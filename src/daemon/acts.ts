/** Joins the declared acts with the operations of the rooms that do them. */

import { type BoundAct, bind } from '../surface/perform.ts';
import type { SyncOperations } from '../sync/operations.ts';
import { syncActs } from '../sync/surface.ts';

export interface ActParts {
  readonly sync: { readonly operations: SyncOperations };
}

export function createActs({ sync }: ActParts): readonly BoundAct[] {
  return [...bind(syncActs, () => sync.operations)];
}
