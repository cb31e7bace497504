/** Signed events, sent over keep-alive connections, and how long their answers took. */
import { createHmac, randomInt } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { BENCH_KEY } from './event-server.ts';

const CONNECTIONS = 64;

const key = Buffer.from(BENCH_KEY, 'base64');
let sequence = 0;

/** Makes a whole signed request. */
function nextRequest(path: string): string {
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
    `POST ${path} HTTP/1.1`,
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

export interface Line {
  /** Sends one event; `done` gets whether it was acknowledged. */
  send(done: (acknowledged: boolean) => void): void;
  close(): void;
}

/** A keep-alive connection that is opened again when the server has ended it. */
export function openLine(port: number, path: string): Line {
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
      socket.write(nextRequest(path));
    },
    close: () => socket?.destroy(),
  };
}

export interface Latencies {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly failed: number;
}

export function latenciesOf(
  latencies: readonly number[],
  failed: number,
  elapsedMs: number,
): Latencies {
  const sorted = [...latencies].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const perSecond = Math.round((latencies.length / elapsedMs) * 1_000);
  return { perSecond, p50: at(0.5), p99: at(0.99), max: at(1), failed };
}

export interface Offer {
  readonly port: number;
  readonly path: string;
  readonly perSecond: number;
  /** Whether another event falls due, this many milliseconds after the first. */
  readonly goesOn: (elapsedMs: number) => boolean;
}

/** Events fall due on a schedule; the latency of each counts from when it was due. */
export async function offerEvents(offer: Offer): Promise<Latencies> {
  const { port, path, perSecond, goesOn } = offer;
  const lines = Array.from({ length: CONNECTIONS }, () => openLine(port, path));
  const free = [...lines];
  const due: number[] = [];
  const latencies: number[] = [];
  let failed = 0;
  const start = performance.now();
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
  for (let open = true; open || latencies.length + failed < scheduled; ) {
    const now = performance.now();
    open &&= goesOn(now - start);
    while (open && start + (scheduled / perSecond) * 1_000 <= now) {
      due.push(start + (scheduled / perSecond) * 1_000);
      scheduled += 1;
    }
    dispatch();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const elapsed = performance.now() - start;
  for (const line of lines) line.close();
  return latenciesOf(latencies, failed, elapsed);
}
