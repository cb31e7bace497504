/**
 * Cost of one packed delivery on its way from the event to the confirmed accept at a daemon: files
 * and named functions of `src/` that run for it (`lib/` left out), SQL statements, transactions,
 * looks at files, requests, and rounds of the decider. The daemon runs in this process, beside the
 * reference; what it does while nothing happens does not count among its functions.
 *
 * `node bench/trace-accept.ts [--list]`: with each function, statement and file
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { requireConfig } from '../src/config/load.ts';
import { openDaemon } from '../src/daemon/daemon.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/log.ts';
import { systemRandom } from '../src/lib/random.ts';
import { createScrubber } from '../src/lib/secret.ts';
import { startCalmService, until, watchMirror } from './support/accepting.ts';
import { SECRET, writeConfig } from './support/daemon-process.ts';
import { lower, tell } from './support/figures.ts';
import { type Counted, countCalls, countFunctions, type Ran } from './support/trace.ts';

const PER_SECOND = 50;
/** Accepts before the one that is counted: what is done once in a life is done by them. */
const WARM = 2;
/** Milliseconds in which the daemon comes to rest, and those in which it is watched at rest. */
const REST_MS = 3_000;
const clock = systemClock();

const { reference, wish, place } = await startCalmService(PER_SECOND);
const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const more = ['decisions: { settle: 0s }', 'console: { enabled: false }'];
const file = writeConfig(folder, reference, { ...wish, more });
const scrubber = createScrubber();
const { config } = requireConfig({ file, env: process.env, scrubber });
const daemon = await openDaemon(config, {
  clock,
  random: systemRandom(),
  log: silentLogger(),
  scrubber,
});
const stop = new AbortController();
const running = daemon.run(stop.signal);
const url = await daemon.listenerUrl;
if (url === undefined) throw new Error('the daemon does not listen');
reference.relay.createEndpoint({ url, secret: SECRET });

const mirror = watchMirror(daemon.store.path);

async function placeOne(before: number): Promise<void> {
  place(1);
  await until('the order', () => mirror.isRead(before + 1));
}

async function packAndAccept(before: number): Promise<void> {
  const order = [...reference.world.book.orders.all].at(-1);
  if (!order) throw new Error('there is no order to pack');
  reference.world.trade.packAll(order);
  await until('the accept', () => mirror.isConfirmed(before + 1));
}

function sum(counts: ReadonlyMap<string, number>, of: (key: string) => boolean = () => true) {
  return [...counts].reduce((total, [key, times]) => total + (of(key) ? times : 0), 0);
}

function list(active: readonly Ran[], { statements, looks }: Counted): void {
  for (const [name, ran] of Map.groupBy(active, (one) => one.file)) {
    const functions = ran.filter((one) => one.name !== '');
    console.log(name, functions.map((one) => `${one.name} ${one.calls}`).join(', '));
  }
  const often = (counts: ReadonlyMap<string, number>) => [...counts].sort((a, b) => b[1] - a[1]);
  for (const [text, times] of often(statements)) console.log(times, text.replace(/\s+/g, ' '));
  for (const [path, times] of often(looks)) console.log(times, path);
}

for (let accepts = 0; accepts < WARM; accepts += 1) {
  await placeOne(accepts);
  await packAndAccept(accepts);
}
await placeOne(WARM);
await clock.sleep(REST_MS);
const functionsRan = await countFunctions();
await clock.sleep(REST_MS);
const idle = await functionsRan();
reference.edge.journal.clear();
const counted = countCalls(daemon.store.path);
const begun = clock.monotonic();
await packAndAccept(WARM);
const tookMs = clock.monotonic() - begun;
const calls = counted();
const ran = await functionsRan();
const requests = reference.edge.journal.list({ limit: 1_000 }).length;
stop.abort();
await running;
mirror.close();
await reference.close();
rmSync(folder, { recursive: true, force: true });

const own = [...ran].filter(([, { file: of }]) => !/^(?:lib|reference)\//.test(of));
const active = own.flatMap(([key, one]) => (idle.has(key) ? [] : [one]));
const isRound = (text: string): boolean => text.includes('indexed by change_delivery_status');
/** By their names, or by the list of the folder in which they would be. */
const isPause = (path: string): boolean =>
  path.endsWith('.paused') || path === dirname(daemon.store.path);
const isDatabase = (path: string): boolean => path.includes('mirror.db');
if (process.argv.includes('--list')) list(active, calls);
const figures = [
  lower('files of src', new Set(active.map((one) => one.file)).size),
  lower('named functions', active.filter(({ name }) => name !== '').length),
  lower('SQL statements', sum(calls.statements)),
  lower('different SQL statements', calls.statements.size),
  lower('write transactions', calls.writes),
  lower('snapshots', calls.snapshots),
  lower('looks at pause files', sum(calls.looks, isPause)),
  lower('looks at the database file', sum(calls.looks, isDatabase)),
  lower(
    'looks at other files',
    sum(calls.looks, (path) => !isPause(path) && !isDatabase(path)),
  ),
  lower('requests', requests),
  lower('rounds of the decider', sum(calls.statements, isRound)),
];
console.log(`from packed to confirmed: ${tookMs.toFixed(0)} ms`);
for (const { name, value } of figures) console.log(`${name}: ${value}`);
tell(...figures);
