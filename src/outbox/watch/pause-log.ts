/**
 * Puts into the audit when the brake for everything was pulled and let go. It is a file, so that it
 * works in any emergency: whoever makes or removes it asks nobody, and leaves no trace but this.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { writeAudit } from '../../store/audit.ts';
import { readState, writeState } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';

export interface PauseLogDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Why nothing is sent; undefined: it is. */
  readonly pauseReason: () => string | undefined;
}

const KEY = 'outbox.paused';

/** Compares the file with what was noted last, also before a restart. */
export async function notePause({ store, clock, log, pauseReason }: PauseLogDeps): Promise<void> {
  const reason = pauseReason() ?? '';
  const noted = (await readState(store.db, KEY)) ?? '';
  if (reason === noted) return;
  const isPaused = reason !== '';
  const told = isPaused ? reason : `it was paused: ${noted}`;
  await store.transaction(async (tx) => {
    const action = isPaused ? 'sending.pause' : 'sending.resume';
    const entry = { actor: 'file', action, subject: 'sending', reason: told };
    await writeAudit(tx, entry, clock.now());
    await writeState(tx, KEY, reason, clock);
  });
  log.warn({ reason: told }, isPaused ? 'sending is paused' : 'sending goes on after a pause');
}
