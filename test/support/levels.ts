/** An account that has everything, until a test says otherwise. */
import type { Clock } from '../../src/lib/clock.ts';
import type { Store } from '../../src/store/store.ts';
import { createLevelWatch } from '../../src/sync/account-traits.ts';
import { testLogger } from './house.ts';

export const NEWEST = '1.4.14';

export function levelsOf(store: Store, clock: Clock, level = NEWEST) {
  return createLevelWatch({ store, clock, log: testLogger(), level });
}
