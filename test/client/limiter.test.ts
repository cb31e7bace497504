import { describe, expect, it } from 'vitest';
import { createLimiter, type Limiter, type Priority } from '../../src/client/http/limiter.ts';
import { type ManualClock, manualClock } from '../../src/lib/clock.ts';

interface Started {
  readonly name: string;
  readonly at: number;
  readonly release: () => void;
}

function starter(limiter: Limiter, clock: ManualClock) {
  const started: Started[] = [];
  return {
    started,
    names: () => started.map(({ name }) => name),
    ask(name: string, priority: Priority, signal?: AbortSignal): Promise<void> {
      return limiter.acquire(priority, signal).then((release) => {
        started.push({ name, at: clock.monotonic(), release });
      });
    },
  };
}

describe('limiter', () => {
  it('keeps to the requests per second, however many want to start', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: 20, concurrencyMax: 1_000 }, clock);
    const { started, ask } = starter(limiter, clock);
    for (let index = 0; index < 400; index += 1) void ask(`r${index}`, 'pull');
    await clock.advance(19_950);
    expect(started).toHaveLength(400);
    for (const { at } of started) {
      const inSecond = started.filter((other) => other.at > at - 1_000 && other.at <= at);
      expect(inSecond.length).toBeLessThanOrEqual(21);
    }
  });

  it('lets pushes overtake reads and reads overtake pulls, in order inside one', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: 10, concurrencyMax: 100 }, clock);
    const { names, ask } = starter(limiter, clock);
    void ask('first', 'pull');
    void ask('pull a', 'pull');
    void ask('pull b', 'pull');
    void ask('read a', 'read');
    void ask('push a', 'push');
    void ask('push b', 'push');
    await clock.advance(1_000);
    expect(names()).toEqual(['first', 'push a', 'push b', 'read a', 'pull a', 'pull b']);
  });

  it('keeps places free for the hasty while long pulls go on', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: undefined, concurrencyMax: 4 }, clock);
    const { names, started, ask } = starter(limiter, clock);
    for (const name of ['a', 'b', 'c', 'd']) void ask(`pull ${name}`, 'pull');
    for (const name of ['a', 'b']) void ask(`read ${name}`, 'read');
    void ask('push', 'push');
    await clock.advance(1);
    expect(names()).toEqual(['pull a', 'pull b', 'read a', 'push']);
    expect(limiter.waiting()).toEqual({ push: 0, read: 1, pull: 2, person: 0 });
    started[0]?.release();
    started[0]?.release();
    await clock.advance(1);
    expect(limiter.active()).toBe(3);
    started[1]?.release();
    await clock.advance(1);
    expect(names().slice(4)).toEqual(['read b']);
  });

  it('leaves reads and pulls a share, however much stands above them', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: 20, concurrencyMax: 8 }, clock);
    const { started, names, ask } = starter(limiter, clock);
    const quick = async (name: string, priority: Priority): Promise<void> => {
      await ask(name, priority);
      started.at(-1)?.release();
    };
    for (let index = 0; index < 200; index += 1) {
      for (const priority of ['push', 'read', 'pull'] as const) void quick(priority, priority);
    }
    await clock.advance(10_000);
    const share = (name: string) => names().filter((one) => one === name).length / names().length;
    expect(names().length).toBeGreaterThanOrEqual(200);
    expect(share('pull')).toBeCloseTo(1 / 5, 1);
    expect(share('read')).toBeCloseTo(1 / 5, 1);
    expect(share('push')).toBeCloseTo(3 / 5, 1);
  });

  it('gives a pull its turn even when slow reads hold every place left to them', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: undefined, concurrencyMax: 4 }, clock);
    const { started, names, ask } = starter(limiter, clock);
    for (let index = 0; index < 12; index += 1) void ask('read', 'read');
    void ask('pull', 'pull');
    await clock.advance(1);
    expect(names()).toEqual(['read', 'read', 'read']);
    for (let index = 0; index < 4; index += 1) {
      started[index]?.release();
      await clock.advance(1);
    }
    expect(names().indexOf('pull')).toBe(7);
    expect(limiter.active()).toBeLessThanOrEqual(4);
  });

  it('starts nobody while the service asks for a pause', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: undefined, concurrencyMax: 4 }, clock);
    const { names, ask } = starter(limiter, clock);
    limiter.pause(3_000);
    void ask('push', 'push');
    await clock.advance(2_999);
    expect(names()).toEqual([]);
    await clock.advance(1);
    expect(names()).toEqual(['push']);
  });

  it('does not make up for the time in which nobody asked', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: 20, concurrencyMax: 1_000 }, clock);
    const { started, ask } = starter(limiter, clock);
    void ask('first', 'push');
    await clock.advance(3_600_000);
    for (let index = 0; index < 100; index += 1) void ask(`r${index}`, 'push');
    await clock.advance(999);
    expect(started.length).toBeLessThanOrEqual(23);
  });

  it('pauses for the longest time that was asked for, but never for minutes', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: undefined, concurrencyMax: 4 }, clock);
    const { names, ask } = starter(limiter, clock);
    limiter.pause(3_600_000);
    limiter.pause(0);
    void ask('push', 'push');
    await clock.advance(9_999);
    expect(names()).toEqual([]);
    await clock.advance(1);
    expect(names()).toEqual(['push']);
  });

  it('takes nobody out of the queue for one who has a place and gives up', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: 1, concurrencyMax: 4 }, clock);
    const { names, ask } = starter(limiter, clock);
    const stop = new AbortController();
    void ask('at once', 'push', stop.signal);
    void ask('in its turn', 'push', stop.signal);
    void ask('last', 'push');
    await clock.advance(1_000);
    stop.abort(new Error('done'));
    await clock.advance(1_000);
    expect(names()).toEqual(['at once', 'in its turn', 'last']);
  });

  it('forgets a waiter that has given up', async () => {
    const clock = manualClock();
    const limiter = createLimiter({ requestsPerSecond: 1, concurrencyMax: 4 }, clock);
    const { names, ask } = starter(limiter, clock);
    const stop = new AbortController();
    void ask('first', 'read');
    const gone = ask('gone', 'read', stop.signal);
    void ask('next', 'read');
    stop.abort(new Error('no longer wanted'));
    await expect(gone).rejects.toThrow('no longer wanted');
    await clock.advance(1_000);
    expect(names()).toEqual(['first', 'next']);
    expect(limiter.active()).toBe(2);
    await clock.advance(10_000);
    expect(clock.pending()).toBe(0);
  });
});
