/**
 * A daemon after years: whether what it does costs more where more lies behind it. A whole daemon
 * with its console runs on a mirror of a tenth of the size and on the large one: CPU of each event,
 * decision and page, and of a while without anything. On the large one also: forgetting an order;
 * and a minute in which all that waits is left to changed rules while five deliveries a second are
 * packed. Besides: a start with a large table of rules, and bytes that an order of 40 lines leaves
 * behind which is packed in 10 parts.
 *
 * `node bench/year.ts [--thousands 1000] [--waiting 2000] [--quick]`: thousands of variants of the
 * large mirror, the rest in proportion; deliveries that wait, in both mirrors alike; `--quick` is a
 * look while one works: 200, with shorter times. The reference runs in a process of its own. Goals
 * of the loop are for the CPU of its turns, which is the same on a machine that is busy with other
 * things; there a folder in memory (TMPDIR=/dev/shm) keeps the wait for the disk out of the rest.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/lib/clock.ts';
import { bytesOfOneOrder } from './support/bytes.ts';
import { type Figure, higher, lower, tell } from './support/figures.ts';
import { cell, report, table } from './support/results.ts';
import { measureCosts } from './support/year/costs.ts';
import {
  startYearDaemon,
  timedStart,
  writeYearConfig,
  type YearDaemon,
} from './support/year/daemon.ts';
import { measureForgetting } from './support/year/forget.ts';
import { measureMinute } from './support/year/minute.ts';
import { leaveToRules, placeMirror, type YearSize, yearSize } from './support/year/mirror.ts';
import { openShop, type Shop } from './support/year/shop.ts';

const { values } = parseArgs({
  options: {
    thousands: { type: 'string' },
    waiting: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});
const THOUSANDS = Number(values.thousands ?? (values.quick ? 200 : 1_000));
const WAITING = values.waiting === undefined ? undefined : Number(values.waiting);
const TIMES = values.quick
  ? { idleSeconds: 20, minuteSeconds: 20, startMs: 15_000 }
  : { idleSeconds: 60, minuteSeconds: 60, startMs: 60_000 };
const TABLE_ROWS = 100_000;
const BRANDS = 20;
/** Rules under which the bytes of an order are counted. */
const RULES = 200;
const GOAL = { times: 1.5, loopMs: 50, startSeconds: 5, forgetMs: 50 };
/** A difference below is that of two looks at the same. */
const SAME_MS = 0.5;

const clock = systemClock();
const ownShared = process.env.BENCH_SHARED ?? mkdtempSync(join(tmpdir(), 'selvedge-bench-'));

interface Place {
  readonly folder: string;
  readonly dataDir: string;
  readonly shop: Shop;
  readonly daemon: YearDaemon;
}

async function onMirror<T>(size: YearSize, use: (place: Place) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const dataDir = join(folder, 'data');
  await placeMirror(dataDir, { size, shared: ownShared, clock });
  const shop = await openShop(size);
  writeYearConfig(folder, shop);
  const daemon = await startYearDaemon(folder, shop);
  try {
    return await use({ folder, dataDir, shop, daemon });
  } finally {
    shop.end();
    rmSync(folder, { recursive: true });
  }
}

async function onSmall() {
  const size = yearSize(THOUSANDS / 10, WAITING);
  return onMirror(size, async ({ daemon, ...place }) => {
    const { costs } = await measureCosts({ ...place, ...TIMES, daemon, clock });
    await daemon.stop();
    return costs;
  });
}

async function onLarge() {
  const size = yearSize(THOUSANDS, WAITING);
  return onMirror(size, async ({ daemon, folder, dataDir, shop }) => {
    const { costs, orderId } = await measureCosts({ ...TIMES, dataDir, shop, daemon, clock });
    console.log('costs on the large mirror are known');
    const at = { dataDir, shop, daemon, clock };
    const forgotten = await measureForgetting(at, orderId);
    await daemon.stop();
    leaveToRules(dataDir, clock);
    const again = await startYearDaemon(folder, shop);
    const minute = await measureMinute(
      { daemon: again, shop, clock },
      dataDir,
      TIMES.minuteSeconds,
    );
    await again.stop();
    return { costs, forgotten, minute };
  });
}

