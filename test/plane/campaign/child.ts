/** Programs of the campaign as processes of their own, which can be killed and suspended. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { launcherEnv } from '../../support/launcher.ts';

export interface Child {
  /** `kill -9`, and waits until it is gone. */
  kill(): Promise<void>;
  freeze(): void;
  goOn(): void;
  /** Nothing of it moves for so long, as when a machine is suspended. */
  suspend(ms: number): Promise<void>;
  send(message: object): void;
  /** Its last words, where it has ended by itself. */
  failure(): string | undefined;
}

const WORDS_KEPT = 20;

/** Resolves when a line says that it is ready; `hear` gets every line. */
export async function startChild(
  args: readonly string[],
  ready: string,
  hear: (line: string) => void = () => undefined,
): Promise<Child> {
  const child = spawn(process.execPath, args, {
    env: launcherEnv(),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const isReady = Promise.withResolvers<void>();
  const words: string[] = [];
  let isMeant = false;
  for (const stream of [child.stdout, child.stderr] satisfies (Readable | null)[]) {
    if (!stream) continue;
    // Read to its end: a full pipe would stop the process.
    createInterface(stream).on('line', (line) => {
      words.push(line);
      words.splice(0, words.length - WORDS_KEPT);
      hear(line);
      if (line.includes(ready)) isReady.resolve();
    });
  }
  // Its channel breaks before its end is known.
  child.on('error', () => undefined);
  const gone = once(child, 'exit');
  const said = (): string => words.join('\n     ');
  void gone.then(() => isReady.reject(new Error(`ended before it was ready: ${said()}`)));
  await isReady.promise;
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const freeze = (): void => void child.kill('SIGSTOP');
  const goOn = (): void => void child.kill('SIGCONT');
  return {
    freeze,
    goOn,
    async kill() {
      if (isGone()) return;
      isMeant = true;
      child.kill('SIGKILL');
      await gone;
    },
    async suspend(ms) {
      freeze();
      await sleep(ms);
      goOn();
    },
    send(message) {
      if (child.connected) child.send(message, () => undefined);
    },
    failure: () => (isGone() && !isMeant ? `ended by itself: ${said()}` : undefined),
  };
}
