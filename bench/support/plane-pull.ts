/**
 * Pulls of the stock with the plane and without: the same daemon (pull-process.ts), with the feed
 * of the ledgers and `selvedge plane run` beside it, or with neither; in turns, the first of a
 * round alternating. Afterwards how long the log of the database could not be written back, once
 * with the copy being made and followed, and once without.
 */
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/lib/clock.ts';
import { connectPostgres } from '../../src/plane/postgres.ts';
import { ensureSchema } from '../../src/plane/schema.ts';
import { createSource } from '../../src/plane/source.ts';
import { readPlaneStatus } from '../../src/plane/status-file.ts';
import { addLedgerFeed } from '../../src/store/ledger-feed.ts';
import { openStore } from '../../src/store/store.ts';
import { type Postgres, startPostgres } from '../../test/support/postgres.ts';
import type { Figures } from './meters.ts';
import type { Say } from './plane-goals.ts';
import { startPuller } from './puller.ts';
import { median } from './results.ts';
import { LAUNCHER, writeConfig } from './unit-process.ts';

const ROUNDS = 9;
const TIMES_MOST = 1.05;
const PINNED_MS_MOST = 2_000;
const LOOK_MS = 20;
const CHANGED_SHARE = 0.01;
const SCHEMA = 'selvedge';
/** Nice value of its systemd unit: the daemon goes first. */
const NICE = 5;
const KINDS = ['first', 'unchanged', '1 % changed'] as const;
type Kind = (typeof KINDS)[number];

interface Parts {
  readonly postgres: Postgres;
  readonly source: ChildProcess;
  readonly v1Url: string;
  readonly rows: number;
}

async function told(child: ChildProcess) {
  const [message] = await once(child, 'message');
  return message;
}

/** A data folder for a daemon, and the configuration for the process that keeps the copy. */
async function prepare({ postgres, v1Url }: Parts, account: string | undefined) {
  const base = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const folder = join(base, 'data');
  mkdirSync(folder);
  const file = writeConfig(base, v1Url);
  const path = join(folder, 'mirror.db');
  const clock = systemClock();
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  if (account !== undefined) {
    await store.transaction((tx) => addLedgerFeed(tx, clock.now()));
    writeFileSync(join(base, 'plane-url'), postgres.url(), { mode: 0o600 });
    appendFileSync(file, `instance: ${account}\nplane: { url: { file: plane-url } }\n`);
    const content = ['mirror', 'changes', 'ledgers'] as const;
    const source = createSource({ path, busyTimeoutMs: 5_000, content });
    const client = await connectPostgres({ url: postgres.url(), schema: SCHEMA })();
    await ensureSchema(client, SCHEMA, source.reader().tables);
    await client.end();
    source.close();
  }
  await store.close();
  return { base, folder, file, path };
}

type House = Awaited<ReturnType<typeof prepare>>;

