/**
 * Learns which system key is ours. One endpoint may receive the events of several accounts: orders
 * of the others are not at our service, and requests for them would cause incidents without end. A
 * key is ours once two of its events named an order that we could read, under the event's
 * reference. It is foreign once three of its orders were unknown and none known, while another key
 * is ours. Events of a foreign key are stored and lead to no read.
 */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { tryParseJson } from '../lib/json.ts';
import { readState, readSystemKey, writeState, writeSystemKey } from './state.ts';
import type { Db, Store } from './store.ts';

const STATE_KEY = 'system_keys';
/**
 * Maximum number of keys that are counted: more would be an attack, and reading their orders does
 * no harm.
 */
const KEYS_MAX = 50;
const OURS_MIN = 2;
const FOREIGN_MIN = 3;

const countsSchema = z.record(
  z.string(),
  z.object({ known: z.int(), unknown: z.int(), skipped: z.int() }),
);
type Counts = z.output<typeof countsSchema>;

export interface SystemKeys {
  isForeign(key: string | null): boolean;
  /** Notes that an order named by an event with this key was read, or does not exist. */
  note(key: string | null, isKnown: boolean): Promise<void>;
  /** Counts an event with a foreign key that led to no read. */
  skipped(key: string): void;
}

/** Number of events of other accounts by their system key, for people. */
export async function foreignEvents(db: Db): Promise<Record<string, number>> {
  const counts = parse(await readState(db, STATE_KEY));
  const foreign = Object.entries(counts).filter(([key]) => isForeignBy(counts, key));
  return Object.fromEntries(foreign.map(([key, one]) => [key, one.unknown + one.skipped]));
}

function parse(text: string | undefined): Counts {
  const parsed = countsSchema.safeParse(tryParseJson(text ?? ''));
  return parsed.success ? parsed.data : {};
}

function isForeignBy(counts: Counts, key: string): boolean {
  const { known = 0, unknown = 0 } = counts[key] ?? {};
  const isOtherOurs = Object.entries(counts).some(
    ([other, one]) => other !== key && one.known >= OURS_MIN,
  );
  return known === 0 && unknown >= FOREIGN_MIN && isOtherOurs;
}

export async function openSystemKeys(
  store: Store,
  clock: Clock,
  onForeign: (key: string) => void,
): Promise<SystemKeys> {
  const counts: Counts = parse(await readState(store.db, STATE_KEY));
  let isWritten = true;
  const write = async (): Promise<void> => {
    isWritten = true;
    await writeState(store.db, STATE_KEY, JSON.stringify(counts), clock);
  };
  return {
    isForeign: (key) => key !== null && isForeignBy(counts, key),
    async note(key, isKnown) {
      if (key === null) return;
      if (counts[key] === undefined && Object.keys(counts).length >= KEYS_MAX) return;
      const one = counts[key] ?? { known: 0, unknown: 0, skipped: 0 };
      // Enough is known of the key, so that nothing more is written for each event.
      if (isKnown && one.known >= OURS_MIN && isWritten) return;
      const wasForeign = isForeignBy(counts, key);
      counts[key] = isKnown
        ? { ...one, known: one.known + 1 }
        : { ...one, unknown: one.unknown + 1 };
      await write();
      if (isKnown && counts[key].known === OURS_MIN && !(await readSystemKey(store.db))) {
        await writeSystemKey(store.db, key, clock);
      }
      if (!wasForeign && isForeignBy(counts, key)) onForeign(key);
    },
    skipped(key) {
      const one = counts[key];
      if (!one) return;
      counts[key] = { ...one, skipped: one.skipped + 1 };
      // The count is written with the next one that must be, because a count for people is worth no
      // commit.
      isWritten = false;
    },
  };
}
