/** When a request is given up, and when it is made again, by a clock that stands still. */
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { exchange } from '../../src/client/http/exchange.ts';
import { createPools } from '../../src/client/http/pools.ts';
import type { HttpRequest } from '../../src/client/http/request.ts';
import { DIRECT } from '../../src/client/http/tunnel.ts';
import type { Transport } from '../../src/client/transport.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';

const HOUR_MS = 3_600_000;
const LONG = { connectMs: HOUR_MS, firstByteMs: HOUR_MS, idleMs: HOUR_MS, totalMs: HOUR_MS };

const get = (url: string, path = '/x'): HttpRequest => ({
  ...{ method: 'GET', url: url + path, priority: 'read' },
});

const received = (transport: Transport, bytes: number) =>
  expect.poll(() => transport.stats().bytesReceived).toBe(bytes);

it('gives up after the whole time, or the one that the request brings along', async () => {
  await using server = await startFaulty(() => undefined);
  const clock = manualClock();
  const deadlines = { ...LONG, totalMs: 60_000 };
  await using transport = impatient({ deadlines, retryWaitsMs: [] }, clock);
  const usual = rejection(transport.request(get(server.url)));
  const own = { ...get(server.url), deadlines: { totalMs: 90_000 } };
  const longer = rejection(transport.request(own));
  await expect.poll(() => server.seen.length).toBe(2);
  await clock.advance(60_000);
  expect(await usual).toMatchObject({ code: 'transport.total_timeout' });
  expect(transport.limiter.active()).toBe(1);
  await clock.advance(30_000);
  expect(await longer).toMatchObject({ code: 'transport.total_timeout' });
});

it('waits on for a body that goes on, and no longer when it stops', async () => {
  let write: (bytes: number) => void = () => undefined;
  await using server = await startFaulty((_request, response) => {
    response.writeHead(200);
    write = (bytes) => void response.write(Buffer.alloc(bytes, ' '));
    write(1);
  });
  const clock = manualClock();
  const deadlines = { ...LONG, idleMs: 1_000 };
  await using transport = impatient({ deadlines, retryWaitsMs: [] }, clock);
  const asked = rejection(transport.request(get(server.url)));
  await received(transport, 1);
  for (const bytes of [2_001, 4_001]) {
    write(2_000);
    await received(transport, bytes);
    await clock.advance(1_000);
    expect(transport.limiter.active()).toBe(1);
  }
  await clock.advance(1_000);
  expect(await asked).toMatchObject({ code: 'transport.idle_timeout' });
  expect(clock.pending()).toBe(0);
});

it('never writes a request that was given up before it had a connection', async () => {
  const first = Promise.withResolvers<void>();
  await using server = await startFaulty(async (_request, response, nth) => {
    if (nth === 1) await first.promise;
    answerJson(response, 200, {});
  });
  const clock = manualClock();
  const pools = createPools({ connectionsMax: 1, connectMs: HOUR_MS, ...DIRECT });
  const ask = async (path: string, connectMs: number): Promise<number> => {
    const request = { method: 'POST', path, headers: {}, body: '{}' } as const;
    const answer = await exchange(pools.of(server.url, false), request, {
      ...{ bodyBytesMax: 1_000, clock, signal: undefined, onBytes: () => undefined },
      deadlines: { ...LONG, connectMs },
    });
    await answer.whole(1_000);
    return answer.status;
  };
  const holds = ask('/first', HOUR_MS);
  await expect.poll(() => server.seen.length).toBe(1);
  const waits = rejection(ask('/second', 5_000));
  const last = ask('/third', HOUR_MS);
  await clock.advance(5_000);
  expect(await waits).toMatchObject({ kind: 'connect_timeout', sent: false });
  first.resolve();
  expect([await holds, await last]).toEqual([200, 200]);
  expect(server.seen).toEqual(['POST /first', 'POST /third']);
  await pools.destroy();
});

it('takes a hint before the answer for no answer', async () => {
  const later = Promise.withResolvers<void>();
  await using server = await startFaulty(async (_request, response, nth) => {
    if (nth === 1) {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      await later.promise;
    }
    answerJson(response, 201, { nth });
  });
  await using transport = impatient();
  const asked = transport.request(get(server.url));
  await expect.poll(() => server.seen.length).toBe(1);
  await transport.request(get(server.url, '/other'));
  later.resolve();
  expect(await asked).toMatchObject({ status: 201, json: { nth: 1 } });
});

it('leaves neither timer nor listener behind', async () => {
  await using server = await startFaulty((_request, response) => answerJson(response, 200, {}));
  const clock = manualClock();
  await using transport = impatient({}, clock);
  const { signal } = new AbortController();
  await transport.request({ ...get(server.url), signal });
  expect([clock.pending(), getEventListeners(signal, 'abort').length]).toEqual([0, 0]);
});

it('asks again on the written schedule, and not when it is called off meanwhile', async () => {
  await using server = await startFaulty((_request, response) => answerJson(response, 502, {}));
  const clock = manualClock();
  await using transport = impatient({ retryWaitsMs: [1_000, 100_000] }, clock);
  const stop = new AbortController();
  const asked = rejection(transport.request({ ...get(server.url), signal: stop.signal }));
  for (const [nth, leastMs, mostMs] of [
    [1, 799, 1_000],
    [2, 79_000, 0],
  ] as const) {
    await expect.poll(() => transport.stats().retries).toBe(nth);
    await clock.advance(leastMs);
    expect(server.seen).toHaveLength(nth);
    await clock.advance(Math.max(0, mostMs - leastMs));
    if (mostMs > 0) await expect.poll(() => server.seen.length).toBe(nth + 1);
  }
  stop.abort(new Error('enough'));
  expect(await asked).toMatchObject({ message: 'enough' });
  expect(clock.pending()).toBe(0);
});

it('lets nobody start while the service asks one of them to wait', async () => {
  await using server = await startFaulty((_request, response, nth) => {
    if (nth > 1) answerJson(response, 200, {});
    else {
      response.setHeader('retry-after', '7');
      answerJson(response, 429, envelope(429, {}));
    }
  });
  const clock = manualClock();
  await using transport = impatient({ retryWaitsMs: [] }, clock);
  const error = await rejection(transport.request(get(server.url)));
  expect(error).toMatchObject({ code: 'service.too_fast', retryAfterMs: 7_000 });
  const other = transport.request(get(server.url, '/other'));
  await clock.advance(6_999);
  expect(transport.stats().requests).toBe(1);
  await clock.advance(1);
  expect((await other).status).toBe(200);
});

it('has a limit of its own for what is read as a stream', async () => {
  await using server = await startFaulty((_request, response) => {
    response.writeHead(200).end(Buffer.alloc(5_000, 'x'));
  });
  const read = async (streamBytesMax: number): Promise<number> => {
    await using transport = impatient({ bodyBytesMax: 100, streamBytesMax });
    let bytes = 0;
    const { body } = await transport.stream(get(server.url));
    for await (const chunk of body) bytes += chunk.length;
    return bytes;
  };
  expect(await read(5_000)).toBe(5_000);
  expect(await rejection(read(4_999))).toMatchObject({ code: 'transport.too_large' });
});
