/**
 * Meters inside a daemon that its launcher starts: loaded before it, they answer its parent.
 * `{cpu}`: its CPU time so far; `{watch}`: looks at its loop from now on; `{read}`: how late the
 * loop's timers came since.
 */
import { isMainThread } from 'node:worker_threads';
import { type Meter, startMeter } from '../meters.ts';
import type { AskedOfMeter } from './daemon.ts';

// Its threads and the programs that it starts are not measured by themselves.
delete process.env.NODE_OPTIONS;

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

if (isMainThread && process.send !== undefined) {
  let meter: Meter | undefined;
  process.on('message', (asked: AskedOfMeter) => {
    if (asked === 'watch') meter = startMeter();
    // To read it ends it.
    process.send?.(asked === 'read' ? meter?.read() : { cpuMs: cpuMs() });
  });
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // A daemon that has stopped ends.
  process.channel?.unref();
}
