/**
 * A seed: a process that changes a mirror, a process that follows it into PostgreSQL through a
 * proxy, and trouble at random moments: both are killed, suspended and doubled, PostgreSQL loses
 * power, connections are cut and held back, an old copy takes the place of the mirror. Afterwards
 * the copy must be equal by value.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/lib/clock.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { connectPostgres } from '../../../src/plane/postgres.ts';
import { createSource } from '../../../src/plane/source.ts';
import { type Verdict, verify } from '../../../src/plane/verify.ts';
import { addLedgerFeed } from '../../../src/store/ledger-feed.ts';
import { openStore } from '../../../src/store/store.ts';
import type { Postgres } from '../../support/postgres.ts';
import { ALL_CONTENT, SCHEMA } from '../world.ts';
import type { TcpProxy } from './proxy.ts';

export interface SeedFigures {
  readonly seed: number;
  readonly rows: number;
  readonly seq: number;
  /** How often each kind of trouble struck. */
  readonly trouble: Readonly<Record<string, number>>;
  /** Lines of the sinks' logs, by message. */
  readonly told: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly problems: readonly string[];
}

const TROUBLES = 8;
const SETTLE_MS_MAX = 120_000;
const SINK = fileURLToPath(new URL('./sink-child.ts', import.meta.url));
const WRITER = fileURLToPath(new URL('./writer-child.ts', import.meta.url));

interface World {
  readonly random: Random;
  readonly path: string;
  readonly postgres: Postgres;
  readonly proxy: TcpProxy;
  readonly account: string;
  readonly sinks: ChildProcess[];
  readonly told: Record<string, number>;
  writer: ChildProcess | undefined;
  writers: number;
}

async function gone(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

function startSink(world: World): void {
  const url = `postgres://postgres@127.0.0.1:${world.proxy.port}/plane`;
  const args = [SINK, world.path, url, world.account];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    for (const [, message = ''] of text.matchAll(/"msg":"([^"]+)"/g)) {
      world.told[message] = (world.told[message] ?? 0) + 1;
    }
  });
  world.sinks.push(child);
}

async function startWriter(world: World): Promise<void> {
  world.writers += 1;
  const seed = String(world.random.int(1, 1_000_000));
  const args = [WRITER, world.path, seed];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  world.writer = child;
}

async function killSinks(world: World): Promise<void> {
  for (const child of world.sinks.splice(0)) await gone(child);
}

/** An old copy in the place of the mirror, as a restored disk has it: numbers are given again. */
async function putBack(world: World): Promise<void> {
  const copy = `${world.path}.copy`;
  rmSync(copy, { force: true });
  const database = new Database(world.path, { readonly: true });
  database.prepare('vacuum into ?').run(copy);
  database.close();
  await sleep(world.random.int(100, 600));
  await gone(world.writer);
  for (const ending of ['', '-wal', '-shm']) {
    if (existsSync(world.path + ending)) renameSync(world.path + ending, `${copy}.old${ending}`);
  }
  renameSync(copy, world.path);
  await startWriter(world);
}

const TROUBLE: Readonly<Record<string, (world: World) => Promise<void>>> = {
  'sink killed': async (world) => {
    await killSinks(world);
    startSink(world);
  },
  'sink suspended': async ({ sinks, random }) => {
    sinks[0]?.kill('SIGSTOP');
    await sleep(random.int(50, 1_500));
    sinks[0]?.kill('SIGCONT');
  },
  'sink suspended and replaced': async (world) => {
    const [first] = world.sinks;
    first?.kill('SIGSTOP');
    startSink(world);
    await sleep(world.random.int(300, 2_000));
    first?.kill('SIGCONT');
    await sleep(world.random.int(50, 500));
  },
  'writer killed': async (world) => {
    await gone(world.writer);
    await startWriter(world);
  },
  'PostgreSQL lost power': async ({ postgres, random }) => {
    await postgres.stop('immediate');
    await sleep(random.int(0, 500));
    await postgres.start();
  },
  'connections cut': async ({ proxy, random }) => {
    for (let cuts = random.int(1, 5); cuts > 0; cuts -= 1) {
      proxy.cut();
      await sleep(random.int(10, 100));
    }
  },
  'bytes held back': async ({ proxy, random }) => {
    proxy.delayMs = random.int(20, 200);
    await sleep(random.int(200, 1_500));
    if (random.chance(0.5)) proxy.cut();
    proxy.delayMs = 0;
  },
  'mirror put back': putBack,
};

