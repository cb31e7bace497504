import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import {
  parseRetryAfter,
  RETRY_DELAYS_MS,
  retryDelayMs,
} from '../../../src/reference/relay/delivery/schedule.ts';
import { answering } from './receiver.ts';
import { DELIVERY, pass, startBench } from './support.ts';

const HOUR = 3_600_000;
/** Draws the middle: no wait is longer or shorter than its base. */
const exact = { ...seededRandom(1), next: () => 0.5 };
const failed = { number: 0, timedOut: false, responseStatus: 500, retryAfterMs: undefined };

describe('the retry schedule', () => {
  it('is the table of the wire contract to the millisecond, then the message failed', async () => {
    const bench = await startBench();
    const { relay, receiver, clock } = bench;
    const endpoint = relay.createEndpoint({ url: receiver.url });
    receiver.respond = answering(503);
    const startedAt = clock.now();
    relay.publish('sales_order.delivery_created', DELIVERY);
    await relay.idle();
    const steps = [5_000, 300_000, 1_800_000, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
    for (const [index, step] of steps.entries()) {
      await pass(bench, step - 1);
      expect(receiver.requests).toHaveLength(index + 1);
      await pass(bench, 1);
      expect(receiver.requests).toHaveLength(index + 2);
    }
    await pass(bench, 100 * HOUR);
    const times = relay
      .attempts()
      .data.map(({ at }) => at - startedAt)
      .reverse();
    let sum = 0;
    expect(times).toEqual([0, ...steps.map((step) => (sum += step))]);
    expect(sum).toBe(27.5 * HOUR + 5 * 60_000 + 5_000);
    const [message] = relay.messages().data;
    expect(relay.deliveriesOf(message?.id ?? '')).toEqual([
      { messageId: message?.id, endpointId: endpoint.id, status: 'failed', nextAttemptAt: null },
    ]);
    expect(clock.pending()).toBe(0);
  });

  it('ends with the first success', async () => {
    const bench = await startBench();
    bench.relay.createEndpoint({ url: bench.receiver.url });
    bench.receiver.respond = answering(500);
    bench.relay.publish('ping', { ping: 1 });
    await bench.relay.idle();
    bench.receiver.respond = answering(299);
    await pass(bench, 5_000);
    await pass(bench, 100 * HOUR);
    expect(bench.receiver.requests).toHaveLength(2);
  });

  it('spreads each wait by a fifth both ways', () => {
    const random = seededRandom(3);
    for (const [number, base] of RETRY_DELAYS_MS.entries()) {
      const waits = Array.from(
        { length: 500 },
        () => retryDelayMs({ ...failed, number }, random) ?? 0,
      );
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(base * 0.8);
      expect(Math.max(...waits)).toBeLessThanOrEqual(base * 1.2);
      expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(base * 0.35);
    }
  });

  it('leaves an overloaded receiver alone for a minute at least', () => {
    const wait = (part: object) => retryDelayMs({ ...failed, ...part }, exact);
    expect(wait({ responseStatus: 429 })).toBe(60_000);
    expect(wait({ timedOut: true, responseStatus: 0 })).toBe(60_000);
    expect(wait({ timedOut: true, number: 1 })).toBe(300_000);
    expect(wait({ number: 7 })).toBeUndefined();
  });

  it('honours Retry-After between once and twice its own wait', () => {
    const wait = (ms: number) => retryDelayMs({ ...failed, number: 1, retryAfterMs: ms }, exact);
    expect([0, 299_999, 400_000, 9_000_000].map(wait)).toEqual([
      300_000, 300_000, 400_000, 600_000,
    ]);
    expect(parseRetryAfter('120', 0)).toBe(120_000);
    const now = Date.UTC(2026, 0, 5, 8);
    expect(parseRetryAfter('Mon, 05 Jan 2026 08:01:30 GMT', now)).toBe(90_000);
    expect(parseRetryAfter('Mon, 05 Jan 2026 07:00:00 GMT', now)).toBe(0);
    expect(parseRetryAfter('soon', now)).toBeUndefined();
    expect(parseRetryAfter(undefined, now)).toBeUndefined();
  });
});

describe('an attempt', () => {
  it('fails at a redirect and does not follow it', async () => {
    const { relay, receiver } = await startBench();
    relay.createEndpoint({ url: receiver.url });
    receiver.respond = answering(302, { location: '/elsewhere' });
    relay.publish('ping', { ping: 1 });
    await relay.idle();
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/hook']);
    expect(relay.attempts().data[0]).toMatchObject({ status: 'failed', responseStatus: 302 });
  });

  it('fails after 15 s without an answer, and the next one waits a minute', async () => {
    const wallClock = manualClock();
    const bench = await startBench({ wallClock });
    const { relay, receiver } = bench;
    relay.createEndpoint({ url: receiver.url });
    const asked = new Promise<void>((resolve) => {
      receiver.respond = () => resolve();
    });
    relay.publish('ping', { ping: 1 });
    await asked;
    await wallClock.advance(14_999);
    expect(relay.attempts().data).toEqual([]);
    await wallClock.advance(1);
    await relay.idle();
    expect(relay.attempts().data[0]).toMatchObject({
      status: 'failed',
      responseStatus: 0,
      response: 'no answer in time',
      durationMs: 15_000,
    });
    receiver.respond = answering(204);
    await pass(bench, 59_999);
    expect(receiver.requests).toHaveLength(1);
    await pass(bench, 1);
    expect(receiver.requests).toHaveLength(2);
  });

  it('keeps the first 20,000 bytes of an answer', async () => {
    const { relay, receiver } = await startBench();
    relay.createEndpoint({ url: receiver.url });
    receiver.respond = (response) => response.writeHead(400).end('x'.repeat(300_000));
    relay.publish('ping', { ping: 1 });
    await relay.idle();
    expect(relay.attempts().data[0]?.response).toBe('x'.repeat(20_000));
  });

  it('fails and comes again when nobody listens', async () => {
    const bench = await startBench();
    bench.relay.createEndpoint({ url: bench.receiver.url });
    await bench.receiver.close();
    bench.relay.publish('ping', { ping: 1 });
    await bench.relay.idle();
    expect(bench.relay.attempts().data[0]).toMatchObject({ status: 'failed', responseStatus: 0 });
    await pass(bench, 5_000);
    expect(bench.relay.attempts().data).toHaveLength(2);
  });
});
