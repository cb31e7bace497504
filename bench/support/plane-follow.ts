/**
 * The plane beside a mirror of many variants: how long a rebuild takes, what following costs
 * against SQLite's own write of the same rows, how many changes a second it catches up, the lag at
 * 1,000 changes a second, and the longest snapshot, which keeps the log from being written back.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import { connectPostgres } from '../../src/plane/postgres.ts';
import { ensureSchema } from '../../src/plane/schema.ts';
import { createSink } from '../../src/plane/sink.ts';
import { createSource } from '../../src/plane/source.ts';
import { addLedgerFeed } from '../../src/store/ledger-feed.ts';
import { openStore } from '../../src/store/store.ts';
import { startPostgres } from '../../test/support/postgres.ts';
import type { Say } from './plane-goals.ts';

const ROWS_AT_ONCE = 500;
const LIVE_SECONDS = 15;
const GOALS = { rebuildSeconds: 60, cpuTimes: 3, perSecond: 15_000, lagMs: 1_000, pinnedMs: 2_000 };
const SCHEMA = 'selvedge';
const account = 'bench';

export async function measureFollowing(variants: number, say: Say): Promise<void> {
  const changes = Math.min(variants, 100_000);
  const clock = systemClock();
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const path = join(folder, 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  await store.transaction((tx) => addLedgerFeed(tx, clock.now()));
  const postgres = await startPostgres();
  const connect = connectPostgres({ url: postgres.url(), schema: SCHEMA });
  const source = createSource({
    path,
    busyTimeoutMs: 5_000,
    content: ['mirror', 'changes', 'ledgers'],
  });
  const reader = source.reader();
  let longestMs = 0;
  const plain = reader.snapshot.bind(reader);
  reader.snapshot = (read) => {
    const started = performance.now();
    const result = plain(read);
    longestMs = Math.max(longestMs, performance.now() - started);
    return result;
  };
  const settings = { account, schema: SCHEMA, everyMs: 1_000, dataDir: folder };
  const sink = createSink({ source, connect, settings, clock, log: silentLogger() });

  const TEXT = 'Members without a column, as a detailed list of the stock has them. '.repeat(6);
  let seq = 0;

  /** Writes variants with numbers from `from` on, as a pull does. */
  async function write(from: number, count: number, quantity: number): Promise<void> {
    for (let first = from; first < from + count; first += ROWS_AT_ONCE) {
      seq += 1;
      const rows = Array.from({ length: Math.min(ROWS_AT_ONCE, from + count - first) }, (_, at) => {
        const number = first + at;
        const values = {
          ...{
            barcode: `57${String(number).padStart(11, '0')}`,
            size: String(number % 5),
            quantity,
          },
          ...{ style_no: `S${Math.floor(number / 25)}`, style_name: 'Style', brand_name: 'Acme' },
          ...{
            color_code: String(Math.floor(number / 5) % 5),
            color_name: 'Blue',
            currency: 'EUR',
          },
          ...{ price: 1_000_000, wsp_price: 400_000, category: 'Knit', gender: 'Women' },
        };
        return { values, extra: { text: TEXT } };
      });
      const provenance = { at: clock.now(), readSeq: seq, source: 'run:1' };
      await store.transaction((tx) => upsertRows(tx, STOCK_VARIANT, rows, provenance));
    }
  }

  async function measured(work: () => Promise<unknown>) {
    const [started, before] = [performance.now(), process.cpuUsage()];
    await work();
    const { user, system } = process.cpuUsage(before);
    return { seconds: (performance.now() - started) / 1_000, cpu: (user + system) / 1e6 };
  }

  async function catchUp(): Promise<void> {
    for (;;) {
      const { hasMore, did } = await sink.pass();
      if (!hasMore && did === 'nothing') return;
    }
  }

  /** Milliseconds from each commit until its changes are in PostgreSQL. */
  async function liveLags(): Promise<number[]> {
    const stop = new AbortController();
    const running = sink.run(stop.signal);
    const client = await connect();
    const lags: number[] = [];
    const waiting: { readonly seq: number; readonly at: number }[] = [];
    const look = async (): Promise<void> => {
      const { rows } = await client.query('select seq from plane_cursor');
      const there = Number(rows[0]?.seq ?? 0);
      while (waiting[0] && waiting[0].seq <= there) {
        lags.push(performance.now() - (waiting.shift()?.at ?? 0));
      }
    };
    const until = performance.now() + LIVE_SECONDS * 1_000;
    for (let round = 0; performance.now() < until || waiting.length > 0; round += 1) {
      const next = performance.now() + 100;
      if (next < until) {
        await write((round % 100) * 100, 100, 1_000 + round);
        waiting.push({ seq: reader.given('change'), at: performance.now() });
      }
      while (performance.now() < next) {
        await look();
        await clock.sleep(10);
      }
    }
    await client.end();
    stop.abort();
    await running;
    return lags.sort((a, b) => a - b);
  }

  try {
    const client = await connect();
    await ensureSchema(client, SCHEMA, reader.tables);
    await client.end();
    await write(0, variants, 1);
    const rebuilt = await measured(() => sink.pass());
    say(
      `rebuild of ${variants} variants and their history: ${rebuilt.seconds.toFixed(1)} s ` +
        `(own CPU ${rebuilt.cpu.toFixed(1)} s), goal ${GOALS.rebuildSeconds} s per million`,
      rebuilt.seconds <= (GOALS.rebuildSeconds * variants) / 1_000_000,
    );
    await catchUp();
    const written = await measured(() => write(0, changes, 2));
    const followed = await measured(catchUp);
    const times = followed.cpu / written.cpu;
    const perSecond = changes / followed.seconds;
    say(
      `following ${changes} changes: ${followed.cpu.toFixed(1)} s CPU against ` +
        `${written.cpu.toFixed(1)} s of the write, ${times.toFixed(2)} times`,
      times <= GOALS.cpuTimes,
    );
    say(`catching up: ${perSecond.toFixed(0)} changes/s`, perSecond >= GOALS.perSecond);
    const lags = await liveLags();
    const p99 = lags[Math.floor(lags.length * 0.99)] ?? Number.POSITIVE_INFINITY;
    say(`lag at 1,000 changes/s: p99 ${p99.toFixed(0)} ms of ${lags.length}`, p99 <= GOALS.lagMs);
    say(`longest snapshot: ${longestMs.toFixed(0)} ms`, longestMs <= GOALS.pinnedMs);
  } finally {
    await sink.close();
    source.close();
    await store.close();
    await postgres.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}
