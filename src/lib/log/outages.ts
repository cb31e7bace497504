/**
 * What the log says of a failure that many things share: one line when it begins, one now and then
 * while it lasts, and one when it is over. Everything in between is there for who looks (debug, and
 * the command that the hint names).
 */
import type { Clock } from '../clock.ts';
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
  failures: number;
}

/** So often it is told again while it lasts. */
const REMIND_MS = 3_600_000;

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
        outages.set(reason, { kept: new Set([key]), since: now, toldAt: now, failures: 1 });
        log.warn({ ...about, hint }, begins);
        return;
      }
      outage.kept.add(key);
      outage.failures += 1;
      if (now - outage.toldAt < REMIND_MS) {
        log.debug(about, begins);
        return;
      }
      outage.toldAt = now;
      const { failures, kept, since } = outage;
      log.warn({ ...about, failures, kept: kept.size, ms: now - since, hint }, begins);
    },
    over: (key) => leave(key, undefined),
  };
}