/** Waits until the copy has every change, and compares it by value. */
async function settledVerdict({ path, postgres, account }: World): Promise<Verdict | string> {
  const source = createSource({ path, busyTimeoutMs: 5_000, content: ALL_CONTENT });
  const connect = connectPostgres({ url: postgres.url('plane'), schema: SCHEMA });
  const until = performance.now() + SETTLE_MS_MAX;
  let last: Verdict | string = 'nothing was compared';
  while (performance.now() < until) {
    const client = await connect();
    try {
      last = await verify({ client, reader: source.reader(), account, deep: true });
      // A mirror that was put back has nothing pending before the sink has noticed.
      if (last.pending === 0 && last.isEqual) break;
    } catch (error) {
      last = String(error);
    } finally {
      await client.end();
    }
    await sleep(200);
  }
  source.close();
  return last;
}

function problemsOf(verdict: Verdict | string, world: World): string[] {
  if (typeof verdict === 'string') return [`never settled: ${verdict}`];
  const wrong = verdict.tables.filter((one) => one.missing + one.different + one.surplus > 0);
  const problems = wrong.map((one) => JSON.stringify(one));
  if (verdict.pending > 0) problems.push(`never caught up: ${verdict.pending} rows are pending`);
  const doubled = world.postgres.sql(
    'select account, seq from selvedge.change group by 1, 2 having count(*) > 1',
    'plane',
  );
  return doubled.trim() === '' ? problems : [...problems, `double entries: ${doubled}`];
}

/** The cursor must not go back while the mirror did not. */
function createCursorWatch({ postgres, account }: World) {
  let last = [0, 0];
  const problems: string[] = [];
  return {
    problems,
    look(mayGoBack: boolean): void {
      const text = `select seq, ledger_seq from selvedge.plane_cursor where account = '${account}'`;
      const [line = ''] = postgres.sql(text, 'plane').split('\n');
      if (line === '') return;
      const now = line.split('|').map(Number);
      const isBack = now.some((seq, at) => seq < (last[at] ?? 0));
      if (isBack && !mayGoBack) problems.push(`the cursor went back: ${last} to ${now}`);
      last = now;
    },
  };
}

export async function runSeed(
  seed: number,
  postgres: Postgres,
  proxy: TcpProxy,
): Promise<SeedFigures> {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-plane-'));
  const path = join(folder, 'mirror.db');
  const clock = systemClock();
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  await store.transaction((tx) => addLedgerFeed(tx, clock.now()));
  await store.close();
  const random = seededRandom(seed);
  const common = { random, path, postgres, proxy, account: `seed_${seed}` };
  const world: World = { ...common, sinks: [], told: {}, writer: undefined, writers: 0 };
  const trouble: Record<string, number> = {};
  const watch = createCursorWatch(world);
  try {
    await startWriter(world);
    startSink(world);
    // Without a cursor yet nothing can be struck but the first copy, which is worth it at times.
    await sleep(random.int(0, 1_500));
    let wasPutBack = false;
    for (let left = TROUBLES; left > 0; left -= 1) {
      const name = random.pick(Object.keys(TROUBLE));
      trouble[name] = (trouble[name] ?? 0) + 1;
      await TROUBLE[name]?.(world);
      wasPutBack ||= name === 'mirror put back';
      await sleep(random.int(0, 600));
      watch.look(wasPutBack);
    }
    await gone(world.writer);
    const verdict = await settledVerdict(world);
    const problems = [...watch.problems, ...problemsOf(verdict, world)];
    const known = typeof verdict === 'string' ? undefined : verdict;
    const rows = (known?.tables ?? []).reduce((sum, table) => sum + table.rows, 0);
    const seconds = (performance.now() - started) / 1_000;
    return { seed, rows, seq: known?.seq ?? 0, trouble, told: world.told, seconds, problems };
  } finally {
    await gone(world.writer);
    await killSinks(world);
    rmSync(folder, { recursive: true, force: true });
  }
}
