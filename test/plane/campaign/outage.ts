/**
 * PostgreSQL is away for long while a whole daemon works: decisions and pushes must go on as
 * before, the lag must be told, and the copy must catch up by itself. Then it is away until the
 * feed does not go back so far, and the copy must be made again.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { systemClock } from '../../../src/lib/clock.ts';
import { formatDuration } from '../../../src/lib/units.ts';
import { openStore } from '../../../src/store/store.ts';
import { until } from '../../support/house.ts';
import type { Postgres } from '../../support/postgres.ts';
import { deleteEntriesBefore } from '../churn.ts';
import { type Cell, deepVerdict, startCell } from './cell.ts';
import { DATABASE } from './far-side.ts';

const ORDERS_PER_MINUTE = 120;
/** The ERP submits an order so often. */
const SUBMIT_MS = 1_000;
const WARM_UP_MS = 15_000;
const WINDOWS = 10;
/** During the outage against before it. */
const RATE_LEAST = 0.85;
const LATENCY_MOST = 2;
const LATENCY_SPARE_MS = 100;
const LAG_LEAST = 0.8;

/** Kinds of work that go on during the outage, by the table that counts them. */
const COUNTS = new Map([
  ['events', 'select count(*) from webhook_event'],
  ['orders', 'select count(*) from intake'],
  ['decisions', 'select count(*) from decision'],
  ['pushes', "select count(*) from outbox where state = 'confirmed'"],
]);

/** Milliseconds until a packed delivery is decided, and until a push is confirmed. */
const LATENCIES = new Map([
  [
    'decision',
    `select d.at - v.first_seen_at from decision d join delivery v using (order_delivery_id)
     where d.at between ? and ?`,
  ],
  [
    'push',
    `select ended_at - created_at from outbox
     where state = 'confirmed' and ended_at between ? and ?`,
  ],
]);

type Figures = ReadonlyMap<string, number>;

interface Stretch {
  readonly seconds: number;
  /** By each tenth of the time. */
  readonly grown: readonly Figures[];
  /** Medians. */
  readonly latencyMs: Figures;
}

