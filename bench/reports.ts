/**
 * How long every report takes on a large mirror while a writer works: 1,000,000 variants,
 * 10,000,000 changes of stock, 200,000 orders with a delivery and a decision each.
 *
 * `node bench/reports.ts [thousands of variants]` (default 1000; the rest in proportion). Medians
 * of five; what SQLite takes, without the start of a process.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { systemClock } from '../src/lib/clock.ts';
import { bindParameters } from '../src/report/parameters.ts';
import { readReports } from '../src/report/report-file.ts';
import { openReader, openWriter } from '../src/store/connection.ts';
import { openStore } from '../src/store/store.ts';
import { fillMirror } from './support/large-mirror.ts';
import { cell, median, report as record, table } from './support/results.ts';

const VARIANTS = Number(process.argv[2] ?? 1_000) * 1_000;
const CHANGES = VARIANTS * 10;
const ORDERS = VARIANTS / 5;
const ROUNDS = 5;
const BUSY = { busyTimeoutMs: 5_000 };

const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
const path = join(folder, 'mirror.db');
try {
  const { store } = await openStore({ path, ...BUSY }, systemClock());
  await store.close();
  const from = performance.now();
  const writer = openWriter(path, BUSY);
  fillMirror(writer, { variants: VARIANTS, changes: CHANGES, orders: ORDERS, days: 365 });
  writer.close();
  console.log(`filled in ${((performance.now() - from) / 1_000).toFixed(0)} s`);
  const other = fork(join(import.meta.dirname, 'support/report-writer.ts'), [
    path,
    String(VARIANTS),
  ]);
  // Else small mirrors would be read before anything is written.
  await once(other, 'message');
  const reader = openReader(path, BUSY);
  const given: Record<string, string> = { style: 'S-1', season: 'AW26', at: '90d' };
  const lines: string[][] = [];
  for (const report of readReports('').reports) {
    const names = Object.keys(report.params).filter((name) => given[name] !== undefined);
    const chosen = Object.fromEntries(names.map((name) => [name, given[name] ?? '']));
    const values = bindParameters(report, chosen, systemClock());
    const statement = reader.prepare(report.sql);
    let rows = 0;
    const times = Array.from({ length: ROUNDS }, () => {
      const start = performance.now();
      rows = 0;
      for (const _ of statement.iterate(values)) {
        rows += 1;
        if (rows === 10_000) break;
      }
      return performance.now() - start;
    });
    const [first = 0] = times;
    lines.push([report.name, cell(median(times), 0), cell(first, 0), String(rows)]);
  }
  reader.close();
  other.disconnect();
  const counts = `${VARIANTS} variants, ${CHANGES} changes of stock, ${ORDERS} orders`;
  const intro = `Median of ${ROUNDS} on a mirror of ${counts}, while a writer works.`;
  const titles = ['report', 'ms', 'first, ms', 'rows'];
  record('Reports on a large mirror', `${intro}\n\n${table(titles, lines)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
