/** The program as a process of its own, for tests and campaigns that kill it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { LAUNCHER, launcherEnv } from './launcher.ts';

const READY = 'listening for events';

/** Needs of a process at one moment. */
export interface Needs {
  readonly descriptors: number;
  readonly residentMiB: number;
  /** The most that was resident since it started. */
  readonly peakMiB: number;
}

export interface ChildDaemon {
  /** Resolves with the process when it receives events. */
  start(): Promise<void>;
  /** `kill -9`, and waits until it is gone. */
  kill(): Promise<void>;
  /** Nothing of it moves until it is told to go on, as when a machine is suspended. */
  freeze(): void;
  goOn(): void;
  /** Exit code, once it has ended by itself. */
  ended(): Promise<number | null>;
  /** Output of the last start. */
  output(): string;
  /** Processor time of all starts so far, in milliseconds; without what its threads have waited. */
  processorMs(): number;
  /** Undefined while no process is there. */
  needs(): Needs | undefined;
}

/** Linux counts in hundredths of a second; 0 for a process that is gone. */
function processorMsOf(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return 0;
  }
}

function needsOf(pid: number | undefined): Needs | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [, peak, resident] = /^VmHWM:\s+(\d+) kB\nVmRSS:\s+(\d+) kB$/m.exec(text) ?? [];
    // The process has ended and was not waited for yet.
    if (peak === undefined || resident === undefined) return undefined;
    return {
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      residentMiB: Number(resident) / 1_024,
      peakMiB: Number(peak) / 1_024,
    };
  } catch {
    return undefined;
  }
}

export function childDaemon(config: string, launcher: string = LAUNCHER): ChildDaemon {
  let child: ChildProcess | undefined;
  let output = '';
  let spentMs = 0;
  return {
    output: () => output,
    processorMs: () => spentMs + processorMsOf(child?.pid),
    needs: () => needsOf(child?.pid),
    freeze: () => void child?.kill('SIGSTOP'),
    goOn: () => void child?.kill('SIGCONT'),
    async ended() {
      if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      return child?.exitCode ?? null;
    },
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      spentMs += processorMsOf(child.pid);
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    async start() {
      output = '';
      child = spawn(process.execPath, [launcher, 'run', '--config', config], {
        env: launcherEnv(),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const ready = Promise.withResolvers<void>();
      const hear = (chunk: Buffer): void => {
        output += chunk.toString();
        if (output.includes(READY)) ready.resolve();
      };
      child.stdout?.on('data', hear);
      child.stderr?.on('data', hear);
      child.once('exit', () => ready.reject(new Error(`the daemon ended:\n${output}`)));
      await ready.promise;
    },
  };
}

/** Runs a command to its end, or kills it; gives its exit code and what it said. */
export async function runCommand(
  args: readonly string[],
  signal?: AbortSignal,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    env: launcherEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  signal?.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  await once(child, 'close');
  return { code: child.exitCode, output };
}
