/**
 * A seed with a whole daemon (cell.ts): the daemon and the process that keeps the copy are killed
 * and suspended, a backup is restored in between, and PostgreSQL and the way there have trouble.
 * Afterwards the command line must say that the copy is equal by value.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { seededRandom } from '../../../src/lib/random.ts';
import type { Postgres } from '../../support/postgres.ts';
import { type Cell, deepVerdict, startCell } from './cell.ts';
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

interface World extends FarSide {
  readonly cell: Cell;
  readonly mirrorWentBack: () => void;
}

const TROUBLES = 5;
const RESTORE = 'backup restored';
const BACKUP = z.object({ path: z.string() });

const TROUBLE: Troubles<World> = {
  ...FAR_TROUBLE,
  'daemon killed': async ({ cell }) => {
    await cell.daemon()?.kill();
    await cell.startDaemon();
  },
  'daemon suspended': async ({ cell, random }) => cell.daemon()?.suspend(random.int(100, 2_000)),
  'plane process killed': async ({ cell }) => {
    await cell.sink()?.kill();
    await cell.startSink();
  },
  'plane process suspended': async ({ cell, random }) =>
    cell.sink()?.suspend(random.int(100, 2_000)),
  [RESTORE]: async ({ cell, random, mirrorWentBack }) => {
    const { path } = BACKUP.parse(JSON.parse(await cell.ok('backup', 'create', '--json')));
    await sleep(random.int(0, 1_000));
    await cell.daemon()?.kill();
    await cell.ok('backup', 'restore', path);
    mirrorWentBack();
    await cell.startDaemon();
    await cell.ok('resume', 'pushes', '--reason', 'the campaign goes on');
  },
};

async function strike(world: World, watch: ReturnType<typeof createCursorWatch>): Promise<Counts> {
  const { random } = world;
  const trouble: Counts = {};
  const others = Object.keys(TROUBLE).filter((name) => name !== RESTORE);
  const restoreAt = random.int(1, TROUBLES - 1);
  for (let turn = 0; turn < TROUBLES; turn += 1) {
    const name = turn === restoreAt ? RESTORE : random.pick(others);
    count(trouble, name);
    await TROUBLE[name]?.(world);
    await sleep(random.int(0, 1_000));
    watch.look();
  }
  return trouble;
}

export async function runDaemonSeed(
  seed: number,
  postgres: Postgres,
  proxy: TcpProxy,
): Promise<SeedFigures> {
  const far = { random: seededRandom(seed), postgres, proxy, account: `daemon-${seed}` };
  const told: Counts = {};
  const cell = await startCell({
    ...{ account: far.account, seed, ordersPerMinute: 600, lagWarning: '1m' },
    url: `postgres://postgres@127.0.0.1:${proxy.port}/${DATABASE}`,
    hearSink: messagesInto(told),
  });
  let problems: string[] = ['not finished'];
  try {
    const watch = createCursorWatch(far);
    const world = { ...far, cell, mirrorWentBack: watch.mirrorWentBack };
    const trouble = await strike(world, watch);
    const ended = [cell.daemon(), cell.sink()].map((child) => child?.failure());
    await cell.daemon()?.kill();
    const end = endOf(await settled(() => deepVerdict(cell)), far);
    const pushed = `select count(*) from selvedge.outbox
      where account = '${far.account}' and state = 'confirmed'`;
    problems = [
      ...ended.filter((text) => text !== undefined),
      ...watch.problems,
      ...end.problems,
      ...(Number(postgres.sql(pushed, DATABASE)) > 0 ? [] : ['nothing was pushed']),
    ];
    return { ...end, trouble, told, problems };
  } finally {
    await cell.end(problems.length === 0);
  }
}
