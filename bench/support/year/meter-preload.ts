/**
 * Meters inside a daemon that its launcher starts: loaded before it, they answer its parent.
 * `cpu`: its CPU time so far; `watch`: looks at its loop from now on; `read`: how late the loop's
 * timers came since, and how much CPU its turns took.
 */
import { isMainThread } from 'node:worker_threads';
import { type Meter, startMeter } from '../meters.ts';
import type { AskedOfMeter } from './daemon.ts';

// Its threads and the programs that it starts are not measured by themselves.
delete process.env.NODE_OPTIONS;

const LOOK_MS = 5;

function milliseconds({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}

/** CPU of the main thread between two timers that come as often as the loop allows. */
function startTurns() {
  const turns: number[] = [];
  let before = milliseconds(process.threadCpuUsage());
  const timer = setInterval(() => {
    const now = milliseconds(process.threadCpuUsage());
    turns.push(now - before);
    before = now;
  }, LOOK_MS);
  timer.unref();
  return {
    read() {
      clearInterval(timer);
      turns.sort((a, b) => a - b);
      return { turnP99Ms: turns[Math.floor(turns.length * 0.99)], turnMaxMs: turns.at(-1) };
    },
  };
}

if (isMainThread && process.send !== undefined) {
  let meter: Meter | undefined;
  let turns: ReturnType<typeof startTurns> | undefined;
  process.on('message', (asked: AskedOfMeter) => {
    if (asked === 'watch') [meter, turns] = [startMeter(), startTurns()];
    if (asked !== 'read') {
      process.send?.({ cpuMs: milliseconds(process.cpuUsage()) });
      return;
    }
    // Asked in a long turn, it may be told before the timers that say how long that was.
    setTimeout(() => process.send?.({ ...meter?.read(), ...turns?.read() }), 10 * LOOK_MS);
  });
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // A daemon that has stopped ends.
  process.channel?.unref();
}
