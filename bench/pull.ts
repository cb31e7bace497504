/**
 * Pulling the stock, detailed: a whole daemon (validation, hashing, change feed) beside the plain
 * script that a user would write, side by side, in both paging modes: the first pull, the second
 * with nothing changed, the third with 1 % of the rows changed. Also peak memory of the whole
 * process (VmHWM) and event-loop delay of its main thread.
 *
 * `node bench/pull.ts [variants] [repetitions]` (100000 and 3; with 1000000 the plain script
 * cannot run: V8 has no string that long). Ratios of seconds and of CPU seconds: the latter say
 * more on a machine that is busy with other things. The reference is the source, in a process of
 * its own.
 */
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const VARIANTS = Number(process.argv[2] ?? 100_000);
const REPETITIONS = Number(process.argv[3] ?? 3);
/** Beyond this the whole list is longer than V8's longest string. */
const PLAIN_ROWS_MAX = 700_000;
const CHANGED_SHARE = 0.01;
const script = (name: string): string =>
  fileURLToPath(new URL(`./support/${name}.ts`, import.meta.url));

// Five seasons, of which the newest is not in stock: 20 rows a style, four fifths in stock.
const world = { styles: Math.ceil(VARIANTS / 16), colors: 4, sizes: 5, orders: 0 };
const life = { ordersPerMinute: 0, restocksPerMinute: 0 };
const knobs = { world, life, rates: { perSecond: 0 }, auth: { loginSpacing: 0 } };
const reference = fork(script('reference-process'), [JSON.stringify(knobs)]);
const [source] = await once(reference, 'message');
const { clientId, clientSecret, apiKey } = source.credentials;

interface Figures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMiB: number;
  readonly delayP99Ms: number;
  readonly outcome?: string;
  readonly changed?: number;
}

async function measured(name: string, args: readonly string[]): Promise<Figures> {
  const launched = fileURLToPath(new URL('./support/launched.mjs', import.meta.url));
  const child = fork(launched, [script(name), ...args]);
  const exit = once(child, 'exit');
  const [figures] = await once(child, 'message');
  await exit;
  return figures;
}

async function changeSome(): Promise<number> {
  reference.send({ share: CHANGED_SHARE });
  const [{ changed }] = await once(reference, 'message');
  return changed;
}

function shellPipe(folder: string): Figures {
  const list = `${source.v1Url}/variants/stock?detailed=true`;
  const row =
    '[.barcode,.quantity,.seasonName,.colorCode,.priceOriginal,.wspPrice,.details.styleNo]';
  const command =
    `curl -s -H 'X-Service-Authorization: ${apiKey}' '${list}' | ` +
    `jq -r '.data.variants[]|${row}|@csv' | ` +
    `sqlite3 ${join(folder, 'pipe.db')} ` +
    `'create table v(a,b,c,d,e,f,g)' '.import --csv /dev/stdin v'`;
  const startedAt = performance.now();
  const { status } = spawnSync('sh', ['-c', command], { stdio: 'inherit' });
  const seconds = (performance.now() - startedAt) / 1_000;
  if (status !== 0) throw new Error('the shell pipe failed');
  return { seconds, cpuSeconds: Number.NaN, peakMiB: Number.NaN, delayP99Ms: Number.NaN };
}

const all = new Map<string, Figures[]>();
function keep(name: string, figures: Figures): void {
  all.set(name, [...(all.get(name) ?? []), figures]);
}

const hasJq = spawnSync('jq', ['--version']).status === 0;
for (let round = 0; round < REPETITIONS; round += 1) {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  if (source.rows <= PLAIN_ROWS_MAX) {
    keep('plain script', await measured('plain-script', [folder, source.v1Url, apiKey]));
    if (hasJq) keep('curl | jq | sqlite3', shellPipe(folder));
  }
  for (const paging of ['stream', 'pages']) {
    const dataDir = join(folder, paging);
    const pull = () =>
      measured('pull-process', [dataDir, source.v1Url, clientId, clientSecret, paging]);
    keep(`${paging}: first`, await pull());
    keep(`${paging}: unchanged`, await pull());
    const changed = await changeSome();
    const figures = await pull();
    if (figures.changed !== changed) throw new Error(`${figures.changed} of ${changed} changes`);
    keep(`${paging}: 1 % changed`, figures);
  }
  rmSync(folder, { recursive: true });
}
reference.disconnect();

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const of = (name: string, member: 'seconds' | 'cpuSeconds' | 'peakMiB' | 'delayP99Ms'): number =>
  median((all.get(name) ?? []).map((figures) => figures[member]));
const cell = (value: number, digits: number): string =>
  (Number.isNaN(value) ? '-' : value.toFixed(digits)).padStart(9);

console.log(`${source.rows} rows, median of ${REPETITIONS}`);
console.log(
  `${''.padEnd(22)}${['s', 'CPU s', '× plain', '× CPU', '× first', 'peak MiB', 'p99 ms']
    .map((title) => title.padStart(9))
    .join('')}`,
);
for (const name of all.keys()) {
  const first = name.includes(':') ? `${name.split(':')[0]}: first` : 'none';
  const figures = [
    cell(of(name, 'seconds'), 2),
    cell(of(name, 'cpuSeconds'), 2),
    cell(of(name, 'seconds') / of('plain script', 'seconds'), 2),
    cell(of(name, 'cpuSeconds') / of('plain script', 'cpuSeconds'), 2),
    cell(of(name, 'seconds') / of(first, 'seconds'), 2),
    cell(of(name, 'peakMiB'), 0),
    cell(of(name, 'delayP99Ms'), 1),
  ];
  console.log(`${name.padEnd(22)}${figures.join('')}`);
}
