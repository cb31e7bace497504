/** Streams on a real store against a reference service, run by hand. */
import type { RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import type { RunnerDeps } from '../../src/sync/run/run-stream.ts';
import { answerJson, envelope, startFaulty } from '../client/support.ts';
import { startTestReference, testLogger } from '../support/house.ts';
import { temporaryStore } from '../support/store.ts';
import { clientsOf, runnerWith, runsOn, type SourceOptions } from './pull.ts';

/** Nothing happens in this world but what a test does to it. */
export const STILL = {
  life: { ordersPerMinute: 0, restocksPerMinute: 0 },
  rates: { perSecond: 0 },
  auth: { loginSpacing: 0 },
};

/** The clients of a service that answers as the test says. */
export async function startClients(answer: RequestListener, options: SourceOptions = {}) {
  const server = await startFaulty(answer);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const credentials = { key: { clientId: 'a', clientSecret: 'b' } };
  const clients = clientsOf({ v1Url: server.url, v2Url: server.url, credentials }, options);
  onTestFinished(() => clients.transport[Symbol.asyncDispose]());
  return clients;
}

/** The two clients of one that answers the log-in, and else with the orders below the cursor. */
export function startOrders(below: (before: number) => readonly object[]) {
  return startClients((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    const orders = below(Number(searchParams.get('beforeOrderId') ?? Number.MAX_SAFE_INTEGER));
    const isLogin = pathname.endsWith('/auth/login');
    answerJson(response, 200, envelope(200, isLogin ? { token: 'a' } : { orders }));
  });
}

export function runnerOf(store: SqliteStore): RunnerDeps {
  return runnerWith(store, testLogger());
}

/** A store, a reference and the way to run streams between them. */
export async function startPull(knobs: Record<string, unknown> = {}, options: SourceOptions = {}) {
  const reference = await startTestReference({ ...STILL, ...knobs });
  const store = await temporaryStore(systemClock());
  const clients = clientsOf(reference, options);
  const deps = runnerOf(store);
  return { reference, store, deps, ...clients, ...runsOn(deps) };
}
