/**
 * Pulling the stock, detailed: a whole daemon (validation, hashing, change feed) beside the plain
 * script that a user would write, the shell's tools and what the machine allows (limit.cpp), side
 * by side, in both paging modes: the first pull, the second with nothing changed, the third with
 * 1 % of the rows changed, one after the other in one daemon: its threads need not start again.
 *
 * `node bench/pull.ts [--rows 100000] [--runs 5]`; `--rows` may be given several times. Beyond
 * 700,000 rows the plain script cannot run: V8 has no string that long. Ratios of seconds and of
 * CPU seconds: the latter say more on a machine that is busy with other things. The source is
 * made of bytes that are ready, in a process of its own.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { lower, tell } from './support/figures.ts';
import { compiledLimit, LIMIT } from './support/limit.ts';
import type { Figures } from './support/meters.ts';
import { startPuller } from './support/puller.ts';
import { cell, median, report, table } from './support/results.ts';
import { missingProgram, runShellTool, SHELL_TOOLS } from './support/shell-tools.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', multiple: true, default: ['100000'] },
    runs: { type: 'string', default: '5' },
  },
});
const RUNS = Number(values.runs);
/** Beyond this the whole list is longer than V8's longest string. */
const PLAIN_ROWS_MAX = 700_000;
const CHANGED_SHARE = 0.01;
const PLAIN = 'plain script';
const support = (name: string): string => join(import.meta.dirname, 'support', name);

/** Nobody pays for the disk's work on what another one has written before. */
function writeBack(): void {
  spawnSync('sync');
}

async function told(child: ChildProcess) {
  const [message] = await once(child, 'message');
  return message;
}

async function plainScript(folder: string, v1Url: string): Promise<Figures> {
  writeBack();
  const child = fork(support('plain-script.ts'), [folder, v1Url]);
  const exit = once(child, 'exit');
  const figures = await told(child);
  await exit;
  return figures;
}

/** The figures of the three pulls by their names. */
async function pulls(
  source: ChildProcess,
  { folder, v1Url, paging }: Readonly<Record<'folder' | 'v1Url' | 'paging', string>>,
  rows: number,
): Promise<Map<string, Figures>> {
  const { next, end } = await startPuller(folder, v1Url, paging);
  writeBack();
  const found = new Map([['first', await next(rows)]]);
  found.set('unchanged', await next(0));
  source.send({ share: CHANGED_SHARE });
  const { changed } = await told(source);
  found.set('1 % changed', await next(changed));
  await end();
  return found;
}

function lines(all: ReadonlyMap<string, readonly Figures[]>): string[][] {
  const of = (name: string, member: keyof Figures): number =>
    median((all.get(name) ?? []).map((figures) => figures[member]));
  return [...all.keys()].map((name) => {
    const first = name.includes(':') ? `${name.split(':')[0]}: first` : 'none';
    return [
      name,
      cell(of(name, 'seconds'), 2),
      cell(of(name, 'cpuSeconds'), 2),
      cell(of(name, 'seconds') / of(PLAIN, 'seconds'), 2),
      cell(of(name, 'cpuSeconds') / of(PLAIN, 'cpuSeconds'), 2),
      cell(of(name, 'seconds') / of(LIMIT, 'seconds'), 2),
      cell(of(name, 'seconds') / of(first, 'seconds'), 2),
      cell(of(name, 'peakMiB'), 0),
      cell(of(name, 'delayP99Ms'), 1),
    ];
  });
}

/** Those of the daemon: what stands beside it is not ours. */
function figuresOf(rows: number, all: ReadonlyMap<string, readonly Figures[]>) {
  return [...all].flatMap(([name, found]) => {
    if (!/^(?:stream|pages): /.test(name)) return [];
    const of = (member: keyof Figures) => median(found.map((figures) => figures[member]));
    return [
      lower(`${rows} rows, ${name}: CPU s`, of('cpuSeconds')),
      lower(`${rows} rows, ${name}: s`, of('seconds')),
      lower(`${rows} rows, ${name}: peak MiB`, of('peakMiB')),
      lower(`${rows} rows, ${name}: loop p99 ms`, of('delayP99Ms')),
    ];
  });
}

async function measure(variants: number): Promise<void> {
  const all = new Map<string, Figures[]>();
  const keep = (name: string, figures: Figures): void => {
    console.log(`${name}: ${figures.seconds.toFixed(2)} s, CPU ${figures.cpuSeconds.toFixed(2)} s`);
    all.set(name, [...(all.get(name) ?? []), figures]);
  };
  const source = fork(support('stock-source.ts'), [String(variants)]);
  const { v1Url, rows } = await told(source);
  const notes: string[] = [];
  const tools = [...SHELL_TOOLS];
  const limitFolder = mkdtempSync(join(tmpdir(), 'selvedge-bench-limit-'));
  const limit = compiledLimit(limitFolder);
  if (limit) tools.unshift(limit);
  else notes.push(`Left out: ${LIMIT}; it wants c++, libsimdjson-dev and libsqlite3-dev.`);
  for (let run = 0; run < RUNS; run += 1) {
    const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
    if (rows <= PLAIN_ROWS_MAX) keep(PLAIN, await plainScript(folder, v1Url));
    for (const tool of tools) {
      const missing = missingProgram(tool);
      if (missing && run === 0) notes.push(`Left out: ${tool.name}, there is no ${missing}.`);
      if (missing) continue;
      writeBack();
      keep(tool.name, runShellTool(tool, folder, `${v1Url}/variants/stock?detailed=true`));
    }
    for (const paging of ['stream', 'pages']) {
      const found = await pulls(source, { folder: join(folder, paging), v1Url, paging }, rows);
      for (const [name, figures] of found) keep(`${paging}: ${name}`, figures);
    }
    rmSync(folder, { recursive: true });
  }
  tell(...figuresOf(rows, all));
  source.disconnect();
  rmSync(limitFolder, { recursive: true });
  if (rows > PLAIN_ROWS_MAX) notes.push('The plain script cannot: V8 has no string that long.');
  const titles = ['', 's', 'CPU s', '× plain', '× plain, CPU', '× limit', '× first'];
  titles.push('peak MiB', 'p99 ms');
  const text = `Median of ${RUNS}. The last column is the delay of the main thread's event loop.`;
  const intro = [text, ...notes].join(' ');
  report(`Pull of ${rows} detailed variants`, `${intro}\n\n${table(titles, lines(all))}`);
}

for (const variants of values.rows) await measure(Number(variants));
