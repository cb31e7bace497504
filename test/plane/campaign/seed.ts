/**
 * A seed: a process that changes a mirror, a process that follows it into PostgreSQL through a
 * proxy, and trouble at random moments: both are killed and suspended, a second sink comes, the
 * clock is moved, PostgreSQL loses power, connections are cut and held back, an old copy takes the
 * place of the mirror. Afterwards the copy must be equal by value.
 */
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { connectPostgres } from '../../../src/plane/postgres.ts';
import { createSource } from '../../../src/plane/source.ts';
import { type Verdict, verify } from '../../../src/plane/verify.ts';
import { addLedgerFeed } from '../../../src/store/ledger-feed.ts';
import { openStore } from '../../../src/store/store.ts';
import type { Postgres } from '../../support/postgres.ts';
import { ALL_CONTENT, SCHEMA } from '../world.ts';
import { type Child, startChild } from './child.ts';
import {
  type Counts,
  count,
  createCursorWatch,
  DATABASE,
  endOf,
  FAR_TROUBLE,
  type FarSide,
  messagesInto,
  type SeedFigures,
  settled,
  type Troubles,
} from './far-side.ts';
import type { TcpProxy } from './proxy.ts';

const TROUBLES = 8;
const HOUR_MS = 3_600_000;
const SINK = fileURLToPath(new URL('./sink-child.ts', import.meta.url));
const WRITER = fileURLToPath(new URL('./writer-child.ts', import.meta.url));

interface World extends FarSide {
  readonly path: string;
  /** The sinks and the last writer. */
  readonly sinks: Child[];
  readonly told: Counts;
  readonly mirrorWentBack: () => void;
  writer: Child | undefined;
  /** By how much the clock of all processes was moved. */
  stepMs: number;
}

async function startSink(world: World): Promise<void> {
  const url = `postgres://postgres@127.0.0.1:${world.proxy.port}/${DATABASE}`;
  const args = [SINK, world.path, url, world.account, String(world.stepMs)];
  world.sinks.push(await startChild(args, 'ready', messagesInto(world.told)));
}

async function startWriter(world: World): Promise<void> {
  const seed = String(world.random.int(1, 1_000_000));
  world.writer = await startChild([WRITER, world.path, seed, String(world.stepMs)], 'ready');
}

async function killSinks(world: World): Promise<void> {
  for (const child of world.sinks.splice(0)) await child.kill();
}

/** An old copy in the place of the mirror, as a restored disk has it: numbers are given again. */
async function putBack(world: World): Promise<void> {
  const copy = `${world.path}.copy`;
  rmSync(copy, { force: true });
  const database = new Database(world.path, { readonly: true });
  database.prepare('vacuum into ?').run(copy);
  database.close();
  await sleep(world.random.int(100, 600));
  await world.writer?.kill();
  for (const ending of ['', '-wal', '-shm']) {
    if (existsSync(world.path + ending)) renameSync(world.path + ending, `${copy}.old${ending}`);
  }
  renameSync(copy, world.path);
  world.mirrorWentBack();
  await startWriter(world);
}

const TROUBLE: Troubles<World> = {
  ...FAR_TROUBLE,
  'sink killed': async (world) => {
    await killSinks(world);
    await startSink(world);
  },
  'sink suspended': async ({ sinks, random }) => sinks[0]?.suspend(random.int(50, 1_500)),
  'sink suspended and replaced': async (world) => {
    const [first] = world.sinks;
    first?.freeze();
    await startSink(world);
    await sleep(world.random.int(300, 2_000));
    first?.goOn();
    await sleep(world.random.int(50, 500));
  },
  'writer killed': async (world) => {
    await world.writer?.kill();
    await startWriter(world);
  },
  'writer suspended': async ({ writer, random }) => writer?.suspend(random.int(50, 1_500)),
  'clock moved': async (world) => {
    const stepMs = Math.round((world.random.next() * 2 - 1) * 12 * HOUR_MS);
    world.stepMs += stepMs;
    // By when the sink looks again, what it has not seen may lie in the future.
    await world.sinks[0]?.suspend(world.random.int(0, 500));
    for (const child of [...world.sinks, world.writer]) child?.send({ stepMs });
  },
  'mirror put back': putBack,
};

/** Compares every value; a mirror that was put back is wrong until the sink has noticed. */
async function verdictOf({ path, postgres, account }: World): Promise<Verdict | string> {
  const source = createSource({ path, busyTimeoutMs: 5_000, content: ALL_CONTENT });
  try {
    const client = await connectPostgres({ url: postgres.url(DATABASE), schema: SCHEMA })();
    try {
      return await verify({ client, reader: source.reader(), account, deep: true });
    } finally {
      await client.end();
    }
  } catch (error) {
    return String(error);
  } finally {
    source.close();
  }
}

async function newMirror(folder: string): Promise<string> {
  const path = join(folder, 'mirror.db');
  const clock = systemClock();
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  await store.transaction((tx) => addLedgerFeed(tx, clock.now()));
  await store.close();
  return path;
}

export async function runSeed(
  seed: number,
  postgres: Postgres,
  proxy: TcpProxy,
): Promise<SeedFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-plane-'));
  const path = await newMirror(folder);
  const random = seededRandom(seed);
  const far = { random, postgres, proxy, account: `seed_${seed}` };
  const watch = createCursorWatch(far);
  const { mirrorWentBack } = watch;
  const own = { sinks: [], told: {}, writer: undefined, stepMs: 0, mirrorWentBack };
  const world: World = { ...far, path, ...own };
  const trouble: Counts = {};
  try {
    await startWriter(world);
    await startSink(world);
    // Without a cursor yet nothing can be struck but the first copy, which is worth it at times.
    await sleep(random.int(0, 1_500));
    for (let left = TROUBLES; left > 0; left -= 1) {
      const name = random.pick(Object.keys(TROUBLE));
      count(trouble, name);
      await TROUBLE[name]?.(world);
      await sleep(random.int(0, 600));
      watch.look();
    }
    const failures = [...world.sinks, world.writer].map((child) => child?.failure());
    await world.writer?.kill();
    const { rows, seq, problems } = endOf(await settled(() => verdictOf(world)), far);
    const ended = failures.filter((text) => text !== undefined);
    const all = [...ended, ...watch.problems, ...problems];
    return { rows, seq, trouble, told: world.told, problems: all };
  } finally {
    await world.writer?.kill();
    await killSinks(world);
    rmSync(folder, { recursive: true, force: true });
  }
}
