/** What a program that reads the service otherwise than the last one must look at again. */
import type { Clock } from '../lib/clock.ts';
import { forgetDigests } from '../mirror/list.ts';
import { readState, writeState } from '../store/state.ts';
import type { Store } from '../store/store.ts';
import { retryQuarantine } from './quarantine.ts';

/** Raise it when a schema of the client or a column of the mirror changes. */
export const READING_VERSION = '3';
const READING_KEY = 'reading_version';

/**
 * After an upgrade: quarantined rows are tried again, and no digest proves anything any more,
 * because the same bytes may be read otherwise. Gives whether there was one.
 */
export async function lookAgainAfterUpgrade(deps: {
  readonly store: Store;
  readonly clock: Clock;
}): Promise<boolean> {
  const { store, clock } = deps;
  if ((await readState(store.db, READING_KEY)) === READING_VERSION) return false;
  await retryQuarantine(deps);
  await store.transaction(async (tx) => {
    await forgetDigests(tx);
    await writeState(tx, READING_KEY, READING_VERSION, clock);
  });
  return true;
}
