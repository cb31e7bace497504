/**
 * Learns which system key is ours. One endpoint may receive the events of several accounts: orders
 * of the others are not at our service, and requests for them would cause incidents without end. A
 * key is ours once two of its events named an order that we could read, under the event's
 * reference. It is foreign once three of its orders were unknown and none known, while another key
 * is ours. Events of a foreign key are stored and lead to no read, but for one every ten minutes:
 * the orders of a key that is ours may only have been late, and one that is read ends it.
 */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { tryParseJson } from '../lib/json.ts';
import { readState, writeState, writeSystemKey } from './state.ts';
import type { Db, Store } from './store.ts';

const STATE_KEY = 'system_keys';
/** Maximum number of keys that are counted; the one heard of longest ago gives way, unless ours. */
const KEYS_MAX = 50;
const OURS_MIN = 2;
const FOREIGN_MIN = 3;
/** Milliseconds between two events of a foreign key that are read all the same. */
const PROBE_MS = 600_000;

const countsSchema = z.record(
  z.string(),
  z.object({
    known: z.int(),
    unknown: z.int(),
    skipped: z.int(),
    /** 1: an order of the key was read, though nothing says that it is the event's. */
    shown: z.int().default(0),
    /** Time at which an order of the key was last read or missed, epoch ms. */
    at: z.number().default(0),
  }),
);
type Counts = z.output<typeof countsSchema>;

export interface SystemKeys {
  isForeign(key: string | null): boolean;
  /**
   * Whether a missing order of the key may be one of ours that is shown late: `yes` once an order
   * of it was there, `no` once one was missing to the end. Events without a key are ours where none
   * of ours have one.
   */
  mayBeLate(key: string | null): 'yes' | 'no' | 'unknown';
  /** Whether an event with this key leads to a read; false is counted for people. */
  admits(key: string | null): boolean;
  /** Notes that an order named by an event with this key was read, or does not exist. */
  note(key: string | null, isKnown: boolean): Promise<void>;
  /**
   * Takes back that orders of this key were missing, because one was read whose event has no
   * reference.
   */
  acquit(key: string | null): Promise<void>;
}

/** Number of events of other accounts by their system key, for people. */
export async function foreignEvents(db: Db): Promise<Record<string, number>> {
  const counts = parse(await readState(db, STATE_KEY));
  const foreign = Object.entries(counts).filter(([key]) => isForeignBy(counts, key));
  return Object.fromEntries(foreign.map(([key, one]) => [key, one.unknown + one.skipped]));
}

const NO_COUNTS = { known: 0, unknown: 0, skipped: 0, shown: 0, at: 0 };

function parse(text: string | undefined): Counts {
  const parsed = countsSchema.safeParse(tryParseJson(text ?? ''));
  return parsed.success ? parsed.data : {};
}

function hasOurs(counts: Counts): boolean {
  return Object.values(counts).some(({ known }) => known >= OURS_MIN);
}

function isForeignBy(counts: Counts, key: string): boolean {
  const { known = 0, unknown = 0 } = counts[key] ?? {};
  return known === 0 && unknown >= FOREIGN_MIN && hasOurs(counts);
}

/** Key that gives way to a new one; undefined: there is room, or all are ours. */
function oldestOf(counts: Counts): string | undefined {
  const keys = Object.entries(counts);
  if (keys.length < KEYS_MAX) return undefined;
  const others = keys.filter(([, { known }]) => known < OURS_MIN);
  return others.sort(([, a], [, b]) => a.at - b.at)[0]?.[0];
}

export async function openSystemKeys(
  store: Store,
  clock: Clock,
  onChange: (key: string, isForeign: boolean) => void,
): Promise<SystemKeys> {
  const counts: Counts = parse(await readState(store.db, STATE_KEY));
  let isWritten = true;
  const write = async (): Promise<void> => {
    isWritten = true;
    await writeState(store.db, STATE_KEY, JSON.stringify(counts), clock);
  };
  return {
    isForeign: (key) => key !== null && isForeignBy(counts, key),
    mayBeLate(key) {
      if (key === null) return hasOurs(counts) ? 'no' : 'yes';
      const { known = 0, unknown = 0, shown = 0 } = counts[key] ?? {};
      if (known + shown > 0) return 'yes';
      return unknown > 0 ? 'no' : 'unknown';
    },
    admits(key) {
      const one = key === null ? undefined : counts[key];
      if (key === null || !one || !isForeignBy(counts, key)) return true;
      const now = clock.now();
      // A time in the future was written before the clock was set back.
      const isProbe = Math.abs(now - one.at) >= PROBE_MS;
      // Both are written with the next count that must be: neither is worth a commit.
      isWritten = false;
      counts[key] = isProbe ? { ...one, at: now } : { ...one, skipped: one.skipped + 1 };
      return isProbe;
    },
    async note(key, isKnown) {
      if (key === null) return;
      if (counts[key] === undefined) {
        const oldest = oldestOf(counts);
        if (oldest !== undefined) delete counts[oldest];
        else if (Object.keys(counts).length >= KEYS_MAX) return;
      }
      const one = counts[key] ?? NO_COUNTS;
      // Enough is known of the key, so that nothing more is written for each event.
      if (isKnown && one.known >= OURS_MIN && isWritten) return;
      const wasForeign = isForeignBy(counts, key);
      const known = one.known + Number(isKnown);
      const unknown = one.unknown + Number(!isKnown);
      counts[key] = { ...one, known, unknown, at: clock.now() };
      await write();
      if (isKnown && known === OURS_MIN) await writeSystemKey(store.db, key, clock);
      const isForeign = isForeignBy(counts, key);
      if (wasForeign !== isForeign) onChange(key, isForeign);
    },
    async acquit(key) {
      if (key === null) return;
      const one = counts[key] ?? NO_COUNTS;
      if (one.unknown === 0 && one.shown > 0) return;
      const wasForeign = isForeignBy(counts, key);
      counts[key] = { ...one, unknown: 0, shown: 1 };
      await write();
      if (wasForeign) onChange(key, false);
    },
  };
}
