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
import { createHmac, randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { BENCH_KEY } from './support/event-server.ts';

const SECONDS = Number(process.argv[2] ?? 10);
const CONNECTIONS = 64;
const OFFERED_PER_SECOND = 2_000;
const SERVER = fileURLToPath(new URL('./support/event-server.ts', import.meta.url));

const key = Buffer.from(BENCH_KEY, 'base64');
let sequence = 0;

/** One whole signed request. */
function nextRequest(): string {
  sequence += 1;
  const orderId = randomInt(1, 10_001);
  const lines = Array.from({ length: 8 }, (_, index) => ({
    barcode: `57000000${index}${orderId}`,
    fulfilledQuantity: 3,
    fulfilledSizeQuantity: 3,
    price: 149.5,
    season: 'AW26',
  }));
  const body = JSON.stringify({
    type: 'sales_order.delivery_created',
    data: { salesOrderDelivery: { orderDeliveryId: sequence, orderId, fulfilledLineItems: lines } },
  });
  const id = `msg_${process.pid}_${sequence}`;
  const at = Math.floor(Date.now() / 1_000);
  const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
  return [
    'POST /events HTTP/1.1',
    'Host: bench',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    `svix-id: ${id}`,
    `svix-timestamp: ${at}`,
    `svix-signature: v1,${signature}`,
    '',
    body,
  ].join('\r\n');
}

interface Line {
  /** Sends one event; `done` gets whether it was acknowledged. */
  send(done: (acknowledged: boolean) => void): void;
  close(): void;
}

/** A keep-alive connection that is opened again when the server has ended it. */
function openLine(port: number): Line {
  let waiting: ((acknowledged: boolean) => void) | undefined;
  let received = '';
  let socket: Socket | undefined;
  const finish = (acknowledged: boolean): void => {
    const done = waiting;
    waiting = undefined;
    received = '';
    done?.(acknowledged);
  };
  const open = (): Socket => {
    const fresh = connect({ port, host: '127.0.0.1', noDelay: true });
    fresh.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (received.includes('\r\n\r\n')) finish(received.startsWith('HTTP/1.1 204'));
    });
    fresh.on('error', () => undefined);
    fresh.on('close', () => {
      if (socket === fresh) socket = undefined;
      finish(false);
    });
    return fresh;
  };
  return {
    send(done) {
      waiting = done;
      socket ??= open();
      socket.write(nextRequest());
    },
    close: () => socket?.destroy(),
  };
}

interface Figures {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly failed: number;
}

function figuresOf(latencies: readonly number[], failed: number, elapsedMs: number): Figures {
  const sorted = [...latencies].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const perSecond = Math.round((latencies.length / elapsedMs) * 1_000);
  return { perSecond, p50: at(0.5), p99: at(0.99), max: at(1), failed };
}

async function fullSpeed(port: number): Promise<Figures> {
  const lines = Array.from({ length: CONNECTIONS }, () => openLine(port));
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
  return figuresOf(latencies, failed, performance.now() - start);
}

async function offered(port: number): Promise<Figures> {
  const lines = Array.from({ length: CONNECTIONS }, () => openLine(port));
  const free = [...lines];
  const due: number[] = [];
  const latencies: number[] = [];
  let failed = 0;
  const start = performance.now();
  const total = SECONDS * OFFERED_PER_SECOND;
  const dispatch = (): void => {
    while (due.length > 0 && free.length > 0) {
      const at = due.shift() ?? 0;
      const line = free.pop();
      line?.send((acknowledged) => {
        if (acknowledged) latencies.push(performance.now() - at);
        else failed += 1;
        free.push(line);
        dispatch();
      });
    }
  };
  let scheduled = 0;
  while (latencies.length + failed < total) {
    const now = performance.now();
    while (scheduled < total && start + (scheduled / OFFERED_PER_SECOND) * 1_000 <= now) {
      due.push(start + (scheduled / OFFERED_PER_SECOND) * 1_000);
      scheduled += 1;
    }
    dispatch();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const elapsed = performance.now() - start;
  for (const line of lines) line.close();
  return figuresOf(latencies, failed, elapsed);
}

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
