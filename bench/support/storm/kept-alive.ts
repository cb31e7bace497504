/**
 * A real daemon that is started again whenever it ends, as a service manager does, and whose clock
 * and disk can be struck (struck.mjs).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../../src/lib/clock.ts';

const LAUNCHER = fileURLToPath(new URL('../../../bin/selvedge.mjs', import.meta.url));
const STRUCK = fileURLToPath(new URL('struck.mjs', import.meta.url));
const RESTART_MS = 1_000;

interface Strikes {
  readonly aheadMs: number;
  readonly isFull: boolean;
}

export interface KeptAlive {
  /** Number of ends that nobody here has caused. */
  ends(): number;
  kill(): Promise<void>;
  strike(strikes: Partial<Strikes>): void;
  /** Ends it for good. */
  end(): Promise<void>;
}

function urlIn(line: string): string | undefined {
  if (!line.includes('listening for events')) return undefined;
  return /"url":"([^"]+)"/.exec(line)?.[1];
}

/** Starts it with this configuration; resolves with the address at which it receives events. */
export async function keepAlive(folder: string, config: string, clock: Clock) {
  const path = join(folder, 'strikes.json');
  let strikes: Strikes = { aheadMs: 0, isFull: false };
  let child: ChildProcess | undefined;
  let isWanted = true;
  let ends = 0;
  let kills = 0;
  const strike = (some: Partial<Strikes>): void => {
    strikes = { ...strikes, ...some };
    // Renamed, so that nobody reads half of it.
    writeFileSync(`${path}.new`, JSON.stringify(strikes));
    renameSync(`${path}.new`, path);
  };
  strike({});
  const log = createWriteStream(join(folder, 'daemon.log'));
  const listening = Promise.withResolvers<string>();
  const run = async (): Promise<void> => {
    while (isWanted) {
      const own = spawn(process.execPath, [LAUNCHER, 'run', '--config', config], {
        env: { ...process.env, NODE_OPTIONS: `--import=${STRUCK}`, STORM_STRIKES: path },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = own;
      const gone = once(own, 'exit');
      for (const stream of [own.stdout, own.stderr]) {
        createInterface(stream).on('line', (line) => {
          log.write(`${line}\n`);
          const url = urlIn(line);
          if (url !== undefined) listening.resolve(url);
        });
      }
      const killsBefore = kills;
      await gone;
      if (isWanted && kills === killsBefore) ends += 1;
      if (isWanted) await clock.sleep(RESTART_MS);
    }
  };
  const running = run();
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    const own = child;
    if (!own || own.exitCode !== null || own.signalCode !== null) return;
    kills += 1;
    const gone = once(own, 'exit');
    own.kill(signal);
    await gone;
  };
  const daemon: KeptAlive = {
    ends: () => ends,
    kill: () => kill('SIGKILL'),
    strike,
    async end() {
      isWanted = false;
      await kill('SIGTERM');
      await running;
      log.end();
    },
  };
  return { daemon, url: await listening.promise };
}
