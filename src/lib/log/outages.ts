/**
 * Logs a failure that many subjects, such as streams, share: one line when it begins, reminders
 * while it lasts or when it affects ten times as many, and one when it is over. Details in between
 * are at debug level, or shown by the command in the hint.
 */
import type { Clock } from '../clock.ts';
import { LoginAgainError, RetryLaterError } from '../errors.ts';
import type { Logger } from '../log.ts';

export interface Outages<Key extends string | number = string> {
  /** Notes that a subject was postponed or failed. */
  note(key: Key, reason: string, fields: object): void;
  /** Notes that a subject succeeded. */
  over(key: Key): void;
}

export interface OutageMessages {
  /** Key under which log lines name a subject. */
  readonly of: string;
  readonly begins: string;
  readonly over: string;
  readonly hint: string;
}

interface Outage<Key> {
  /** Subjects that the failure affects now. */
  readonly kept: Set<Key>;
  readonly since: number;
  loggedAt: number;
  /** Number of affected subjects at the last log line. */
  loggedOf: number;
  failures: number;
}

/** Milliseconds between two reminders of a failure that lasts. */
const REMIND_MS = 3_600_000;
/**
 * Growth in subjects that triggers a reminder, so that one permanent failure does not hide a
 * general one.
 */
const REMIND_GROWTH = 10;

/**
 * Maximum of failures that are remembered; the oldest are dropped. Failures whose subjects end
 * silently (a person cancels them) would stay forever.
 */
const OUTAGES_MAX = 1_000;

/**
 * Error code that is not shared: a complete but unreadable answer concerns one subject, not the
 * service.
 */
const BROKEN_ANSWER = 'transport.broken_answer';

/**
 * Reason under which failures of one cause are logged together; a subject's own problem keeps its
 * own message.
 */
export function sharedReason(error: Error): string {
  const isPassing = error instanceof RetryLaterError || error instanceof LoginAgainError;
  if (!isPassing || error.code === BROKEN_ANSWER) return error.message;
  return error.hint === undefined ? error.code : `${error.code}: ${error.hint}`;
}

export function createOutages<Key extends string | number = string>(
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  { of, begins, over, hint }: OutageMessages,
): Outages<Key> {
  /** Present failures by their reason. */
  const outages = new Map<string, Outage<Key>>();
  const leave = (key: Key, except: string | undefined): void => {
    for (const [reason, { kept, since, failures }] of outages) {
      if (reason === except || !kept.delete(key) || kept.size > 0) continue;
      outages.delete(reason);
      if (except !== undefined) continue;
      log.info({ [of]: key, reason, failures, ms: clock.monotonic() - since }, over);
    }
  };
  return {
    note(key, reason, fields) {
      leave(key, reason);
      const now = clock.monotonic();
      const about = { [of]: key, reason, ...fields };
      const outage = outages.get(reason);
      if (!outage) {
        const [oldest] = outages.keys();
        if (oldest !== undefined && outages.size >= OUTAGES_MAX) outages.delete(oldest);
        const first = { since: now, loggedAt: now, loggedOf: 1, failures: 1 };
        outages.set(reason, { kept: new Set([key]), ...first });
        log.warn({ ...about, hint }, begins);
        return;
      }
      outage.kept.add(key);
      outage.failures += 1;
      const { failures, kept, since } = outage;
      if (now - outage.loggedAt < REMIND_MS && kept.size < outage.loggedOf * REMIND_GROWTH) {
        log.debug(about, begins);
        return;
      }
      outage.loggedAt = now;
      outage.loggedOf = kept.size;
      log.warn({ ...about, failures, kept: kept.size, ms: now - since, hint }, begins);
    },
    over: (key) => leave(key, undefined),
  };
}
