/** A daemon in a process of its own (pull-process.ts) that pulls the stock when it is asked. */
import { fork } from 'node:child_process';
import { on, once } from 'node:events';
import { join } from 'node:path';
import { askToPullStock } from './ask.ts';
import type { Figures } from './meters.ts';

export interface Puller {
  /** Pulls once; exactly this many rows must change. */
  next(expected: number): Promise<Figures>;
  end(): Promise<void>;
}

export async function startPuller(folder: string, v1Url: string, paging: string): Promise<Puller> {
  const support = (name: string): string => join(import.meta.dirname, name);
  const args = [support('pull-process.ts'), folder, v1Url, paging];
  const daemon = fork(support('launched.mjs'), args);
  const exit = once(daemon, 'exit');
  const messages = on(daemon, 'message', { close: ['exit'] });
  await messages.next();
  return {
    async next(expected) {
      daemon.send({ measure: true });
      for (;;) {
        const { value, done } = await messages.next();
        if (done) throw new Error('the daemon has ended');
        const [message] = value;
        if (message.isMeasuring) await askToPullStock(folder);
        if (message.outcome === undefined) continue;
        const { outcome, changed } = message;
        if (outcome === 'complete' && changed === expected) return message;
        throw new Error(`${outcome} with ${changed} changes instead of ${expected}`);
      }
    },
    async end() {
      daemon.disconnect();
      await exit;
    },
  };
}
