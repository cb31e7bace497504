/**
 * The daemon that has nothing to do, as its unit starts the compiled program: the seconds from the
 * start to READY on a database that is there, how much memory it keeps after a start and after a
 * whole pull, and the share of a core that it uses while nothing happens.
 *
 * `node bench/idle.ts [--rows 100000] [--starts 5] [--quiet 60]`; `--rows` may be given several
 * times, `--quiet` are the seconds that it is left alone. CPU seconds say more than seconds on a
 * machine that is busy with other things.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openReader } from '../src/store/connection.ts';
import { lower, tell } from './support/figures.ts';
import { cell, median, report, table } from './support/results.ts';
import { install, startUnit, type UnitProcess, writeConfig } from './support/unit-process.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', multiple: true, default: ['100000', '1000000'] },
    starts: { type: 'string', default: '5' },
    quiet: { type: 'string', default: '60' },
  },
});
const QUIET_SECONDS = Number(values.quiet);
const LOOK_MS = 500;
const COMPILING_ROWS = 1_000;

interface Idle {
  readonly residentMiB: number;
  /** Percent of one core. */
  readonly share: number;
}

async function leaveAlone(unit: UnitProcess): Promise<Idle> {
  // Idleness begins after the rest of the start or of the pull.
  await sleep(QUIET_SECONDS * 1_000);
  const before = unit.use();
  await sleep(QUIET_SECONDS * 1_000);
  const { residentMiB, cpuSeconds } = unit.use();
  return { residentMiB, share: ((cpuSeconds - before.cpuSeconds) / QUIET_SECONDS) * 100 };
}

/** Asked of the file: what the daemon is asked for, it keeps loaded. */
async function pulled(folder: string, rows: number): Promise<void> {
  const reader = openReader(join(folder, 'data', 'mirror.db'), { busyTimeoutMs: 5_000 });
  const complete = reader
    .prepare("select complete_rows from stream_state where stream = 'stock'")
    .pluck();
  while (complete.get() !== rows) await sleep(LOOK_MS);
  reader.close();
}

interface Begun {
  readonly unit: UnitProcess;
  readonly source: ChildProcess;
  readonly config: string;
  readonly rows: number;
}

/** Starts a daemon in the folder that pulls so many variants, and waits until it has them. */
async function begin(folder: string, launcher: string, variants: number): Promise<Begun> {
  mkdirSync(folder, { recursive: true });
  const source = fork(join(import.meta.dirname, 'support/stock-source.ts'), [String(variants)]);
  const [{ v1Url, rows }] = await once(source, 'message');
  const config = writeConfig(folder, v1Url);
  const unit = await startUnit(folder, config, launcher);
  await pulled(folder, rows);
  return { unit, source, config, rows };
}

async function measure(variants: number): Promise<string[]> {
  const parent = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const launcher = install(join(parent, 'installed'));
  // The first daemon compiles, and the result is kept.
  const compiling = await begin(join(parent, 'compiling'), launcher, COMPILING_ROWS);
  await compiling.unit.stop();
  compiling.source.disconnect();
  const folder = join(parent, 'measured');
  const { unit: first, source, config, rows } = await begin(folder, launcher, variants);
  const afterPull = await leaveAlone(first);
  await first.stop();
  source.disconnect();
  const starts: UnitProcess['ready'][] = [];
  for (let start = 1; start < Number(values.starts); start += 1) {
    const unit = await startUnit(folder, config, launcher);
    starts.push(unit.ready);
    await unit.stop();
  }
  const last = await startUnit(folder, config, launcher);
  starts.push(last.ready);
  const afterStart = await leaveAlone(last);
  await last.stop();
  rmSync(parent, { recursive: true });
  const seconds = median(starts.map((start) => start.seconds));
  const cpuSeconds = median(starts.map((start) => start.cpuSeconds));
  const share = Math.max(afterStart.share, afterPull.share);
  tell(
    lower(`${rows} rows: READY, s`, seconds),
    lower(`${rows} rows: READY, CPU s`, cpuSeconds),
    lower(`${rows} rows: MiB, started`, afterStart.residentMiB),
    lower(`${rows} rows: MiB, after a pull`, afterPull.residentMiB),
    lower(`${rows} rows: % of a core`, share),
  );
  return [
    String(rows),
    cell(seconds, 2),
    cell(cpuSeconds, 2),
    cell(afterStart.residentMiB, 0),
    cell(afterPull.residentMiB, 0),
    cell(share, 2),
  ];
}

const lines: string[][] = [];
for (const variants of values.rows) lines.push(await measure(Number(variants)));
const intro = [
  `The compiled program. Median of ${values.starts} starts on a database with so many variants;`,
  `the memory ${values.quiet} s after a start and after a whole pull, while nobody asks anything,`,
  `and the larger share of a core in the ${values.quiet} s that follow.`,
].join(' ');
const titles = ['rows', 'READY s', 'CPU s', 'MiB, started', 'MiB, after a pull', '% of a core'];
report('Idle', `${intro}\n\n${table(titles, lines)}`);
