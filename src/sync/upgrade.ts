/** Reads data again when a new program version or setting reads the service's answers otherwise. */
import { invalidateDigests } from '../mirror/list.ts';
import { readState, writeState } from '../store/state.ts';
import { type RetryDeps, retryQuarantine } from './quarantine.ts';

/**
 * Version of how answers are read; to be raised when a schema of the client or a column of the
 * mirror changes.
 */
export const READING_VERSION = '1';
const READING_KEY = 'reading_version';

/**
 * Retries quarantined rows and forgets all digests after an upgrade or a change of member names
 * (service.dialect.v1.members), because the same bytes may be read otherwise now. Returns whether
 * there was a reason.
 */
export async function lookAgainAfterUpgrade(deps: RetryDeps): Promise<boolean> {
  const { store, clock, names = [] } = deps;
  const reading =
    names.length === 0 ? READING_VERSION : `${READING_VERSION} ${JSON.stringify(names)}`;
  if ((await readState(store.db, READING_KEY)) === reading) return false;
  await retryQuarantine(deps);
  await store.transaction(async (tx) => {
    await invalidateDigests(tx);
    await writeState(tx, READING_KEY, reading, clock);
  });
  return true;
}