function each(texts: ReadonlyMap<string, string>, of: (text: string) => number): Figures {
  return new Map([...texts].map(([name, text]) => [name, of(text)]));
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function createEye(dataDir: string) {
  const mirror = new Database(join(dataDir, 'mirror.db'), { readonly: true, timeout: 5_000 });
  const number = (text: string): number => Number(mirror.prepare(text).pluck().get());
  return {
    /** The ends of the feeds that are there. */
    firsts: () => ['change', 'ledger_change'].map((feed) => number(`select min(seq) from ${feed}`)),
    close: () => mirror.close(),
    async watch(ms: number): Promise<Stretch> {
      const from = Date.now();
      const grown: Figures[] = [];
      for (let window = 0, last = each(COUNTS, number); window < WINDOWS; window += 1) {
        await sleep(ms / WINDOWS);
        const now = each(COUNTS, number);
        grown.push(new Map([...now].map(([name, n]) => [name, n - (last.get(name) ?? 0)])));
        last = now;
      }
      const took = (text: string): number =>
        medianOf(mirror.prepare<[number, number], number>(text).pluck().all(from, Date.now()));
      return { seconds: ms / 1_000, grown, latencyMs: each(LATENCIES, took) };
    },
  };
}

/** Submits orders by SQL, as an ERP does, until it is stopped. */
function startErp({ dataDir, barcodes }: Cell): () => void {
  const exchange = new Database(join(dataDir, 'exchange.db'), { timeout: 60_000 });
  const insert = exchange.prepare(
    "insert into intake (kind, reference, payload) values ('order', ?, ?)",
  );
  let number = 0;
  const timer = setInterval(() => {
    number += 1;
    const line = { barcode: barcodes[number % barcodes.length], quantity: 3, price: 10 };
    insert.run(`O-${number}`, JSON.stringify({ lines: [line] }));
  }, SUBMIT_MS);
  return () => {
    clearInterval(timer);
    exchange.close();
  };
}

function perSecond({ grown, seconds }: Stretch, name: string): number {
  return grown.reduce((sum, one) => sum + (one.get(name) ?? 0), 0) / seconds;
}

function slowdowns(before: Stretch, during: Stretch): string[] {
  const problems: string[] = [];
  for (const name of COUNTS.keys()) {
    const [was, is] = [perSecond(before, name), perSecond(during, name)];
    process.stdout.write(`  ${name}: ${was.toFixed(2)}/s before, ${is.toFixed(2)}/s during\n`);
    if (is < was * RATE_LEAST) problems.push(`fewer ${name}`);
    const still = during.grown.filter((one) => (one.get(name) ?? 0) <= 0).length;
    if (still > 0) problems.push(`no ${name} in ${still} of ${WINDOWS} parts of the outage`);
  }
  for (const name of LATENCIES.keys()) {
    const [was, is] = [before, during].map(({ latencyMs }) => latencyMs.get(name) ?? Number.NaN);
    process.stdout.write(`  ${name}: after ${was} ms before, ${is} ms during (median)\n`);
    const most = Number(was) * LATENCY_MOST + LATENCY_SPARE_MS;
    if (!(Number(is) <= most)) problems.push(`a ${name} takes longer`);
  }
  return problems;
}

const COPY = z.object({ state: z.string(), lagMs: z.number(), isLate: z.boolean() });
const TOLD = { plane: z.object({ copy: COPY }), daemon: z.object({ plane: COPY }) };

/** Complaints about what `plane status`, `status` and `doctor` tell of so long a lag. */
async function untold({ call }: Cell, outageMs: number): Promise<string[]> {
  const asked = await call('plane', 'status', '--json');
  const { copy } = TOLD.plane.parse(JSON.parse(asked.stdout));
  const status = await call('status', '--json');
  const { plane } = TOLD.daemon.parse(JSON.parse(status.stdout));
  const doctor = (await call('doctor', '--offline')).stdout;
  const line = doctor.split('\n').find((one) => /^FAIL plane/.test(one)) ?? 'nothing of it';
  process.stdout.write(`  plane status: ${JSON.stringify(copy)}\n  doctor: ${line}\n`);
  return [copy, plane]
    .filter((one) => one.state !== 'waiting' || !one.isLate || one.lagMs < outageMs * LAG_LEAST)
    .map((one) => `the lag is not told: ${JSON.stringify(one)}`)
    .concat(/^FAIL plane +waits, .* behind/.test(line) ? [] : [`doctor says ${line}`]);
}

/** Waits until the copy has no lag and is equal by value; gives how long it took. */
async function equalAgain(cell: Cell): Promise<number> {
  const from = performance.now();
  await until('an equal copy without a lag', async () => {
    const { stdout } = await cell.call('status', '--json');
    const { plane } = TOLD.daemon.parse(JSON.parse(stdout));
    if (plane.state !== 'following' || plane.isLate) return undefined;
    const found = await deepVerdict(cell);
    return (typeof found !== 'string' && found.isEqual) || undefined;
  });
  return (performance.now() - from) / 1_000;
}

/** Retention takes entries away; done here while the daemon is stopped, and at once. */
async function forgetFeeds(cell: Cell, eye: ReturnType<typeof createEye>, beyond: number[]) {
  await cell.daemon()?.kill();
  const path = join(cell.dataDir, 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, systemClock());
  const before = Date.now() - SUBMIT_MS;
  const isThere = (): boolean => eye.firsts().some((first, at) => first <= (beyond[at] ?? 0) + 1);
  for (let tries = 0; isThere() && tries < 1_000; tries += 1) {
    await deleteEntriesBefore(store, before);
  }
  await store.close();
  await cell.startDaemon();
}

/** Gives what is wrong. */
export async function runOutage(outageMs: number, postgres: Postgres): Promise<string[]> {
  const log: string[] = [];
  const cell = await startCell({
    ...{ account: 'outage', seed: 1, ordersPerMinute: ORDERS_PER_MINUTE },
    ...{ url: postgres.url(DATABASE), lagWarning: `${Math.round(outageMs / 4)}ms` },
    hearSink: (line) => log.push(line),
  });
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  const eye = createEye(cell.dataDir);
  const stopErp = startErp(cell);
  let problems: string[] = ['not finished'];
  try {
    await sleep(WARM_UP_MS);
    await equalAgain(cell);
    const before = await eye.watch(Math.max(outageMs / 5, WARM_UP_MS));
    say(`PostgreSQL is away for ${formatDuration(outageMs)}`);
    await postgres.stop('immediate');
    const during = await eye.watch(outageMs);
    const found = [...slowdowns(before, during), ...(await untold(cell, outageMs))];
    await postgres.start();
    say(`  equal again ${(await equalAgain(cell)).toFixed(1)} s after it was back`);
    if (!log.some((line) => line.includes('the copy goes on'))) found.push('no word of the end');
    const made = (): number => log.filter((line) => line.includes('copy is made again')).length;
    if (made() !== 1) found.push(`the copy was made ${made()} times before`);

    say('PostgreSQL is away beyond the retention of the feed');
    const cursor = 'select seq, ledger_seq from selvedge.plane_cursor';
    await postgres.stop('immediate');
    await postgres.start();
    const at = postgres.sql(cursor, DATABASE).trim().split('|').map(Number);
    await postgres.stop('immediate');
    await sleep(WARM_UP_MS);
    await forgetFeeds(cell, eye, at);
    await postgres.start();
    say(`  equal again ${(await equalAgain(cell)).toFixed(1)} s after it was back`);
    const told = log.find((line) => /begins at \d+: the entries before are deleted/.test(line));
    say(`  ${told ?? 'nothing is told'}`);
    if (made() !== 2 || told === undefined) found.push('the copy was not made again');
    problems = found;
    return problems;
  } finally {
    stopErp();
    eye.close();
    await cell.end(problems.length === 0);
  }
}
