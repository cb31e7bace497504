/**
 * The zone of the house in the database (table `zone_offset`), so that SQL of everybody counts
 * days, weeks and months as the people in the house do: SQLite knows no zones but that of its
 * machine.
 */
import type { Clock } from '../lib/clock.ts';
import { localClockOf } from '../lib/local-time.ts';
import { insertRows } from './bulk.ts';
import { readState, writeState } from './state.ts';
import type { Store } from './store.ts';

interface Offset {
  /** Seconds since 1970 from which it holds. */
  readonly since: number;
  /** Minutes by which the zone is ahead of UTC. */
  readonly minutes: number;
}

const MINUTE_MS = 60_000;
/** Milliseconds between two looks at the offset: none is shorter, not even in Morocco. */
const STEP_MS = 7 * 86_400_000;
/** First moment that is looked at; the time before it has the same offset. */
const FIRST_MS = Date.UTC(1990, 0, 1);
/** Milliseconds into the future that the offsets reach. */
const AHEAD_MS = 3 * 366 * 86_400_000;
/** Seconds since 1970 before everything. */
const EVER = -8_640_000_000_000;
const STATE = 'time_zone';

/** Offsets of a zone in order of their begin, up to some years after `now`. */
function zoneOffsets(timeZone: string, now: number): readonly Offset[] {
  const localTime = localClockOf(timeZone);
  const minutesAt = (at: number): number => {
    const { date, time } = localTime(at);
    return (Date.parse(`${date}T${time}Z`) - Math.floor(at / MINUTE_MS) * MINUTE_MS) / MINUTE_MS;
  };
  const found: Offset[] = [{ since: EVER, minutes: minutesAt(FIRST_MS) }];
  for (let at = FIRST_MS; at < now + AHEAD_MS; at += STEP_MS) {
    const before = minutesAt(at);
    if (minutesAt(at + STEP_MS) === before) continue;
    let [low, high] = [at, at + STEP_MS];
    while (high - low > MINUTE_MS) {
      const middle = Math.floor((low + high) / 2 / MINUTE_MS) * MINUTE_MS;
      if (minutesAt(middle) === before) low = middle;
      else high = middle;
    }
    found.push({ since: high / 1_000, minutes: minutesAt(high) });
  }
  return found;
}

/** Modifier of SQLite's date functions: `date(at, 'unixepoch', '+540 minutes')`. */
function modifierOf(minutes: number): string {
  return `${minutes < 0 ? '-' : '+'}${Math.abs(minutes)} minutes`;
}

/**
 * Writes the offsets of the zone, if it is another one than in the database or another year: they
 * reach some years ahead.
 */
export async function keepZone(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  timeZone: string,
): Promise<void> {
  const now = clock.now();
  const wanted = `${timeZone} ${new Date(now).getUTCFullYear()}`;
  if ((await readState(store.db, STATE)) === wanted) return;
  const rows = zoneOffsets(timeZone, now).map(({ since, minutes }, index, all) => {
    const until = all[index + 1]?.since ?? -EVER;
    return { since, until, minutes, modifier: modifierOf(minutes) };
  });
  await store.transaction(async (tx) => {
    await tx.deleteFrom('zone_offset').execute();
    await insertRows(tx, 'zone_offset', ['since', 'until', 'minutes', 'modifier'], rows);
    await writeState(tx, STATE, wanted, clock);
  });
}