/** Start of a daemon whose rules ask a large table by two keys. */
async function startWithTable() {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const credentials = { clientId: 'bench', clientSecret: 'a-secret-of-the-bench' };
  // Nobody answers there: it is ready before it asks.
  writeYearConfig(folder, { v1Url: 'http://127.0.0.1:9/v1', credentials });
  const rows = Array.from({ length: TABLE_ROWS }, (_, row) => {
    return `${1_000 + Math.floor(row / BRANDS)},B${row % BRANDS},${row % 9}`;
  });
  const rules = join(folder, 'rules');
  writeFileSync(join(rules, 'most.csv'), `account,brand,most\n${rows.join('\n')}\n`);
  writeFileSync(
    join(rules, 'settings.yaml'),
    `version: 1
mode: live
tables:
  most: { file: most.csv, keys: [account, brand], value: most }
`,
  );
  writeFileSync(
    join(rules, 'past.yaml'),
    `rules:
  - id: hold-many
    title: Many
    action: hold
    mode: live
    when: ['delivery.lines.all(l, l.quantity > tables.most[customer.account_no][l.brand])']
`,
  );
  rmSync(join(rules, 'deliveries.yaml'));
  const start = await timedStart(folder, TIMES.startMs);
  rmSync(folder, { recursive: true });
  return start;
}

function met(isMet: boolean): string {
  return isMet ? 'met' : 'missed';
}

const start = await startWithTable();
const bytes = await bytesOfOneOrder(RULES);
const small = await onSmall();
console.log('costs on the small mirror are known');
const { costs, forgotten, minute } = await onLarge();
if (process.env.BENCH_SHARED === undefined) rmSync(ownShared, { recursive: true });

const lines = [...costs].map(([name, large]) => {
  const less = small.get(name) ?? Number.NaN;
  const isMet = large <= less * GOAL.times || large - less <= SAME_MS;
  return [name, cell(less, 1), cell(large, 1), cell(large / less, 2), met(isMet)];
});
const started: Figure = {
  ...lower(`start with a table of ${TABLE_ROWS} rows, s`, start.seconds),
  isBeyond: !start.isReady,
};
const others = [
  started,
  lower('forgetting an order, longest turn of the loop, CPU ms', forgotten.turnMaxMs),
  lower('forgetting an order, loop max ms', forgotten.delayMaxMs),
  higher(`decisions in ${TIMES.minuteSeconds} s`, minute.decisions),
  higher('of deliveries packed meanwhile', minute.packed),
  lower('turn of the loop meanwhile, p99 CPU ms', minute.loop.turnP99Ms),
  lower('turn of the loop meanwhile, max CPU ms', minute.loop.turnMaxMs),
  lower('loop meanwhile, p99 ms', minute.loop.delayP99Ms),
  lower('loop meanwhile, max ms', minute.loop.delayMaxMs),
  lower('bytes of the feed, 40 lines in 10 parts', bytes.feed),
  lower('bytes of records, 40 lines in 10 parts', bytes.records),
];
tell(
  ...others,
  ...[...costs].flatMap(([name, large]) => [
    lower(`${name}: CPU ms`, large),
    lower(`${name}: large ÷ small`, large / (small.get(name) ?? Number.NaN)),
  ]),
);
const isMet =
  lines.every((line) => line.at(-1) === 'met') &&
  start.isReady &&
  start.seconds <= GOAL.startSeconds &&
  forgotten.turnMaxMs <= GOAL.forgetMs &&
  minute.loop.turnP99Ms <= GOAL.loopMs;
const { variants, orders, waiting } = yearSize(THOUSANDS, WAITING);
const alike = WAITING === undefined ? '' : ', where as many wait';
const intro =
  `A mirror of ${variants} variants, ${orders} deliveries, of which ${waiting} wait, beside one ` +
  `of a tenth${alike}. CPU ms of the daemon; goal ${GOAL.times} times. Goals of the loop: ` +
  `${GOAL.loopMs} ms (p99), ${GOAL.forgetMs} ms for forgetting; of a start ` +
  `${GOAL.startSeconds} s: ${met(isMet)}.`;
const costTable = table(['', 'a tenth', 'large', 'times', ''], lines);
const otherTable = table(
  ['', 'measured'],
  others.map(({ name, value, isBeyond }) => [name, `${isBeyond ? '> ' : ''}${cell(value, 1)}`]),
);
report('A year', `${intro}\n\n${costTable}\n\n${otherTable}`);
process.exitCode = isMet ? 0 : 1;
