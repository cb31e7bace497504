/** Mirrors of years, made once for each size and copied for each daemon. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../src/lib/clock.ts';
import { openWriter } from '../../../src/store/connection.ts';
import { migrate, readMigrations } from '../../../src/store/migrate.ts';
import { openStore } from '../../../src/store/store.ts';
import { fillMirror, type MirrorSize } from '../large-mirror.ts';

const BUSY = { busyTimeoutMs: 5_000 };
const STREAMS = ['brands', 'freight', 'seasons', 'stock', 'season', 'orders', 'ordersFull'];
const FAR_FUTURE_MS = Date.UTC(9999, 0);
const DAY_MS = 86_400_000;

export interface YearSize extends MirrorSize {
  readonly waiting: number;
}

/** Proportions of a wholesaler: of 1,000,000 variants, 330,000 deliveries; 20,000 of them wait. */
export function yearSize(thousands: number, waiting = thousands * 20): YearSize {
  const variants = thousands * 1_000;
  const [changes, orders] = [variants * 3, variants * 0.33];
  return { variants, changes, orders, waiting, days: 30 };
}

/** Makes it with the first schema, which the program at every commit can migrate. */
function makeBase(path: string, size: YearSize, clock: Clock): void {
  const database = openWriter(`${path}.partial`, BUSY);
  migrate(database, clock, readMigrations().slice(0, 1));
  fillMirror(database, size);
  // All of it was told long ago; a new exchange.db would be told it once more.
  database.exec('delete from outcome');
  database.pragma('wal_checkpoint(truncate)');
  database.close();
  renameSync(`${path}.partial`, path);
}

/** Nothing is due, and all of it is as fresh as after a pull and as the ERP's last word. */
function pretendPulled(path: string, now: number): void {
  const database = openWriter(path, BUSY);
  const put = database.prepare(`insert into stream_state (stream, due_at, complete_at)
    values (?, ${FAR_FUTURE_MS}, ${now})
    on conflict (stream) do update
    set due_at = excluded.due_at, complete_at = excluded.complete_at`);
  database.transaction(() => {
    for (const stream of STREAMS) put.run(stream);
    database.exec(`update erp_customer set as_of = ${now}, changed_at = ${now}`);
  })();
  database.close();
}

/** Places a mirror of this size in the data folder, migrated to the schema of this checkout. */
export async function placeMirror(
  dataDir: string,
  { size, shared, clock }: { size: YearSize; shared: string; clock: Clock },
): Promise<void> {
  const base = join(shared, `mirror-${size.variants}-${size.waiting}.db`);
  if (!existsSync(base)) makeBase(base, size, clock);
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, 'mirror.db');
  copyFileSync(base, path);
  pretendPulled(path, clock.now());
  const { store } = await openStore({ path, ...BUSY }, clock);
  await store.close();
  for (const name of readdirSync(dataDir)) {
    if (name.includes('.before-')) rmSync(join(dataDir, name));
  }
}

/** Lets the rules look at all that waits: until then a person was to decide it. */
export function leaveToRules(dataDir: string, clock: Clock): void {
  const database = openWriter(join(dataDir, 'mirror.db'), BUSY);
  database.exec(`update evaluation set due_at = ${clock.now() + DAY_MS} where order_delivery_id in
    (select order_delivery_id from delivery where status = 'pending')`);
  database.close();
}
