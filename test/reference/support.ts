/** A reference service on free ports with a clock that a test steps. */

import { once } from 'node:events';
import type { Server } from 'node:net';
import { expect } from 'vitest';
import { type ManualClock, manualClock } from '../../src/lib/clock.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { knobsSchema } from '../../src/reference/control/knobs.ts';
import { type Reference, startReference } from '../../src/reference/reference.ts';
import { problemOfAnswer } from '../support/answers.ts';

const SMALL_WORLD = { brands: 3, styles: 30, colors: 2, sizes: 5, orders: 0 };

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are probed freely in tests
  readonly body: any;
}

export interface Rig {
  readonly reference: Reference;
  readonly clock: ManualClock;
  readonly events: { readonly type: string; readonly data: JsonObject }[];
  /** References of the events, in the same order. */
  readonly references: (JsonObject | undefined)[];
  /** A V1 request with the plain key's API key unless other headers are given. */
  call(
    method: 'GET' | 'POST',
    path: string,
    more?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<Answered>;
  headersOf(key: string): Record<string, string>;
}

export async function startRig(knobs: Record<string, unknown> = {}): Promise<Rig> {
  const clock = manualClock();
  const events: Rig['events'] = [];
  const references: Rig['references'] = [];
  const { world, life, rates, ...rest } = knobs;
  const reference = await startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: knobsSchema.parse({
      world: { ...SMALL_WORLD, ...Object(world) },
      life: { ordersPerMinute: 0, splitShare: 0, cancelShare: 0, refundShare: 0, ...Object(life) },
      rates: { perSecond: 0, ...Object(rates) },
      strict: true,
      ...rest,
    }),
    clock,
    log: silentLogger(),
    secrets: seededRandom(1),
    events: {
      publish(type, data, of) {
        events.push({ type, data: structuredClone(data) });
        references.push(of);
      },
    },
  });
  const headersOf = (name: string): Record<string, string> => {
    const held = reference.credentials[name];
    return held?.apiKey === undefined
      ? { 'x-service-readtoken': held?.readToken ?? '' }
      : { 'x-service-authorization': held.apiKey };
  };
  return {
    reference,
    clock,
    events,
    references,
    headersOf,
    async call(method, path, { body, headers = headersOf('plain') } = {}) {
      const response = await fetch(reference.v1Url + path, {
        method,
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.includes('json') ?? false;
      const parsed = isJson ? JSON.parse(text) : undefined;
      if (isJson) {
        const url = reference.v1Url + path;
        expect(problemOfAnswer(method, url, response.status, parsed)).toBeUndefined();
      }
      return { status: response.status, headers: response.headers, text, body: parsed };
    },
  };
}

/** Listens on any free port of this machine. */
export async function listeningPort(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
