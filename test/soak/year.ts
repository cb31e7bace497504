/**
 * Runs a year at low load: two orders a day, a fault every month, and a clock that is set back
 * twice. At its end, a census finds what it found on the first day.
 */
import { calmClock } from '../decisions/campaign/calm-clock.ts';
import { differences, takeCensus } from './census.ts';
import { HOUR_MS, MINUTE_MS, openSoak, type Soaked, STARTS_AT } from './fixture.ts';
import { missing } from './soak.ts';

interface YearFigures {
  readonly days: number;
  readonly orders: number;
  readonly requests: number;
  readonly problems: readonly string[];
  readonly cpuSeconds: number;
}

const ORDERS_PER_DAY = 2;
/** Time of a day in which something happens; the loops turn rarely in the rest of it. */
const BUSY_MS = 20 * MINUTE_MS;
/** Least pause of a loop in the rest, half of that between two sweeps. */
const REST_PAUSE_MS = 600_000;
const FAULT_EVERY_DAYS = 30;
const FAULTS = [
  { kind: 'tooMany', lasts: '1m', retryAfter: 5 },
  { kind: 'serverError', lasts: '10m' },
  { kind: 'reset', lasts: '5m' },
  { kind: 'unauthorized', path: '*/auth/login', lasts: '3m' },
];

const DAY_MS = 24 * HOUR_MS;

/** By how much the clock of the machine is ahead, from this share of the year on. */
const CLOCK_AHEAD: readonly (readonly [number, number])[] = [
  [0.25, 2 * HOUR_MS],
  [0.3, 0],
  [0.6, 0],
  [0.7, -DAY_MS],
  [0.75, 0],
];

function aheadAt(share: number): number {
  return CLOCK_AHEAD.findLast(([from]) => share >= from)?.[1] ?? 0;
}

async function liveADay(soaked: Soaked, day: number, pause: (ms: number) => void): Promise<void> {
  const { clock, reference } = soaked;
  const endsAt = clock.now() + DAY_MS;
  pause(0);
  const nth = Math.floor(day / FAULT_EVERY_DAYS) % FAULTS.length;
  const fault = day % FAULT_EVERY_DAYS === FAULT_EVERY_DAYS - 1 ? FAULTS[nth] : undefined;
  reference.knobs.patch({ faults: fault ? [fault] : [] });
  if (fault?.path !== undefined) reference.keys.revokeAll();
  soaked.place(ORDERS_PER_DAY);
  await clock.runUntil(clock.now() + BUSY_MS);
  reference.edge.journal.clear();
  pause(REST_PAUSE_MS);
  await clock.runUntil(endsAt);
}

export async function runYear(days: number): Promise<YearFigures> {
  const began = process.cpuUsage();
  let least = 0;
  const pause = (ms: number): void => {
    least = ms;
  };
  const clock = calmClock(STARTS_AT, () => least);
  await using soaked = await openSoak(1, clock);
  await soaked.start();
  let requests = 0;
  for (let day = 0; day < 2; day += 1) await liveADay(soaked, 0, pause);
  const before = await takeCensus(soaked);
  for (let day = 2; day < days; day += 1) {
    soaked.ahead = aheadAt(day / days);
    await liveADay(soaked, day, pause);
    requests += soaked.reference.edge.journal.list().length;
  }
  const kept = differences(before, await takeCensus(soaked, before));
  const { user, system } = process.cpuUsage(began);
  return {
    ...{ days, requests, problems: [...(await missing(soaked)), ...kept] },
    orders: soaked.reference.world.book.orders.all.length,
    cpuSeconds: (user + system) / 1_000_000,
  };
}
