/**
 * A permit to begin one request that changes something at the service. It is good for a few seconds
 * from before it was asked for, by three clocks of which the strictest counts: the monotonic one
 * stands still while the machine is suspended, the time since boot has whole seconds only, and the
 * wall clock may be set. It is looked at when the request begins, and at no other time: a process
 * that was stopped in between finds that it is over.
 */
import type { Clock } from '../lib/clock.ts';
import type { Permitted } from '../store/upkeep.ts';

/** Attempt of a push that a permit is for; without a number, a request of another kind. */
export interface PermitAbout extends Omit<Permitted, 'outboxId'> {
  readonly outboxId: number | null;
}

export interface Permit {
  /** Why the request must not begin any more; undefined: it may. */
  whyOver(): string | undefined;
}

export interface PermitClocks {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Milliseconds since the machine was started, suspended time included. */
  readonly uptime: () => number;
}

/** A moment by all three clocks. */
export interface Moment {
  readonly monotonic: number;
  readonly uptime: number;
  readonly wall: number;
}

export function momentOf({ clock, uptime }: PermitClocks): Moment {
  return { monotonic: clock.monotonic(), uptime: uptime(), wall: clock.now() };
}

/** Time since boot is told in whole seconds, so that so much more may have passed. */
const UPTIME_STEP_MS = 1_000;

/** Gives a permit that was asked for at this moment. */
export function permitFrom(asked: Moment, goodMs: number, clocks: PermitClocks): Permit {
  return {
    whyOver() {
      const now = momentOf(clocks);
      const uptimeMs = now.uptime - asked.uptime;
      const ms = Math.max(
        now.monotonic - asked.monotonic,
        uptimeMs > 0 ? uptimeMs - UPTIME_STEP_MS : 0,
        // A clock that was set is not believed either way.
        Math.abs(now.wall - asked.wall),
      );
      return ms < goodMs ? undefined : 'its permit was over before it could begin';
    },
  };
}
