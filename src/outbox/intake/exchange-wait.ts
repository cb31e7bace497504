/**
 * Tells that the exchange database is locked: in the log, after a while as a fact that status and
 * doctor show with its beginning, and once it lasts, as an incident.
 */
import type { Clock } from '../../lib/clock.ts';
import type { RetryLaterError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { endIncidents, openIncident } from '../../store/incidents.ts';
import { noteExchangeWait } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';

/** Milliseconds until the next try: a busy writer releases the lock only briefly. */
const RETRY_MS = 7;
/** The same for a lock that lasts: each try costs processor time. */
const RETRY_LATER_MS = 50;
/** Milliseconds of a lock after which the log, status and doctor tell of it. */
const HELD_MS = 10_000;
/** Milliseconds of a lock after which a person is told. */
const HELD_TOLD_MS = 5 * 60_000;
const LOCKED = { kind: 'exchange_locked', entity: 'exchange', key: 'file' } as const;

export interface LockWatch {
  /** Forgets what an earlier process noted. */
  begin(): Promise<void>;
  /** Takes note that something could not be read or written. */
  held(error: RetryLaterError): Promise<void>;
  /** Takes note that nothing waits for the lock any more. */
  free(): Promise<void>;
  /** Milliseconds until the next try. */
  retryMs(): number;
}

export function createLockWatch(deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}): LockWatch {
  const { store, clock, log } = deps;
  const { db } = store;
  let heldSince: number | undefined;
  let loggedAt = 0;
  let isNoted = false;
  let isTold = false;
  const lastsMs = (): number => clock.monotonic() - (heldSince ?? clock.monotonic());
  const end = async (): Promise<void> => {
    await noteExchangeWait(db, null);
    await endIncidents(db, LOCKED, [LOCKED.key], clock.now());
  };
  return {
    begin: end,
    async held({ message, hint }) {
      const now = clock.monotonic();
      if (heldSince === undefined) loggedAt = now;
      heldSince ??= now;
      const since = clock.now() - lastsMs();
      if (lastsMs() >= HELD_MS && !isNoted) await noteExchangeWait(db, Math.round(since));
      isNoted ||= lastsMs() >= HELD_MS;
      if (lastsMs() >= HELD_TOLD_MS && !isTold) {
        await openIncident(db, { ...LOCKED, detail: {} }, clock.now());
        isTold = true;
      }
      if (now - loggedAt <= HELD_MS) return;
      log.warn({ error: message, hint }, 'receipts wait for a lock');
      loggedAt = now;
    },
    async free() {
      if (isNoted || isTold) await end();
      heldSince = undefined;
      isNoted = false;
      isTold = false;
    },
    retryMs: () => (lastsMs() < HELD_MS ? RETRY_MS : RETRY_LATER_MS),
  };
}
