/** Permits: asked for before each request that changes something, looked at as it begins. */
import { describe, expect, it } from 'vitest';
import {
  createTransport,
  type Permits,
  TRANSPORT_DEFAULTS,
  type Transport,
} from '../../src/client/transport.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { RetryLaterError } from '../../src/lib/errors.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { answerJson, rejection, startFaulty } from './support.ts';

function transportWith(permit: Permits): Transport {
  const deps = { clock: systemClock(), random: seededRandom(1), scrubber: createScrubber() };
  return createTransport(
    { ...TRANSPORT_DEFAULTS, requestsPerSecond: undefined },
    { ...deps, permit },
  );
}

const GOOD = { whyOver: () => undefined };

describe('a request that changes something', () => {
  it('says what it is for, and leaves with a permit; a read and a log-in need none', async () => {
    await using server = await startFaulty((_, response) => answerJson(response, 200, {}));
    const asked: unknown[] = [];
    await using transport = transportWith(async (sentFor) => {
      asked.push(sentFor);
      return GOOD;
    });
    const url = `${server.url}/orders`;
    const sentFor = () => ({
      outboxId: 7,
      attempt: 2,
      kind: 'order',
      reference: 'A',
      bodyHash: 'h',
    });
    await transport.request({ method: 'GET', url, priority: 'read' });
    await transport.request({ method: 'POST', url, priority: 'push', safe: true });
    expect(asked).toEqual([]);
    await transport.request({ method: 'POST', url, priority: 'push', json: {}, sentFor });
    await transport.request({ method: 'DELETE', url, priority: 'person' });
    expect(asked).toEqual([
      sentFor(),
      expect.objectContaining({ outboxId: null, reference: `DELETE ${url}` }),
    ]);
    expect(server.seen).toHaveLength(4);
  });

  it('is not made without one, and may be tried again', async () => {
    await using server = await startFaulty((_, response) => answerJson(response, 200, {}));
    await using transport = transportWith(() =>
      Promise.reject(new RetryLaterError('standby.no_permit', 'away')),
    );
    const request = { method: 'POST', url: server.url, priority: 'push', json: {} } as const;
    expect(await rejection(transport.request(request))).toMatchObject({
      code: 'standby.no_permit',
    });
    expect(server.seen).toEqual([]);
    expect(transport.limiter.active()).toBe(0);
  });

  it('leaves no byte if its permit ends while it waits for its connection', async () => {
    await using server = await startFaulty((_, response) => answerJson(response, 200, {}));
    let isOver = false;
    await using transport = transportWith(async () => ({
      whyOver: () => (isOver ? 'its permit is over' : undefined),
    }));
    // The last thing before it is handed over: from here on only the request itself can look.
    const beforeSend = (): void =>
      queueMicrotask(() => {
        isOver = true;
      });
    const request = { method: 'POST', url: server.url, priority: 'push', json: {} } as const;
    const error = await rejection(transport.request({ ...request, beforeSend }));
    expect(error).toBeInstanceOf(RetryLaterError);
    expect(error).toMatchObject({ code: 'transport.not_sent', message: /its permit is over/ });
    await transport.request({ method: 'GET', url: server.url, priority: 'read' });
    expect(server.seen).toEqual(['GET /']);
  });
});
