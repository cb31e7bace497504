/** Runs a benchmark in a process of its own and collects what it tells (figures.ts). */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../../src/lib/errors.ts';
import type { Figure, Section, Told } from './figures.ts';

export interface Bench {
  /** The checkout whose code is measured. */
  readonly root: string;
  readonly name: string;
  readonly options: readonly string[];
  /** Folder for what all rounds of a comparison may use. */
  readonly shared?: string;
}

export interface Ended {
  readonly code: number;
  readonly figures: readonly Figure[];
  readonly sections: readonly Section[];
  /** Its own words for why it ended, in one line. */
  readonly reason: string;
}

const SAID_CHARS_MAX = 20_000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** The line of an uncaught error that says what is wrong. */
function reasonIn(said: string, code: number): string {
  const lines = said.split('\n').map((line) => line.trim());
  return (
    lines.findLast((line) => /^(?:\w*Error\b.*:|the daemon ended)/.test(line)) ??
    (code === 0 ? 'it has none' : `it ended with ${code}`)
  );
}

/** Sends a signal to all processes of its group. */
function endAll({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/** Ends with it at a signal, and leaves nothing of it: no process and no file. */
export async function runBench({ root, name, options, shared }: Bench): Promise<Ended> {
  const file = join(root, 'bench', `${name}.ts`);
  // One that fails leaves its files, and a large mirror is one of them.
  const temporary = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const env = { ...process.env, TMPDIR: temporary, BENCH_SHARED: shared };
  const child = fork(file, options, {
    cwd: root,
    env,
    stdio: ['ignore', 1, 'pipe', 'ipc'],
    detached: true,
  });
  const figures: Figure[] = [];
  const sections: Section[] = [];
  let said = '';
  child.on('message', (told: Told) => {
    if ('figures' in told) figures.push(...told.figures);
    else sections.push(told.section);
  });
  child.stderr?.on('data', (bytes: Buffer) => {
    process.stderr.write(bytes);
    said = (said + bytes.toString()).slice(-SAID_CHARS_MAX);
  });
  let stoppedBy: string | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    stoppedBy = signal;
    endAll(child, signal);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  const closed = once(child, 'close');
  const [code] = await once(child, 'exit');
  // Daemons of one that failed would slow the next, and hold its output open.
  endAll(child, 'SIGKILL');
  await closed;
  rmSync(temporary, { recursive: true, force: true });
  for (const signal of SIGNALS) process.off(signal, stop);
  if (stoppedBy !== undefined) throw new Error(`stopped by ${stoppedBy}`);
  return { code: code ?? 1, figures, sections, reason: reasonIn(said, code ?? 1) };
}
