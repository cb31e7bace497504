/**
 * The daemon's first pull of 100,000 detailed variants: seconds, peak memory of the whole process
 * (VmHWM) and event-loop delay meanwhile, in both paging modes, then the unchanged second pull.
 *
 * `node bench/stock-pull.ts [variants]`; the reference service is the source, in a process of its
 * own on the same machine.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VARIANTS = Number(process.argv[2] ?? 100_000);
const script = (name: string): string =>
  fileURLToPath(new URL(`./support/${name}.ts`, import.meta.url));

// Five seasons, of which the newest is not in stock: 25 rows a style, four fifths in stock.
const world = { styles: Math.ceil(VARIANTS / 16), colors: 4, sizes: 5, orders: 0 };
const knobs = {
  world,
  life: { ordersPerMinute: 0, restocksPerMinute: 0 },
  rates: { perSecond: 0 },
};
const reference = fork(script('reference-process'), [JSON.stringify(knobs)]);
const [source] = await once(reference, 'message');
console.log(`source: ${source.rows} variants in stock`);

async function pull(folder: string, paging: string): Promise<void> {
  const { clientId, clientSecret } = source.credentials;
  const daemon = fork(script('pull-process'), [
    ...[folder, source.v1Url, clientId, clientSecret, paging],
  ]);
  const [figures] = await once(daemon, 'message');
  const { result, ...rest } = figures;
  const rounded = Object.fromEntries(
    Object.entries<number>(rest).map(([name, value]) => [name, Number(value.toFixed(1))]),
  );
  console.log(paging, result.outcome, { rows: result.rows, changed: result.changed, ...rounded });
  await once(daemon, 'exit');
}

for (const paging of ['stream', 'pages']) {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  await pull(folder, paging);
  await pull(folder, paging);
  rmSync(folder, { recursive: true });
}
reference.disconnect();