/** `selvedge plane run`, and how to wait until it has all that the mirror has. */
function startSink({ file, folder, path }: House) {
  const args = [LAUNCHER, '--config', file, 'plane', 'run'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const exit = once(child, 'exit');
  if (child.pid !== undefined) setPriority(child.pid, NICE);
  return {
    async caughtUp(): Promise<void> {
      const mirror = new Database(path, { readonly: true });
      const last = mirror.prepare<[], number | null>('select max(seq) from change').pluck().get();
      mirror.close();
      for (;;) {
        if (child.exitCode !== null) throw new Error('the process of the plane has ended');
        const status = readPlaneStatus(folder);
        if (status?.state === 'following' && status.seq >= (last ?? 0)) return;
        await sleep(LOOK_MS);
      }
    },
    async end(): Promise<void> {
      child.kill('SIGTERM');
      await exit;
    },
  };
}

/** The three pulls of one daemon; with an account, with its plane beside it. */
async function pullsOf(parts: Parts, account: string | undefined): Promise<Map<Kind, Figures>> {
  const house = await prepare(parts, account);
  const sink = account === undefined ? undefined : startSink(house);
  await sink?.caughtUp();
  const puller = await startPuller(house.folder, parts.v1Url, 'stream');
  const found = new Map<Kind, Figures>();
  for (const kind of KINDS) {
    let changed = kind === 'first' ? parts.rows : 0;
    if (kind === '1 % changed') {
      parts.source.send({ share: CHANGED_SHARE });
      ({ changed } = await told(parts.source));
    }
    // Nobody pays for the work on what was written before.
    await sink?.caughtUp();
    parts.postgres.sql('checkpoint');
    spawnSync('sync');
    found.set(kind, await puller.next(changed));
  }
  await puller.end();
  await sink?.end();
  rmSync(house.base, { recursive: true });
  return found;
}

/** Writes the log back all the time; gives the longest that it stood still with something in it. */
function watchLog(path: string): () => number {
  const database = new Database(path);
  database.pragma('synchronous = off');
  let stands = { at: -1, since: performance.now() };
  let longestMs = 0;
  const look = setInterval(() => {
    const row = database
      .prepare<[], [number, number, number]>('pragma wal_checkpoint(passive)')
      .raw()
      .get();
    const [isBusy = 1, frames = 0, back = 0] = row ?? [];
    // Somebody else is about to write it back.
    if (isBusy === 1) return;
    const now = performance.now();
    if (back === stands.at && back < frames) longestMs = Math.max(longestMs, now - stands.since);
    else stands = { at: back, since: now };
  }, LOOK_MS);
  return () => {
    clearInterval(look);
    database.close();
    return longestMs;
  };
}

/** A copy is begun while rows are there, and while a pull goes on. */
async function pinnedMs(parts: Parts, account: string | undefined): Promise<number> {
  const house = await prepare(parts, account);
  const puller = await startPuller(house.folder, parts.v1Url, 'stream');
  await puller.next(parts.rows);
  const end = watchLog(house.path);
  const sink = account === undefined ? undefined : startSink(house);
  for (let pulls = 0; pulls < 3; pulls += 1) {
    parts.source.send({ share: CHANGED_SHARE * 10 });
    const { changed } = await told(parts.source);
    await puller.next(changed);
  }
  await sink?.caughtUp();
  const longestMs = end();
  await puller.end();
  await sink?.end();
  rmSync(house.base, { recursive: true });
  return longestMs;
}

export async function measurePulls(variants: number, say: Say): Promise<void> {
  const postgres = await startPostgres();
  const source = fork(join(import.meta.dirname, 'stock-source.ts'), [String(variants)]);
  try {
    const { v1Url, rows } = await told(source);
    const parts = { postgres, source, v1Url, rows };
    const ratios = new Map<string, number[]>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const found = new Map<boolean, Map<Kind, Figures>>();
      for (const isOn of round % 2 === 0 ? [false, true] : [true, false]) {
        found.set(isOn, await pullsOf(parts, isOn ? `round-${round}` : undefined));
      }
      for (const kind of KINDS) {
        for (const figure of ['seconds', 'cpuSeconds'] as const) {
          const [off, on] = [false, true].map((one) => found.get(one)?.get(kind)?.[figure] ?? 0);
          const name = `${kind}, ${figure === 'seconds' ? 'seconds' : 'CPU'}`;
          ratios.set(name, [...(ratios.get(name) ?? []), Number(on) / Number(off)]);
        }
      }
    }
    for (const [name, all] of ratios) {
      const [least, most] = [Math.min(...all), Math.max(...all)].map((one) => one.toFixed(2));
      const times = median(all);
      say(
        `pull of ${rows} variants with the plane, ${name}: ${times.toFixed(3)} times without, ` +
          `median of ${ROUNDS} (${least} to ${most})`,
        times <= TIMES_MOST,
      );
    }
    const without = await pinnedMs(parts, undefined);
    const withPlane = await pinnedMs(parts, 'pinned');
    say(
      `log not written back: ${withPlane.toFixed(0)} ms at most while a copy is made and ` +
        `followed (${without.toFixed(0)} ms without one)`,
      withPlane <= PINNED_MS_MOST,
    );
  } finally {
    source.disconnect();
    await postgres.remove();
  }
}
