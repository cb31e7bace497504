/**
 * A pull that is killed (`kill -9`) again and again, each time after a few more pages, and started
 * again: it goes on where it was, and in the end the mirror has each row of the service once.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../../src/reference/reference.ts';
import { openStore, type SqliteStore } from '../../../src/store/store.ts';
import { STILL } from '../support.ts';

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));
const PAGE_ROWS = 250;
/** Rows of a style that are in stock: four of five seasons, four colors, eight sizes. */
const ROWS_PER_STYLE = (4 * 8 * 4) / 5;

export interface KillFigures {
  readonly mode: 'stream' | 'pages';
  readonly rows: number;
  readonly kills: number;
  /** Pages that were in the database at the time of each kill. */
  readonly pagesAtKills: readonly number[];
  readonly seconds: number;
  readonly problems: readonly string[];
}

interface Pull {
  readonly pages: number;
  readonly text: string;
  readonly errors: string;
}

/**
 * Ends when the process does; with a number of pages kills it when it has written so many and a
 * moment more, in which it writes the next one.
 */
async function pullUntil(
  child: ChildProcessWithoutNullStreams,
  pages: number | undefined,
  random: Random,
): Promise<Pull> {
  let [text, errors, isKilled] = ['', '', false];
  child.stdin.on('error', () => undefined);
  if (pages === undefined) child.stdin.end();
  else child.stdin.write('go on\n'.repeat(pages));
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  child.stdout.on('data', (chunk) => {
    text += chunk;
    if (pages === undefined || isKilled || text.split('page\n').length - 1 < pages) return;
    isKilled = true;
    systemClock().after(random.int(0, 8), () => child.kill('SIGKILL'));
  });
  await once(child, 'close');
  return { pages: text.split('page\n').length - 1, text, errors };
}

async function problemsOf(store: SqliteStore, { world }: Reference): Promise<string[]> {
  const { catalog, stock } = world;
  const rows = await store.db
    .selectFrom('stock_variant')
    .select(['barcode', 'quantity'])
    .where('deleted_at', 'is', null)
    .execute();
  const want = stock.stockedIn(0, catalog.variantCount);
  const wrong = rows.filter(
    ({ barcode, quantity }) => stock.of(catalog.variantOf(barcode) ?? -1) !== quantity,
  );
  const told = await store.db
    .selectFrom('change')
    .select((eb) => [eb.fn.countAll<number>().as('n'), eb.fn.max('op').as('op')])
    .executeTakeFirstOrThrow();
  const problems: string[] = [];
  if (rows.length !== want) problems.push(`${rows.length} rows for ${want}`);
  if (wrong.length > 0) problems.push(`${wrong.length} rows are wrong`);
  if (told.n !== want || told.op !== 'insert') {
    problems.push(`${told.n} changes, the last ${told.op}, for ${want} rows`);
  }
  return problems;
}

export async function runKills(wish: {
  readonly mode: 'stream' | 'pages';
  readonly kills: number;
  readonly rows: number;
  readonly seed: number;
}): Promise<KillFigures> {
  const { mode } = wish;
  const clock = systemClock();
  const startedAt = clock.monotonic();
  const random = seededRandom(wish.seed);
  await using scope = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-kill-'));
  scope.defer(() => rmSync(folder, { recursive: true, force: true }));
  const styles = Math.ceil(wish.rows / ROWS_PER_STYLE);
  const knobs = parseKnobs({ ...STILL, world: { styles, colors: 4, sizes: 8, orders: 0 } });
  const ports = { service: 0, relay: 0, control: 0 };
  const log = silentLogger();
  const reference = await startReference({ host: '127.0.0.1', ports, knobs, clock, log });
  scope.defer(() => reference.close());
  const path = join(folder, 'mirror.db');
  const { v1Url, v2Url, credentials } = reference;
  const args = [CHILD, path, JSON.stringify({ v1Url, v2Url, credentials }), mode];
  const allPages = Math.floor(wish.rows / PAGE_ROWS);
  // A little less than it takes, so that the last kill finds something left to do.
  const pagesPerKill = Math.max(1, (1.2 * allPages) / wish.kills - 1);
  const pagesAtKills: number[] = [];
  let [pages, text, errors] = [0, '', ''];
  while (!text.includes('"outcome"')) {
    const isLast = pagesAtKills.length === wish.kills;
    const child = spawn(process.execPath, args);
    const most = Math.max(1, Math.min(Math.round(pagesPerKill), allPages - pages - 1));
    const pull = await pullUntil(child, isLast ? undefined : random.int(1, most), random);
    ({ text, errors } = pull);
    pages += pull.pages;
    if (text.includes('"outcome"')) break;
    if (isLast) throw new Error(`the last pull ended without a result: ${errors}`);
    pagesAtKills.push(pages);
  }
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  scope.defer(() => store.close());
  const run = await store.db.selectFrom('sync_run').selectAll().execute();
  const problems = await problemsOf(store, reference);
  const { catalog, stock } = reference.world;
  const want = stock.stockedIn(0, catalog.variantCount);
  // A page that was written twice would be counted twice.
  if (run.length !== 1 || run[0]?.outcome !== 'complete' || run[0].rows_seen !== want) {
    const told = run.map(({ outcome, reason, rows_seen }) => `${outcome} ${rows_seen} ${reason}`);
    problems.push(`runs: ${told}`);
  }
  if (run[0]?.resumes !== pagesAtKills.length) {
    problems.push(`${run[0]?.resumes} resumes after ${pagesAtKills.length} kills`);
  }
  return {
    ...{ mode, rows: run[0]?.rows_seen ?? 0, kills: pagesAtKills.length, pagesAtKills, problems },
    seconds: (clock.monotonic() - startedAt) / 1_000,
  };
}
