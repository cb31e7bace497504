import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createOrderRefetcher,
  ORDER_REFETCHER_LIMITS,
  type OrderRefetcher,
  type ReadRequest,
} from '../../src/inbox/order-refetcher.ts';
import { type ManualClock, manualClock } from '../../src/lib/clock.ts';
import { RefusedError, RetryLaterError, StoreError } from '../../src/lib/errors.ts';
import { createLogger, silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { requestRefetches } from '../../src/mirror/refetch-queue.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { followClock } from '../support/clock-guard.ts';
import { notePlans, type Planned } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';
import { eventually } from './support.ts';

const LIMITS = { ...ORDER_REFETCHER_LIMITS, concurrency: 4 };

type ReadOrder = (orderId: number, request: ReadRequest) => Promise<void>;

interface Bench {
  readonly store: SqliteStore;
  /** Statements of the refetcher. */
  readonly planned: Planned;
  readonly clock: ManualClock;
  readonly refetcher: OrderRefetcher;
  /** Orders in the sequence in which their reads were started. */
  readonly started: number[];
  readonly read: number[];
  readonly refused: number[];
  request(...orderIds: number[]): Promise<void>;
  stop(): Promise<void>;
}

interface Line {
  readonly msg: string;
  readonly reason?: string;
  readonly kept?: number;
}

function noteLog() {
  const lines: Line[] = [];
  const write = (line: string) => lines.push(JSON.parse(line));
  const log = createLogger({
    ...{ level: 'info', format: 'json', scrubber: createScrubber(), write },
  });
  return { log, lines };
}

/** A running refetcher over a real database; `readOrder` stands for the service. */
async function startRefresher(readOrder: ReadOrder, log = silentLogger()): Promise<Bench> {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const planned = notePlans(store);
  const [started, read, refused]: [number[], number[], number[]] = [[], [], []];
  const refetcher = createOrderRefetcher(
    {
      store: planned.store,
      clock,
      random: seededRandom(1),
      log,
      async readOrder(orderId, request) {
        started.push(orderId);
        await readOrder(orderId, request);
      },
      onRead: (orderId) => read.push(orderId),
      onRefused: async ({ orderId }) => {
        refused.push(orderId);
        return true;
      },
    },
    LIMITS,
  );
  const abort = new AbortController();
  const running = refetcher.run(abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort();
    await running;
  };
  onTestFinished(stop);
  const request = async (...orderIds: number[]): Promise<void> => {
    const requests = orderIds.map((orderId) => ({ orderId, cause: `event:msg_${orderId}` }));
    await store.transaction((tx) => requestRefetches(tx, requests, clock.now()));
    refetcher.wakeUp();
  };
  return { store, planned, clock, refetcher, started, read, refused, request, stop };
}

const left = async ({ store }: Bench): Promise<object[]> =>
  store.db.selectFrom('refresh').selectAll().execute();

/** Reads that end when the test says so. */
function gate(): { readOrder: ReadOrder; open(orderId: number): void } {
  const waiting = new Map<number, () => void>();
  return {
    readOrder: (orderId) => new Promise((resolve) => waiting.set(orderId, resolve)),
    open(orderId) {
      const resolve = waiting.get(orderId);
      if (!resolve) throw new Error(`order ${orderId} is not being read`);
      waiting.delete(orderId);
      resolve();
    },
  };
}

describe('the refetcher', () => {
  it('reads a requested order at once, says so, and takes it off the list', async () => {
    const requests: ReadRequest[] = [];
    const bench = await startRefresher(async (_orderId, request) => {
      requests.push(request);
    });
    await bench.request(7);
    await eventually(() => expect(bench.read).toEqual([7]));
    expect(requests).toMatchObject([{ cause: 'event:msg_7', priority: 'read' }]);
    expect(await left(bench)).toEqual([]);
  });

  it('sleeps while all it may read at once is being read, however long that takes', async () => {
    const { readOrder, open } = gate();
    const bench = await startRefresher(readOrder);
    const { after } = bench.clock;
    let sleeps = 0;
    Object.assign(bench.clock, {
      after: (...of: Parameters<typeof after>) => {
        sleeps += 1;
        if (sleeps > 100) throw new Error('it does not sleep');
        return after(...of);
      },
    });
    await bench.request(1, 2, 3, 4, 5);
    await eventually(() => expect(bench.started).toHaveLength(4));
    await bench.clock.advance(10 * LIMITS.idleMsMax);
    expect(sleeps).toBeLessThan(20);
    open(1);
    await eventually(() => expect(bench.started).toEqual([1, 2, 3, 4, 5]));
    for (const orderId of [2, 3, 4, 5]) open(orderId);
  });

  it('tells once of what keeps all orders from being read, and once that it is over', async () => {
    const { log, lines } = noteLog();
    let isRefused = true;
    const bench = await startRefresher(async (orderId) => {
      if (isRefused) throw new RetryLaterError('session.login_refused', `order ${orderId}: no`);
    }, log);
    await bench.request(1, 2, 3);
    await bench.clock.advance(2.5 * 3_600_000);
    expect(bench.started.length).toBeGreaterThan(60);
    expect(lines.map(({ msg, kept }) => [msg, kept])).toEqual([
      ...[
        ['read failed', undefined],
        ['read failed', 3],
        ['read failed', 3],
      ],
    ]);
    isRefused = false;
    await bench.clock.advance(600_000);
    expect(await left(bench)).toEqual([]);
    expect(lines.slice(3)).toMatchObject([{ msg: 'orders are read again' }]);
  });

  it('reads a new delivery next, and of four orders the one that waits longest', async () => {
    const { readOrder, open } = gate();
    let isSlow = true;
    const bench = await startRefresher(async (...read) => {
      if (isSlow) await readOrder(...read);
    });
    const ask = async (...requests: (readonly [orderId: number, urgent: boolean])[]) => {
      const rows = requests.map(([orderId, urgent]) => ({ orderId, urgent, cause: 'event:x' }));
      await bench.store.transaction((tx) => requestRefetches(tx, rows, bench.clock.now()));
      bench.refetcher.wakeUp();
    };
    const flood = Array.from({ length: 200 }, (_none, nth) => nth + 1);
    await ask(...flood.map((orderId) => [orderId, orderId > 100] as const));
    await eventually(() => expect(bench.started).toHaveLength(4));
    await bench.clock.advance(1_000);
    // A new order, and one more delivery of an order that waits for something else already.
    await ask([500, true]);
    await bench.clock.advance(1);
    await ask([90, true]);
    for (let nth = 0; nth < 40; nth += 1) {
      open(bench.started[nth] ?? 0);
      await eventually(() => expect(bench.started).toHaveLength(nth + 5));
    }
    const started = [...bench.started];
    isSlow = false;
    for (const orderId of started.slice(40)) open(orderId);
    await eventually(async () => expect(await left(bench)).toEqual([]));
    expect(started.slice(4, 8)).toEqual(expect.arrayContaining([90, 500]));
    // The oldest of the backlog are among the others, in their order.
    const old = started.filter((orderId) => orderId <= 50);
    expect(old.length).toBeGreaterThanOrEqual(10);
    expect(old).toEqual(old.toSorted((a, b) => a - b));
    expect(new Set(bench.started).size).toBe(201);
  });

  it('reads an order at once beside 20 that fail', async () => {
    const bench = await startRefresher(async (orderId) => {
      if (orderId <= 20) throw new RetryLaterError('service.fault', `order ${orderId}`);
    });
    await bench.request(...Array.from({ length: 20 }, (_none, nth) => nth + 1));
    await bench.clock.advance(10 * 60_000);
    await bench.request(21);
    await eventually(() => expect(bench.read).toEqual([21]));
  });

  it('tells at once of another cause, though it bears the same name', async () => {
    const { log, lines } = noteLog();
    let hint = 'nothing listens there';
    const bench = await startRefresher(async (orderId) => {
      throw new RetryLaterError('transport.not_sent', `order ${orderId}`, { hint });
    }, log);
    await bench.request(1, 2, 3);
    await bench.clock.advance(900_000);
    expect(lines).toHaveLength(1);
    hint = 'the certificate has expired';
    await bench.clock.advance(900_000);
    expect(lines.map(({ reason }) => reason)).toEqual([
      'transport.not_sent: nothing listens there',
      'transport.not_sent: the certificate has expired',
    ]);
  });

  it('tells of each order whose answer cannot be understood', async () => {
    const { log, lines } = noteLog();
    const bench = await startRefresher(async (orderId) => {
      throw new RetryLaterError('transport.broken_answer', `order ${orderId}: no list`);
    }, log);
    await bench.request(1, 2);
    await bench.clock.advance(1_800_000);
    expect(lines.map(({ reason }) => reason)).toEqual(['order 1: no list', 'order 2: no list']);
  });

  it('tells that no order can be read, though one has never been', async () => {
    const { log, lines } = noteLog();
    let isAway = false;
    const bench = await startRefresher(async (orderId) => {
      if (isAway || orderId === 1) throw new RetryLaterError('service.fault', 'HTTP 500');
    }, log);
    await bench.request(1);
    await bench.clock.advance(600_000);
    isAway = true;
    await bench.request(...Array.from({ length: 30 }, (_, index) => index + 2));
    await bench.clock.advance(600_000);
    expect(lines.map(({ kept }) => kept)).toEqual([undefined, 10]);
  });

  it('reads what was requested before it started', async () => {
    const bench = await startRefresher(async () => undefined);
    await bench.stop();
    await bench.request(1, 2);
    const abort = new AbortController();
    const again = bench.refetcher.run(abort.signal);
    await eventually(() => expect(bench.read.toSorted()).toEqual([1, 2]));
    abort.abort();
    await again;
  });

  it('lets sweeps stand behind everything else', async () => {
    const requests: ReadRequest[] = [];
    const bench = await startRefresher(async (_orderId, request) => {
      requests.push(request);
    });
    const sweep = [{ orderId: 1, cause: 'sweep' }];
    await bench.store.transaction((tx) => requestRefetches(tx, sweep, bench.clock.now()));
    bench.refetcher.wakeUp();
    await eventually(() => expect(requests).toMatchObject([{ priority: 'pull' }]));
    const event = [{ orderId: 2, cause: 'event:1' }];
    await bench.store.transaction((tx) => requestRefetches(tx, event, bench.clock.now()));
    bench.refetcher.wakeUp();
    await eventually(() => expect(requests[1]).toMatchObject({ priority: 'read' }));
  });

  it('does not look through all that waits for each read, and reads an event next', async () => {
    const bench = await startRefresher(async (orderId) => {
      if (orderId === 100) await bench.request(7);
    });
    const ids = Array.from({ length: 200 }, (_, index) => index + 1);
    const sweep = ids.filter((id) => id !== 7).map((orderId) => ({ orderId, cause: 'sweep' }));
    await bench.store.transaction((tx) => requestRefetches(tx, sweep, bench.clock.now()));
    bench.refetcher.wakeUp();
    await eventually(() => expect(bench.read).toHaveLength(200));
    expect(bench.started.indexOf(7)).toBeLessThan(110);
    expect(bench.planned.times(/^select "order_id".* from "refresh"/)).toBeLessThan(20);
    expect(await left(bench)).toEqual([]);
  });

  it('keeps a place free for events while a sweep goes on', async () => {
    const { readOrder, open } = gate();
    const bench = await startRefresher(readOrder);
    const sweep = [1, 2, 3, 4, 5, 6].map((orderId) => ({ orderId, cause: 'sweep:1' }));
    await bench.store.transaction((tx) => requestRefetches(tx, sweep, bench.clock.now()));
    bench.refetcher.wakeUp();
    await eventually(() => expect(bench.started).toEqual([1, 2, 3]));
    await bench.request(9);
    await eventually(() => expect(bench.started).toEqual([1, 2, 3, 9]));
    for (const orderId of [1, 2, 3, 9]) open(orderId);
    await eventually(() => expect(bench.started).toEqual([1, 2, 3, 9, 4, 5, 6]));
    for (const orderId of [4, 5, 6]) open(orderId);
  });

  it('makes one read of ten requests, and one more for those that came meanwhile', async () => {
    const { readOrder, open } = gate();
    const bench = await startRefresher(readOrder);
    await bench.request(7);
    await eventually(() => expect(bench.started).toEqual([7]));
    for (let again = 0; again < 10; again += 1) await bench.request(7);
    expect(bench.started).toEqual([7]);
    open(7);
    await eventually(() => expect(bench.started).toEqual([7, 7]));
    expect(await left(bench)).toMatchObject([{ order_id: 7, generation: 11 }]);
    open(7);
    await eventually(async () => expect(await left(bench)).toEqual([]));
    expect(bench.started).toEqual([7, 7]);
  });

  it('reads as many orders at once as it may, and never one order twice at once', async () => {
    const { readOrder, open } = gate();
    const bench = await startRefresher(readOrder);
    await bench.request(1, 2, 3, 4, 5, 6);
    await eventually(() => expect(bench.started).toEqual([1, 2, 3, 4]));
    expect(bench.refetcher.stats().reading).toBe(LIMITS.concurrency);
    await bench.request(1, 2, 3, 4, 5, 6);
    open(2);
    await eventually(() => expect(bench.started).toHaveLength(5));
    expect(bench.started.filter((orderId) => orderId !== 2)).toHaveLength(
      new Set(bench.started.filter((orderId) => orderId !== 2)).size,
    );
    for (let turn = 0; turn < 50 && (await left(bench)).length > 0; turn += 1) {
      const now = bench.started.length;
      for (const orderId of [1, 2, 3, 4, 5, 6]) {
        try {
          open(orderId);
        } catch {
          // This order is not being read right now.
        }
      }
      await eventually(async () =>
        expect(bench.started.length > now || (await left(bench)).length === 0).toBe(true),
      );
    }
    expect(await left(bench)).toEqual([]);
    expect(
      Math.max(...[1, 2, 3, 4, 5, 6].map((id) => bench.started.filter((s) => s === id).length)),
    ).toBe(2);
  });

  it('does not wait until a clock that was set back has caught up', async () => {
    let isDown = true;
    const bench = await startRefresher(async () => {
      if (isDown) throw new RetryLaterError('client.unavailable', 'no answer');
    });
    await bench.request(7);
    await eventually(async () => expect(await left(bench)).toMatchObject([{ attempts: 1 }]));
    isDown = false;
    await followClock(bench);
    bench.clock.step(-3_600_000);
    await followClock(bench);
    await bench.clock.advance(ORDER_REFETCHER_LIMITS.idleMsMax);
    await eventually(() => expect(bench.read).toEqual([7]));
    expect(await left(bench)).toEqual([]);
  });

  it('puts a failed read off, longer each time but never beyond five minutes', async () => {
    const bench = await startRefresher(async () => {
      throw new RetryLaterError('client.unavailable', 'no answer');
    });
    await bench.request(7);
    await eventually(async () => expect(await left(bench)).toMatchObject([{ attempts: 1 }]));
    const delays: number[] = [];
    for (let attempt = 1; attempt <= 12; attempt += 1) {
      const row = await bench.store.db
        .selectFrom('refresh')
        .select(['due_at', 'attempts', 'last_error'])
        .executeTakeFirstOrThrow();
      expect(row).toMatchObject({ attempts: attempt, last_error: 'no answer' });
      const delay = row.due_at - bench.clock.now();
      delays.push(delay);
      const full = Math.min(1_000 * 2 ** (attempt - 1), 300_000);
      expect(delay).toBeGreaterThanOrEqual(full / 2);
      expect(delay).toBeLessThanOrEqual(full);
      await bench.clock.advance(delay);
      await eventually(async () =>
        expect(await left(bench)).toMatchObject([{ attempts: attempt + 1 }]),
      );
    }
    expect(bench.started).toHaveLength(13);
    expect(new Set(delays).size).toBe(delays.length);
  });

  it.each([
    ['a minute', 60_000, 60_000],
    // A later time counts as put off before the clock was set back, and is read at once.
    ['five minutes and not an hour', 3_600_000, 300_000],
  ])('waits as long as the service asks: %s', async (_, retryAfterMs, waits) => {
    const bench = await startRefresher(async () => {
      throw new RetryLaterError('client.busy', 'slow down', { retryAfterMs });
    });
    await bench.request(7);
    await eventually(async () =>
      expect(await left(bench)).toMatchObject([{ due_at: bench.clock.now() + waits }]),
    );
  });

  it('brings a put-off read forward when the order is named again', async () => {
    let broken = true;
    const bench = await startRefresher(async () => {
      if (broken) throw new RetryLaterError('client.unavailable', 'no answer');
    });
    await bench.request(7);
    await eventually(async () => expect(await left(bench)).toMatchObject([{ attempts: 1 }]));
    broken = false;
    await bench.request(7);
    await eventually(() => expect(bench.read).toEqual([7]));
    expect(await left(bench)).toEqual([]);
  });

  it('takes an order that the service refuses off the list and reports it', async () => {
    const bench = await startRefresher(async () => {
      throw new RefusedError('client.not_found', 'no such order');
    });
    await bench.request(7);
    await eventually(async () => expect(await left(bench)).toEqual([]));
    expect(bench.refused).toEqual([7]);
    expect(bench.read).toEqual([]);
    expect(bench.refetcher.stats()).toMatchObject({ refused: 1 });
  });

  it('puts a read off that fails by a mistake of ours, and goes on with the others', async () => {
    const bench = await startRefresher(async (orderId) => {
      if (orderId === 1) throw new TypeError('undefined is not a function');
    });
    await bench.request(1, 2);
    await eventually(() => expect(bench.read).toEqual([2]));
    await eventually(async () =>
      expect(await left(bench)).toMatchObject([{ order_id: 1, attempts: 1 }]),
    );
  });

  it('leaves an interrupted read on the list when it is stopped', async () => {
    const bench = await startRefresher(
      (_orderId, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    );
    await bench.request(7);
    await eventually(() => expect(bench.started).toEqual([7]));
    await bench.stop();
    expect(await left(bench)).toMatchObject([{ order_id: 7, attempts: 0 }]);
    expect(bench.clock.pending()).toBe(0);
  });

  it('looks by itself after half a minute, because another process may have asked', async () => {
    const bench = await startRefresher(async () => undefined);
    await eventually(() => expect(bench.clock.pending()).toBe(1));
    const requests = [{ orderId: 7, cause: 'replay' }];
    await bench.store.transaction((tx) => requestRefetches(tx, requests, bench.clock.now()));
    await bench.clock.advance(ORDER_REFETCHER_LIMITS.idleMsMax);
    await eventually(() => expect(bench.read).toEqual([7]));
  });

  it.each([
    [
      'behind a read',
      (store: SqliteStore) => store.db.schema.alterTable('refresh').renameTo('gone').execute(),
      'no such table',
    ],
    [
      'for a read',
      () => Promise.reject(new StoreError('store.failed', 'the disk is full')),
      'the disk is full',
    ],
  ])(
    'ends with the error when the database fails %s, so that it is started again',
    async (...of) => {
      const [, fail, message] = of;
      const clock = manualClock();
      const store = await temporaryStore(clock);
      const refetcher = createOrderRefetcher({
        store,
        clock,
        random: seededRandom(1),
        log: silentLogger(),
        readOrder: async () => {
          await fail(store);
        },
        onRead: () => undefined,
        onRefused: async () => true,
      });
      const requests = [{ orderId: 7, cause: 'event:1' }];
      await store.transaction((tx) => requestRefetches(tx, requests, clock.now()));
      const stop = new AbortController();
      let ended = '';
      const done = refetcher.run(stop.signal).catch((error: Error) => {
        ended = error.message;
      });
      onTestFinished(() => {
        stop.abort();
        return done;
      });
      await eventually(() => expect(ended).toContain(message));
    },
  );
});
