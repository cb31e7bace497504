import { describe, expect, it } from 'vitest';
import { createLimiter, type PaceFigures } from '../../src/client/http/limiter.ts';
import type { HttpRequest } from '../../src/client/http/request.ts';
import { type ManualClock, manualClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createRateLimit } from '../../src/reference/edge/edge.ts';
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
  const random = seededRandom(1);
  const request = async (): Promise<void> => {
    const release = await limiter.acquire('pull');
    const begunAt = clock.monotonic();
    const now = Math.floor(begunAt / 1_000);
    if (now !== second) [second, inSecond] = [now, 0];
    inSecond += 1;
    const isUnlucky = random.chance(1 / service.refusedOneIn);
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

/** An account of the reference with its limit, and eight clients who want more without end. */
function startAccount(allowed: number) {
  const clock = manualClock();
  const begin = () => createLimiter({ requestsPerSecond: 20, concurrencyMax: 8 }, clock);
  let limiter = begin();
  const rates = createRateLimit(clock);
  const random = seededRandom(2);
  const oneIn = Number.POSITIVE_INFINITY;
  const account = { allowed, isClosed: false, refusedOneIn: oneIn, waits: true };
  const count = { taken: 0, refused: 0 };
  const waitSeconds = (): number => {
    if (account.isClosed || random.chance(1 / account.refusedOneIn)) return 1;
    return rates.take('key', account.allowed);
  };
  const client = async (): Promise<void> => {
    for (;;) {
      const own = limiter;
      const release = await own.acquire('pull');
      const startedAt = clock.monotonic();
      const seconds = waitSeconds();
      await clock.sleep(120);
      if (seconds > 0) {
        count.refused += 1;
        own.tooFast(startedAt);
        if (account.waits) own.pause(seconds * 1_000);
      } else {
        count.taken += 1;
        own.taken();
      }
      release();
    }
  };
  for (let nth = 0; nth < 8; nth += 1) void client();
  return {
    account,
    pace: () => perSecond(limiter),
    restart(): void {
      limiter = begin();
    },
    /** Lets another program of the account ask as often as this; the function stops it. */
    others(each: number): () => void {
      let goesOn = true;
      const ask = async (): Promise<void> => {
        while (goesOn) {
          rates.take('key', account.allowed);
          await clock.sleep(1_000 / each);
        }
      };
      void ask();
      return () => {
        goesOn = false;
      };
    },
    /** Passes so much time, or less if this is so before; tells what the service did. */
    async over(msMax: number, isOver?: () => boolean) {
      const before = { ...count };
      let ms = 0;
      while (ms < msMax && isOver?.() !== true) {
        const step = isOver ? 1_000 : msMax;
        await clock.advance(step);
        ms += step;
      }
      return { ms, taken: count.taken - before.taken, refused: count.refused - before.refused };
    },
  };
}

describe('the pace', () => {
  it('is the configured one as long as nobody is refused', async () => {
    const { clock, limiter, service, changes } = startService(20);
    await clock.advance(60_000);
    expect(perSecond(limiter)).toBe(20);
    expect(service.taken).toBeGreaterThan(1_190);
    expect(changes).toEqual([]);
  });

  it('is not raised by a refusal, however low the configured one is', async () => {
    const { clock, limiter, service, stop } = startService(0.02);
    service.perSecond = 0;
    await clock.advance(300_000);
    stop();
    expect(perSecond(limiter)).toBe(0.02);
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

  it('comes back to the configured one within a minute when the limit is no more', async () => {
    const { clock, limiter, service, changes } = startService(20);
    service.perSecond = 2;
    await clock.advance(120_000);
    service.perSecond = Number.POSITIVE_INFINITY;
    await clock.advance(60_000);
    expect(perSecond(limiter)).toBe(20);
    await clock.advance(5_000);
    // It is told once, with the very figure of the configuration.
    expect(changes.at(-1)).toMatchObject({ perSecond: 20, perSecondMax: 20 });
  });

  it('is slowed down a little by a refusal that was chance', async () => {
    const { clock, limiter } = startService(20);
    await clock.advance(60_000);
    limiter.tooFast(clock.monotonic());
    const slowed = perSecond(limiter);
    expect(slowed).toBeGreaterThan(15);
    // A request on its way at that time is refused, too.
    limiter.tooFast(clock.monotonic() - 50);
    expect(perSecond(limiter)).toBe(slowed);
    await clock.advance(60_000);
    expect(perSecond(limiter)).toBe(20);
  });

  it.each([
    [20, 1],
    [50, 2],
  ])('lets requests go on where one in %d is refused by chance', async (oneIn, least) => {
    const { clock, service } = startService(20);
    service.refusedOneIn = oneIn;
    const { taken } = await over(clock, service, 3_600_000);
    expect(taken / 3_600).toBeGreaterThan(least);
  });

  it.each([37, 100])('is exactly the configured one again, which is %d', async (most) => {
    const { clock, limiter, stop } = startService(most);
    limiter.tooFast(clock.monotonic());
    stop();
    await clock.advance(60_000);
    expect(perSecond(limiter)).toBe(most);
  });

  it('rises while nobody uses it, since no request is no evidence against it', async () => {
    const { clock, limiter, stop } = startService(20);
    limiter.tooFast(clock.monotonic());
    stop();
    await clock.advance(6_000);
    expect(perSecond(limiter)).toBeLessThan(10);
    await clock.advance(20_000);
    expect(perSecond(limiter)).toBe(20);
  });

  it.each([
    ['an evening of refusals', 300_000, 1],
    ['few refusals', 5_000, 1],
    ['refusals that go on for one request in fifty', 300_000, 50],
  ])('is what it was a minute after %s, with two requests a minute', async (_what, ms, every) => {
    const { clock, limiter, service, stop } = startService(20);
    service.perSecond = 0;
    await clock.advance(ms);
    stop();
    service.perSecond = Number.POSITIVE_INFINITY;
    if (every > 1) service.refusedOneIn = every;
    await clock.advance(20_000);
    for (let nth = 0; nth < 2; nth += 1) {
      void limiter.acquire('pull').then((release) => {
        limiter.taken();
        release();
      });
    }
    await clock.advance(40_000);
    expect(perSecond(limiter)).toBe(20);
  });

  it('is nearly what the service takes again, a minute after others took all of it', async () => {
    const { clock, limiter, service } = startService(20);
    service.perSecond = 5;
    await clock.advance(600_000);
    service.perSecond = 0;
    await clock.advance(300_000);
    expect(perSecond(limiter)).toBe(0.1);
    service.perSecond = 5;
    // The first climb finds the limit again, and the service rests for ten seconds from that.
    await clock.advance(70_000);
    expect(perSecond(limiter)).toBeGreaterThan(4.25);
  });

  it.each([0.5, 2, 5])(
    'asks a service of %d/s too fast in less than one minute of two',
    async (r) => {
      const { over } = startAccount(r);
      await over(600_000);
      const { taken, refused } = await over(1_800_000);
      expect(refused).toBeLessThanOrEqual(15);
      expect(taken).toBeGreaterThan(1_800 * r * 0.8);
    },
  );

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

/** Which request of how many is refused by chance. */
const ONE_IN = new Map<string, number>([
  ['half', 2],
  ['a third', 3],
]);

describe('the pace after refusals', () => {
  it.each(
    [20, 5].flatMap((allowed) =>
      (allowed === 5 ? [1, 5, 20] : [1]).flatMap((minutes) =>
        (['all', 'all without Retry-After', 'half', 'a third', 'most, for another'] as const).map(
          (refused) => ({ allowed, minutes, refused }),
        ),
      ),
    ),
  )('is back within a minute: $refused for $minutes min, $allowed/s', async (burst) => {
    const { account, others, over, restart, pace } = startAccount(burst.allowed);
    await over(300_000);
    account.waits = burst.refused !== 'all without Retry-After';
    account.isClosed = burst.refused.startsWith('all');
    account.refusedOneIn = ONE_IN.get(burst.refused) ?? Number.POSITIVE_INFINITY;
    const stop = burst.refused.startsWith('most') ? others(burst.allowed * 0.75) : () => undefined;
    const { refused } = await over(burst.minutes * 60_000);
    Object.assign(account, { isClosed: false, refusedOneIn: Number.POSITIVE_INFINITY });
    stop();
    expect(refused).toBeLessThan(12 + 6 * burst.minutes);
    const backMs = await over(60_000, () => pace() >= 0.9 * burst.allowed);
    expect(backMs.ms).toBeLessThan(60_000);
    // The rate may be refused on the way up, and is used a minute later all the same.
    await over(60_000 - backMs.ms);
    expect((await over(60_000)).taken).toBeGreaterThan(0.9 * 60 * burst.allowed);
    // A program that was killed begins anew, at the configured rate.
    restart();
    expect(pace()).toBe(20);
  });

  it.each([20, 5])('does not fall for hours by what others take in bursts, at %d/s', async (r) => {
    const { others, over, pace } = startAccount(r);
    await over(600_000);
    let sum = 0;
    for (let nth = 0; nth < 25; nth += 1) {
      const stop = others(3 * r);
      await over(2_000);
      stop();
      sum += (await over(20_000)).taken;
    }
    expect(sum / (25 * 20 * r)).toBeGreaterThan(0.35);
    const { ms } = await over(60_000, () => pace() >= 0.9 * r);
    expect(ms).toBeLessThan(60_000);
  });

  it('settles below a limit that was lowered for good, and finds one that is higher', async () => {
    const { account, over, pace } = startAccount(20);
    await over(300_000);
    account.allowed = 2;
    expect((await over(60_000)).refused).toBeLessThan(20);
    const first = await over(1_800_000);
    expect(first.taken).toBeGreaterThan(3_600 * 0.9);
    expect(first.refused).toBeLessThan(60);
    await over(1_800_000);
    expect((await over(1_800_000)).refused).toBeLessThanOrEqual(15);
    account.allowed = 20;
    const { ms } = await over(240_000, () => pace() >= 18);
    expect(ms).toBeLessThan(240_000);
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
    expect(transport.limiter.pace()).toMatchObject({ perSecondMax: 1_000 });
    expect(transport.limiter.pace().perSecond).toBeLessThan(900);
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
