/**
 * While a whole daemon pulls the stock for the first time, its listener takes signed events that
 * fall due on a schedule: how long it takes to acknowledge one (stored at synchronous=FULL), how
 * late the timers of its main thread come, and how much memory all of it needs.
 *
 * `node bench/listener-during-pull.ts [--rows 1000000] [--events 20] [--paging stream] [--runs 3]`;
 * events a second. Each event names an order, which is read again, as it always is.
 */
import { fork } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { askToPullStock } from './support/ask.ts';
import { type Latencies, offerEvents } from './support/event-load.ts';
import { BENCH_KEY } from './support/event-server.ts';
import { cell, median, report, table } from './support/results.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '20' },
    paging: { type: 'string', multiple: true, default: ['stream', 'pages'] },
    runs: { type: 'string', default: '3' },
  },
});
const support = (name: string): string => join(import.meta.dirname, 'support', name);

const source = fork(support('stock-source.ts'), [values.rows]);
const [{ v1Url, rows }] = await once(source, 'message');

async function measure(paging: string): Promise<readonly number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const program = support('pull-process.ts');
  const daemon = fork(support('launched.mjs'), [
    program,
    folder,
    v1Url,
    paging,
    `whsec_${BENCH_KEY}`,
  ]);
  const exit = once(daemon, 'exit');
  let isPulling = true;
  let events: Promise<Latencies> | undefined;
  for await (const [message] of on(daemon, 'message', { close: ['exit'] })) {
    if (message.listenerUrl) {
      daemon.send({ measure: true });
      const { port, pathname: path } = new URL(message.listenerUrl);
      const perSecond = Number(values.events);
      events = offerEvents({ port: Number(port), path, perSecond, goesOn: () => isPulling });
    }
    if (message.isMeasuring) await askToPullStock(folder);
    if (message.outcome === undefined) continue;
    isPulling = false;
    const { p50, p99, max, failed } = (await events) ?? {};
    daemon.disconnect();
    await exit;
    rmSync(folder, { recursive: true });
    const { outcome, changed, seconds, peakMiB, delayP99Ms } = message;
    if (outcome !== 'complete' || changed !== rows) throw new Error(`${outcome}: ${changed}`);
    return [p50, p99, max, failed, seconds, delayP99Ms, peakMiB].map(Number);
  }
  throw new Error('the daemon has ended');
}

const measured = new Map<string, (readonly number[])[]>();
for (let run = 0; run < Number(values.runs); run += 1) {
  for (const paging of values.paging) {
    const figures = await measure(paging);
    console.log(`${paging}: ${figures.map((figure) => cell(figure, 1)).join(', ')}`);
    measured.set(paging, [...(measured.get(paging) ?? []), figures]);
  }
}
source.disconnect();
const titles = ['', 'p50 ms', 'p99 ms', 'max ms', 'failed', 'pull s', 'loop p99 ms', 'peak MiB'];
/** Sum over all runs, for failed events; the other figures are medians. */
const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);
const lines = [...measured].map(([paging, all]) => {
  const column = (at: number) => all.map((figures) => figures[at] ?? Number.NaN);
  const times = [0, 1, 2].map((at) => cell(median(column(at)), 1));
  const own = [4, 5].map((at) => cell(median(column(at)), 1));
  return [paging, ...times, cell(sum(column(3)), 0), ...own, cell(median(column(6)), 0)];
});
const pull = `${values.events} events a second during the first pull of ${rows} variants.`;
const intro = `${pull} Median of ${values.runs}.`;
report(`Listener during a pull of ${rows} variants`, `${intro}\n\n${table(titles, lines)}`);
