/**
 * What the log says of a failure that many things share: one line when it begins, one now and then
 * while it lasts or once it keeps ten times as many, and one when it is over. Everything in between
 * is there for who looks (debug, and the command that the hint names).
 */
import type { Clock } from '../clock.ts';
import { LoginAgainError, RetryLaterError } from '../errors.ts';
import type { Logger } from '../log.ts';

export interface Outages<Key extends string | number = string> {
  /** This one was put off, or has failed. */
  note(key: Key, reason: string, fields: object): void;
  /** This one came through. */
  over(key: Key): void;
}

export interface OutageWords {
  /** What the things are called in the log. */
  readonly of: string;
  readonly begins: string;
  readonly over: string;
  readonly hint: string;
}

interface Outage<Key> {
  /** What it keeps. */
  readonly kept: Set<Key>;
  readonly since: number;
  toldAt: number;
  /** How many it kept by then. */
  toldOf: number;
  failures: number;
}

/** So often it is told again while it lasts. */
const REMIND_MS = 3_600_000;
/** One thing that always fails must not hide that all of them do. */
const REMIND_GROWTH = 10;

/** What ends without a word to us (a person cancels it) stays; the oldest make room. */
const OUTAGES_MAX = 1_000;

/** What came whole and cannot be understood is wrong with one thing, and not with the service. */
const BROKEN_ANSWER = 'transport.broken_answer';

/** What failures of one cause have in common; what is wrong with one thing alone is its own. */
export function sharedReason(error: Error): string {
  const isPassing = error instanceof RetryLaterError || error instanceof LoginAgainError;
  if (!isPassing || error.code === BROKEN_ANSWER) return error.message;
  return error.hint === undefined ? error.code : `${error.code}: ${error.hint}`;
}

export function createOutages<Key extends string | number = string>(
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  { of, begins, over, hint }: OutageWords,
): Outages<Key> {
  /** By what is the matter. */
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
        const told = { since: now, toldAt: now, toldOf: 1, failures: 1 };
        outages.set(reason, { kept: new Set([key]), ...told });
        log.warn({ ...about, hint }, begins);
        return;
      }
      outage.kept.add(key);
      outage.failures += 1;
      const { failures, kept, since } = outage;
      if (now - outage.toldAt < REMIND_MS && kept.size < outage.toldOf * REMIND_GROWTH) {
        log.debug(about, begins);
        return;
      }
      outage.toldAt = now;
      outage.toldOf = kept.size;
      log.warn({ ...about, failures, kept: kept.size, ms: now - since, hint }, begins);
    },
    over: (key) => leave(key, undefined),
  };
}
