import { describe, expect, it } from 'vitest';
import { createLimiter, type PaceFigures } from '../../src/client/http/limiter.ts';
import type { HttpRequest } from '../../src/client/http/request.ts';
import { type ManualClock, manualClock } from '../../src/lib/clock.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';

/** A service that takes so many requests in a second, and clients who want more without end. */
function startService(perSecondMax: number) {
  const clock = manualClock();
  const changes: PaceFigures[] = [];
  const options = { requestsPerSecond: perSecondMax, concurrencyMax: 8 };
  const limiter = createLimiter(options, clock, (figures) => changes.push(figures));
  const none = Number.POSITIVE_INFINITY;
  const service = { perSecond: none, refusedOneIn: none, taken: 0, refused: 0 };
  let [second, inSecond] = [0, 0];
  const request = async (): Promise<void> => {
    const release = await limiter.acquire('pull');
    const begunAt = clock.monotonic();
    const now = Math.floor(begunAt / 1_000);
    if (now !== second) [second, inSecond] = [now, 0];
    inSecond += 1;
    const nth = service.taken + service.refused + 1;
    const isUnlucky = nth % service.refusedOneIn === 0;
    if (inSecond > service.perSecond || isUnlucky) {
      service.refused += 1;
      limiter.tooFast(begunAt);
      limiter.pause(1_000);
    } else {
      service.taken += 1;
      limiter.taken();
    }
    release();
    if (wants) void request();
  };
  let wants = true;
  const stop = (): void => {
    wants = false;
  };
  for (let nth = 0; nth < 8; nth += 1) void request();
  return { clock, limiter, service, changes, stop };
}

const perSecond = (limiter: { pace(): PaceFigures }): number => limiter.pace().perSecond ?? 0;

async function over(clock: ManualClock, service: { taken: number; refused: number }, ms: number) {
  const before = { ...service };
  await clock.advance(ms);
  return { taken: service.taken - before.taken, refused: service.refused - before.refused };
}

describe('the pace', () => {
  it('is the configured one as long as nobody is refused', async () => {
    const { clock, limiter, service, changes } = startService(20);
    await clock.advance(60_000);
    expect(perSecond(limiter)).toBe(20);
    expect(service.taken).toBeGreaterThan(1_190);
    expect(changes).toEqual([]);
  });

  it('finds a limit that is far below within seconds, and keeps close to it', async () => {
    const { clock, limiter, service } = startService(20);
    service.perSecond = 2;
    await clock.advance(20_000);
    expect(service.refused).toBeLessThan(20);
    await clock.advance(60_000);
    expect(perSecond(limiter)).toBeGreaterThan(1.5);
    const { taken, refused } = await over(clock, service, 1_800_000);
    expect(perSecond(limiter)).toBeLessThan(2.6);
    // At most 3,600 could be taken.
    expect(taken).toBeGreaterThan(3_000);
    expect(refused / taken).toBeLessThan(0.02);
  });

  it('comes back to the configured one when the limit is no more', async () => {
    const { clock, limiter, service, changes } = startService(20);
    service.perSecond = 2;
    await clock.advance(60_000);
    service.perSecond = Number.POSITIVE_INFINITY;
    await clock.advance(240_000);
    expect(perSecond(limiter)).toBeLessThan(10);
    await clock.advance(600_000);
    expect(perSecond(limiter)).toBe(20);
    expect(changes.at(-1)).toMatchObject({ perSecond: 20, perSecondMax: 20 });
  });

  it('is slowed down a little by a refusal that was chance', async () => {
    const { clock, limiter } = startService(20);
    await clock.advance(5_000);
    limiter.tooFast(clock.monotonic());
    // A request on its way at that time is refused, too.
    limiter.tooFast(clock.monotonic() - 50);
    expect(perSecond(limiter)).toBe(17);
    await clock.advance(150_000);
    expect(perSecond(limiter)).toBe(20);
  });

  it('stays above a tenth of the configured one where one in twenty is refused', async () => {
    const { clock, limiter, service } = startService(20);
    service.refusedOneIn = 20;
    await clock.advance(3_600_000);
    expect(perSecond(limiter)).toBeGreaterThanOrEqual(2);
  });

  it('does not rise while nobody uses it', async () => {
    const { clock, limiter, stop } = startService(20);
    limiter.tooFast(clock.monotonic());
    stop();
    await clock.advance(3_600_000);
    limiter.taken();
    expect(perSecond(limiter)).toBe(17);
  });

  it('never stands still, however often it is refused', async () => {
    const { clock, limiter, service } = startService(20);
    service.perSecond = 0;
    await clock.advance(3_600_000);
    expect(perSecond(limiter)).toBe(0.1);
    const { refused } = await over(clock, service, 60_000);
    expect(refused).toBeGreaterThan(4);
    expect(limiter.pace().heldMs).toBeGreaterThan(3_500_000);
  });
});

describe('a transport', () => {
  const get = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
    ...{ method: 'GET', url: `${url}/x`, priority: 'read' },
    ...more,
  });

  it('learns from the refusals of the service, but not from those of the log-in', async () => {
    await using server = await startFaulty((_request, response) => {
      response.setHeader('retry-after', new Date(0).toUTCString());
      answerJson(response, 429, envelope(429, {}));
    });
    await using transport = impatient({ requestsPerSecond: 1_000, retryWaitsMs: [] });
    await rejection(transport.request(get(server.url, { hasOwnLimit: true })));
    expect(transport.limiter.pace()).toMatchObject({ perSecond: 1_000 });
    await rejection(transport.request(get(server.url)));
    expect(transport.limiter.pace()).toMatchObject({ perSecond: 850, perSecondMax: 1_000 });
  });
});

describe('what a person asks', () => {
  it('waits for two others at the most, whatever stands before it', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: 2, concurrencyMax: 8 }, clock);
    const names: string[] = [];
    const ask = (priority: 'push' | 'read' | 'pull' | 'person') =>
      limiter.acquire(priority).then((release) => {
        names.push(priority);
        release();
      });
    for (let nth = 0; nth < 60; nth += 1) {
      for (const priority of ['push', 'read', 'pull'] as const) void ask(priority);
    }
    await clock.advance(10_000);
    const before = names.length;
    void ask('person');
    await clock.advance(1_500);
    expect(names.slice(before)).toContain('person');
    // A third of the requests, if somebody asks without end.
    for (let nth = 0; nth < 100; nth += 1) void ask('person');
    const from = names.length;
    await clock.advance(15_000);
    const share = names.slice(from).filter((name) => name === 'person').length / 30;
    expect(share).toBeCloseTo(1 / 3, 1);
  });
});
