/**
 * How long every report takes on a large mirror while a writer works: 1,000,000 variants,
 * 10,000,000 changes of stock in 100 days, 200,000 orders with a delivery and a decision each.
 *
 * `node bench/reports.ts [--thousands 1000] [--keep FILE] [--only NAME]`: thousands of variants,
 * the rest in proportion; a kept file is used again by the next run (and by bench/views.ts).
 * Medians of three. The time is that of the report's own process, as `report run` starts it; the
 * CPU is what the query alone takes, and says more on a machine that is busy.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/lib/clock.ts';
import { bindParameters } from '../src/report/parameters.ts';
import { QUERY_LIMITS, runQuery } from '../src/report/query.ts';
import { readReports } from '../src/report/report-file.ts';
import { openReader, openWriter } from '../src/store/connection.ts';
import { openStore } from '../src/store/store.ts';
import { fillMirror } from './support/large-mirror.ts';
import { cell, median, report as record, table } from './support/results.ts';

const { values: options } = parseArgs({
  options: {
    thousands: { type: 'string', default: '1000' },
    keep: { type: 'string' },
    only: { type: 'string' },
  },
});
const VARIANTS = Number(options.thousands) * 1_000;
const SIZE = { variants: VARIANTS, changes: VARIANTS * 10, orders: VARIANTS / 5, days: 100 };
const ROUNDS = 3;
const ROWS_MAX = 10_000;
const TIME_MAX_MS = 300_000;
const BUSY = { busyTimeoutMs: 5_000 };

async function prepare(path: string): Promise<void> {
  if (existsSync(path)) return;
  const { store } = await openStore({ path, ...BUSY }, systemClock());
  await store.close();
  const from = performance.now();
  const writer = openWriter(path, BUSY);
  fillMirror(writer, SIZE);
  writer.close();
  console.log(`filled in ${((performance.now() - from) / 1_000).toFixed(0)} s`);
}

/** CPU of this process since then, in milliseconds. */
function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const path = options.keep ?? join(folder, 'mirror.db');
try {
  await prepare(path);
  const other = fork(join(import.meta.dirname, 'support/report-writer.ts'), [
    path,
    String(VARIANTS),
  ]);
  // Else small mirrors would be read before anything is written.
  await once(other, 'message');
  const reader = openReader(path, { ...BUSY, cacheKib: QUERY_LIMITS.cacheKib });
  const given: Record<string, string> = { style: 'S-1', season: 'AW26' };
  const lines: string[][] = [];
  const { reports } = readReports('');
  for (const report of reports.filter(({ name }) => [undefined, name].includes(options.only))) {
    const needed = Object.entries(report.params).filter(([, one]) => one.default === undefined);
    const chosen = Object.fromEntries(needed.map(([name]) => [name, given[name] ?? '']));
    const values = bindParameters(report, chosen, systemClock());
    const times: number[] = [];
    const cpu: number[] = [];
    let rows = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      rows = 0;
      const sink = {
        columns: () => undefined,
        row: () => {
          rows += 1;
        },
      };
      const query = { path, ...BUSY, sql: report.sql, file: report.file, values };
      const start = performance.now();
      await runQuery({ ...query, rowsMax: ROWS_MAX }, TIME_MAX_MS, systemClock(), sink);
      times.push(performance.now() - start);
      const statement = reader.prepare(report.sql);
      const before = process.cpuUsage();
      let seen = 0;
      for (const _ of statement.iterate(values)) {
        seen += 1;
        if (seen === ROWS_MAX) break;
      }
      cpu.push(cpuSince(before));
    }
    console.log(`${report.name}: ${cell(median(times), 0)} ms, CPU ${cell(median(cpu), 0)} ms`);
    lines.push([report.name, cell(median(times), 0), cell(median(cpu), 0), String(rows)]);
  }
  reader.close();
  other.disconnect();
  const counts = `${SIZE.variants} variants, ${SIZE.changes} changes, ${SIZE.orders} orders`;
  const intro =
    `Median of ${ROUNDS} on a mirror of ${counts}, while a writer works. Goal: 1 s of CPU each. ` +
    'Time is that of the report process with its start; CPU that of the query alone.';
  const titles = ['report', 'ms', 'CPU ms', 'rows'];
  record('Reports on a large mirror', `${intro}\n\n${table(titles, lines)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
