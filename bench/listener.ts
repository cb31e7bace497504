/**
 * How many signed events a second the listener makes durable (synchronous=FULL), and how long an
 * answer takes, against the floor of a bare handler with the same insert. Server and load
 * generator are two processes on the same machine.
 *
 * - at full speed: 64 connections, each sends its next event when the last was answered
 * - offered 2,000/s: events fall due on a schedule; latency counts from when each was due
 *
 * `node bench/listener.ts [seconds]`; each event is a delivery of some 1.2 kB, for one of 10,000
 * orders.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import {
  type Latencies,
  type Line,
  latenciesOf,
  offerEvents,
  openLine,
} from './support/event-load.ts';

const SECONDS = Number(process.argv[2] ?? 10);
const CONNECTIONS = 64;
const OFFERED_PER_SECOND = 2_000;
const SERVER = fileURLToPath(new URL('./support/event-server.ts', import.meta.url));

async function fullSpeed(port: number): Promise<Latencies> {
  const lines = Array.from({ length: CONNECTIONS }, () => openLine(port, '/events'));
  const latencies: number[] = [];
  let failed = 0;
  const start = performance.now();
  const end = start + SECONDS * 1_000;
  const work = (line: Line): Promise<void> =>
    new Promise((resolve) => {
      const next = (): void => {
        const sent = performance.now();
        if (sent >= end) {
          resolve();
          return;
        }
        line.send((acknowledged) => {
          if (acknowledged) latencies.push(performance.now() - sent);
          else failed += 1;
          next();
        });
      };
      next();
    });
  await Promise.all(lines.map(work));
  for (const line of lines) line.close();
  return latenciesOf(latencies, failed, performance.now() - start);
}

const offered = (port: number): Promise<Latencies> =>
  offerEvents({
    ...{ port, path: '/events', perSecond: OFFERED_PER_SECOND },
    goesOn: (elapsedMs) => elapsedMs < SECONDS * 1_000,
  });

interface ServerStats {
  readonly accepted: number;
  readonly commits: number;
  readonly cpuMicros: number;
}

function ask(server: ChildProcess): Promise<ServerStats> {
  return new Promise((resolve) => {
    server.once('message', (message) => resolve(JSON.parse(JSON.stringify(message))));
    server.send('stats');
  });
}

async function measure(kind: 'inbox' | 'bare'): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const server = fork(SERVER, [kind, join(folder, 'mirror.db')]);
  const port = await new Promise<number>((resolve) => {
    server.once('message', (message) => resolve(JSON.parse(JSON.stringify(message)).port));
  });
  for (const [name, load] of [
    ['full speed', fullSpeed],
    ['offered 2,000/s', offered],
  ] as const) {
    const before = await ask(server);
    const figures = await load(port);
    const after = await ask(server);
    const events = after.accepted - before.accepted;
    const perCommit = events / (after.commits - before.commits);
    const cpu = (after.cpuMicros - before.cpuMicros) / events;
    console.log(
      `${kind.padEnd(6)} ${name.padEnd(16)} ${String(figures.perSecond).padStart(6)} events/s` +
        `  p50 ${figures.p50.toFixed(1)} ms  p99 ${figures.p99.toFixed(1)} ms` +
        `  max ${figures.max.toFixed(1)} ms  ${perCommit.toFixed(1)} events/commit` +
        `  ${cpu.toFixed(0)} µs CPU/event` +
        `  failed ${figures.failed}`,
    );
  }
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGKILL');
  await ended;
  rmSync(folder, { recursive: true, force: true });
}

await measure('bare');
await measure('inbox');
