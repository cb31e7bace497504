/** A bare HTTP server that misbehaves on demand, and a transport that hardly waits to retry. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createDriftMeter, type DriftMeter } from '../../src/client/drift.ts';
import {
  createTransport,
  TRANSPORT_DEFAULTS,
  type Transport,
  type TransportOptions,
} from '../../src/client/transport.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createScrubber, type Scrubber } from '../../src/lib/secret.ts';
import { sourceOf } from '../../src/sync/entities.ts';

export interface Faulty extends AsyncDisposable {
  readonly url: string;
  /** Method, path and query of every request, in order. */
  readonly seen: string[];
  readonly bodies: string[];
}

export type Handler = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

export async function startFaulty(handler: Handler): Promise<Faulty> {
  const seen: string[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const nth = seen.push(`${request.method} ${request.url}`);
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      handler(request, response, nth);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    bodies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

export function envelope(status: number, data: unknown, message = 'ok') {
  return { status, message, data };
}

export function impatient(
  options: Partial<TransportOptions> = {},
  clock: Clock = systemClock(),
  scrubber: Scrubber = createScrubber(),
): Transport {
  const merged: TransportOptions = {
    ...TRANSPORT_DEFAULTS,
    requestsPerSecond: undefined,
    retryWaitsMs: [1, 1],
    ...options,
  };
  return createTransport(merged, { clock, random: seededRandom(1), scrubber });
}

/** Returns the error that a promise rejects with; fails when it does not. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

/** Counts the drift of rows of an entity, as its stream does. */
export function driftMeterOf(entity: string): DriftMeter {
  const source = sourceOf(entity);
  if (!source) throw new Error(`no stream reads ${entity}`);
  return createDriftMeter(source.schema, source.values);
}
