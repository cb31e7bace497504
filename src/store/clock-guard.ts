/**
 * The clock guard: the only guard against steps of the system clock. It gives the daemon a clock
 * that jumps only after each room has moved its times in the database (`upkeep.ts`), all in one
 * transaction:
 *
 * - Back: times in the future move back by the step, so that nothing waits longer than its own
 *   delay, no accept may leave later, and nothing counts as newer than what is read next.
 * - Forth (or the machine slept, or no daemon ran): graces of rejects move along, so that people
 *   have all of them. Unknown outcomes are watched for a whole settlement delay from then on
 *   (`watchedSince`): no jump makes one absent.
 *
 * The time is noted each minute, so that a start knows how far the clock was moved meanwhile.
 * `trustedNow` never advances faster than 24 times the time that passes while a daemon runs: after
 * a boot with a clock that is a year ahead, no rows are deleted and no rules disarmed before
 * somebody corrects it.
 */
import { CLOCK_MS_MIN, type Clock } from '../lib/clock.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import type { Logger } from '../lib/log.ts';
import { endIncidents, openIncident } from './incidents.ts';
import { readState, writeStateAt } from './state.ts';
import type { Db, Store, Tx } from './store.ts';
import type { ClockStepHandler } from './upkeep.ts';

export interface Timed {
  readonly store: Store;
  readonly clock: Clock;
}

export interface ClockGuard {
  readonly name: 'clock';
  /** Clock for everybody who works on the database. */
  readonly clock: Clock;
  /**
   * Time, by {@link ClockGuard.clock}, since which this process has felt time pass: its start, or
   * the last step of the clock.
   */
  watchedSince(): number;
  /** Looks for steps of the clock and notes the time, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Milliseconds from which a difference is a step of the clock; a smaller one is a correction. */
const STEP_MS_MIN = 5_000;
const LOOK_MS = 5_000;
const NOTE_MS = 60_000;
/** Milliseconds without a daemon that people are told of: more than a restart or an upgrade. */
const STOPPED_MS_MIN = 5 * 60_000;
const STOPPED = { kind: 'not_running', entity: 'daemon', key: 'daemon' } as const;
/**
 * Factor by which the trusted time may advance faster than real time: a day in an hour. Rows that
 * are due after a long stop are deleted soon, and a wrong clock is noticed before.
 */
const CATCH_UP = 24;
const STATE = 'clock';

interface Noted {
  /** Time of the system clock when it was last noted, epoch ms. */
  readonly seen: number;
  readonly trusted: number;
}

async function readNoted(db: Db): Promise<Noted | undefined> {
  const noted = tryParseJson((await readState(db, STATE)) ?? '');
  if (!isJsonObject(noted)) return undefined;
  const { seen, trusted } = noted;
  return typeof seen === 'number' && typeof trusted === 'number' ? { seen, trusted } : undefined;
}

/** Trusted time for acts that cannot be undone, such as deleting; at most the clock's. */
export async function trustedNow({ store, clock }: Timed): Promise<number> {
  const noted = await readNoted(store.db);
  return Math.min(clock.now(), noted?.trusted ?? Number.POSITIVE_INFINITY);
}

/** Leaves an incident that is over: nothing else remembers that no daemon ran. */
async function tellStop(tx: Tx, since: number, now: number): Promise<void> {
  await openIncident(tx, { ...STOPPED, detail: {} }, since);
  await endIncidents(tx, STOPPED, [STOPPED.key], now);
}

/**
 * Opens the guard, and first moves times by what happened to the clock while no daemon ran. Its
 * `clock` is then for everybody.
 */
export async function openClockGuard(
  deps: Timed & { readonly log: Logger; readonly steps: readonly ClockStepHandler[] },
): Promise<ClockGuard> {
  const { store, clock: wall, log, steps } = deps;
  const elapsed = (): number => wall.monotonic();
  let offset = wall.now() - elapsed();
  let watchedSince = wall.now();
  let notedAt = elapsed();

  /**
   * Milliseconds by which the system clock was moved since the last call whose step was followed;
   * 0: it was not.
   */
  const moved = (): number => {
    const step = wall.now() - elapsed() - offset;
    if (Math.abs(step) >= STEP_MS_MIN) return Math.round(step);
    offset += step;
    return 0;
  };

  const note = async (db: Db | Tx, noted: Noted | undefined): Promise<void> => {
    const seen = wall.now();
    if (seen < CLOCK_MS_MIN) return;
    const at = elapsed();
    const reached = (noted?.trusted ?? seen) + CATCH_UP * (at - notedAt);
    const trusted = Math.min(seen, Math.floor(reached));
    await writeStateAt(db, STATE, JSON.stringify({ seen, trusted }), seen);
    notedAt = at;
  };

  const follow = async (step: number, isWatched: boolean): Promise<void> => {
    const noted = await readNoted(store.db);
    const now = wall.now();
    await store.transaction(async (tx) => {
      if (noted && !isWatched && step >= STOPPED_MS_MIN) await tellStop(tx, noted.seen, now);
      for (const { back, forth } of steps) {
        await (step < 0 ? back : forth)?.(tx, { step, now, isWatched });
      }
      await note(tx, noted);
    });
    offset = now - elapsed();
    watchedSince = now;
  };

  const noted = await readNoted(store.db);
  const away = noted === undefined ? 0 : wall.now() - noted.seen;
  if (Math.abs(away) >= STEP_MS_MIN) await follow(away, false);
  else await note(store.db, noted);

  return {
    name: 'clock',
    clock: {
      ...wall,
      now() {
        moved();
        return Math.round(elapsed() + offset);
      },
    },
    watchedSince: () => watchedSince,
    async run(signal) {
      while (!signal.aborted) {
        const step = moved();
        if (step !== 0) {
          await follow(step, true);
          log.warn({ byMs: step }, 'the clock was moved; due times were moved along');
        } else if (elapsed() - notedAt >= NOTE_MS) {
          await note(store.db, await readNoted(store.db));
        }
        await wall.sleep(LOOK_MS, signal).catch(() => undefined);
      }
      if (moved() === 0) await note(store.db, await readNoted(store.db));
    },
  };
}
