/** What a program that reads the service otherwise than the last one must look at again. */
import { forgetDigests } from '../mirror/list.ts';
import { readState, writeState } from '../store/state.ts';
import { type RetryDeps, retryQuarantine } from './quarantine.ts';

/** Raise it when a schema of the client or a column of the mirror changes. */
export const READING_VERSION = '1';
const READING_KEY = 'reading_version';

/**
 * After an upgrade, and when members are named otherwise (service.v1.members): quarantined rows are
 * tried again, and no digest proves anything any more, because the same bytes may be read
 * otherwise. Gives whether there was a reason.
 */
export async function lookAgainAfterUpgrade(deps: RetryDeps): Promise<boolean> {
  const { store, clock, names = [] } = deps;
  const reading =
    names.length === 0 ? READING_VERSION : `${READING_VERSION} ${JSON.stringify(names)}`;
  if ((await readState(store.db, READING_KEY)) === reading) return false;
  await retryQuarantine(deps);
  await store.transaction(async (tx) => {
    await forgetDigests(tx);
    await writeState(tx, READING_KEY, reading, clock);
  });
  return true;
}
