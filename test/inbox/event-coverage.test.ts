/** Missed-event detection over a real change feed: what counts, and what follows from it. */
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCoverageWatch, readCoverage } from '../../src/inbox/event-coverage.ts';
import { createMeter } from '../../src/inbox/meter.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { writeDeliveries, writeOrders } from '../../src/mirror/sales-order.ts';
import { readRelayFigures } from '../../src/ops/relay.ts';
import type { RunOutcome } from '../../src/store/tables.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';

const MINUTE = 60_000;
const QUICK = 2 * MINUTE;
const RUN = {
  cause: 'schedule',
  read_seq: 1,
  reason: null,
  options: '{}',
  checkpoint: '{}',
  ended_at: null,
  feed_to: null,
  count_off: null,
  list_at: null,
  change_guard: null,
};

/** Events that arrive, sweeps that run, and the deliveries that their reads find. */
async function createCoverageFixture() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const { db } = store;
  const meter = createMeter(clock, silentLogger());
  const start = () => createCoverageWatch({ store, clock, log: silentLogger(), meter });
  const watch = start();
  let sequence = 0;
  const provenance = (source: string) => {
    sequence += 1;
    return { source, readSeq: sequence, at: clock.now() };
  };
  const order = (source: string, orderId: number): Promise<unknown> => {
    const row = { orderId, status: 'pending', orderLineItems: [] };
    return store.transaction((tx) => writeOrders(tx, [row], provenance(source)));
  };
  const found = (source: string, orderDeliveryId: number, orderId = orderDeliveryId) => {
    const row = { orderDeliveryId, orderId, status: 'pending', fulfilledLineItems: [] };
    return store.transaction((tx) => writeDeliveries(tx, [row], provenance(source)));
  };
  const begin = async (stream = 'orders'): Promise<number> => {
    const row = await db
      .insertInto('sync_run')
      .values({ stream, started_at: clock.now(), ...RUN })
      .returning('run_id')
      .executeTakeFirstOrThrow();
    return row.run_id;
  };
  const end = async (run: number, outcome: RunOutcome = 'complete'): Promise<void> => {
    const values = { outcome, ended_at: clock.now() };
    await db.updateTable('sync_run').set(values).where('run_id', '=', run).execute();
  };
  const sweep = async (...deliveries: number[]): Promise<void> => {
    const run = await begin();
    for (const delivery of deliveries) await found(`refresh:sweep:${run}`, delivery);
    await end(run);
  };
  const event = async (orderId: number, type = 'sales_order.delivery_created') => {
    sequence += 1;
    const id = `msg_${sequence}`;
    await sql`insert into webhook_event
      (event_id, received_at, sent_at, type, order_id, body, secret_name, outcome)
      values (${id}, ${clock.now()}, ${clock.now()}, ${type}, ${orderId}, x'7b7d', 'a', 'refresh')
      `.execute(db);
    return id;
  };
  const told = async (...deliveries: number[]): Promise<void> => {
    for (const one of deliveries) await found(`refresh:event:${await event(one)}`, one);
  };
  const wait = (minutes: number): Promise<void> => clock.advance(minutes * MINUTE);
  const incidents = async () => {
    const rows = await db
      .selectFrom('incident')
      .select('kind')
      .where('resolved_at', 'is', null)
      .execute();
    return rows.map(({ kind }) => kind);
  };
  const figures = () => readRelayFigures(db);
  return {
    clock,
    store,
    meter,
    watch,
    start,
    order,
    found,
    begin,
    end,
    sweep,
    event,
    told,
    wait,
    incidents,
    figures,
    /** Deliveries that count, and the missed ones among them. */
    coverage: (since = 0) => readCoverage(db, since, clock.now()),
    missed: () =>
      db
        .selectFrom('event_coverage')
        .select(['at', 'since', 'order_id as orderId', 'order_delivery_id as orderDeliveryId'])
        .where('announced', '=', 0)
        .where('at', '<', clock.now() - 300_000)
        .orderBy('at', 'desc')
        .execute(),
  };
}

type Fixture = Awaited<ReturnType<typeof createCoverageFixture>>;

/** Numbers from the first to the last. */
function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Three deliveries of which only a sweep has told, and no event in the time that it has. */
async function lose(day: Fixture, ...deliveries: number[]): Promise<void> {
  await day.sweep();
  await day.wait(10);
  await day.sweep(...deliveries);
  await day.wait(6);
}

describe('a delivery', () => {
  it('that an event brought is announced', async () => {
    const day = await createCoverageFixture();
    await day.told(7);
    expect(await day.coverage()).toEqual({ deliveries: 1, missed: 0 });
  });

  it('of an order that the sweep before did not look at may be as old as its look', async () => {
    const day = await createCoverageFixture();
    const lookedAt = day.clock.now();
    await day.wait(60);
    // The event came in time; its read was too early to show the delivery.
    await day.event(7);
    await day.wait(60);
    await day.sweep();
    await day.wait(10);
    const run = await day.begin();
    await day.found(`refresh:sweep:${run}:since:${lookedAt}`, 7);
    await day.found(`refresh:sweep:${run}:since:${lookedAt}`, 8);
    await day.end(run);
    await day.wait(6);
    expect(await day.missed()).toMatchObject([{ orderDeliveryId: 8, since: lookedAt }]);
    // One who listens only since then cannot tell.
    expect(await day.coverage(lookedAt)).toEqual({ deliveries: 2, missed: 1 });
    expect(await day.coverage(lookedAt + 1)).toEqual({ deliveries: 0, missed: 0 });
  });

  it('that a sweep found is missed once five minutes have brought no event', async () => {
    const day = await createCoverageFixture();
    await day.sweep();
    await day.wait(10);
    await day.sweep(7);
    await day.wait(5);
    expect(await day.coverage()).toEqual({ deliveries: 0, missed: 0 });
    expect(await day.missed()).toEqual([]);
    await day.wait(1);
    expect(await day.coverage()).toEqual({ deliveries: 1, missed: 1 });
    const at = day.clock.now() - 6 * MINUTE;
    expect(await day.missed()).toEqual([
      { at, since: at - 10 * MINUTE, orderId: 7, orderDeliveryId: 7 },
    ]);
  });

  it.each([
    ['came after the sweep, within five minutes', 4, 'sales_order.delivery_created', 0],
    ['came later than that', 6, 'sales_order.delivery_created', 1],
    ['is of another type', 4, 'sales_order.order_created', 1],
  ])('is judged by its event, which %s', async (_how, minutes, type, missed) => {
    const day = await createCoverageFixture();
    await day.sweep();
    await day.wait(10);
    await day.sweep(7);
    await day.wait(minutes);
    await day.event(7, type);
    await day.wait(6);
    expect(await day.coverage()).toEqual({ deliveries: 1, missed });
  });

  it('is announced by an event that waited while the service was away for an hour', async () => {
    const day = await createCoverageFixture();
    await day.sweep();
    await day.wait(1);
    await day.event(7);
    await day.end(await day.begin(), 'failed');
    await day.wait(60);
    await day.sweep(7);
    await day.wait(6);
    expect(await day.coverage()).toEqual({ deliveries: 1, missed: 0 });
  });

  it('is not announced by an event from long before the sweep before', async () => {
    const day = await createCoverageFixture();
    await day.event(7);
    await day.wait(6);
    await day.sweep();
    await day.wait(10);
    await day.sweep(7);
    await day.wait(6);
    expect(await day.coverage()).toEqual({ deliveries: 1, missed: 1 });
  });

  it('does not count where no sweep was complete before, or a push brought it', async () => {
    const day = await createCoverageFixture();
    const short = await day.begin();
    const full = await day.begin('ordersFull');
    await day.wait(1);
    await day.found(`refresh:sweep:${short}`, 5);
    await day.end(short);
    await day.found(`refresh:sweep:${full}:first`, 6);
    await day.end(full);
    await day.found('refresh:outbox', 7);
    await day.wait(6);
    expect(await day.coverage()).toEqual({ deliveries: 0, missed: 0 });
  });

  it('does not count where an old order is read for the first time, but in a new one', async () => {
    const day = await createCoverageFixture();
    await day.order('run:1', 5);
    await day.wait(1);
    await day.sweep();
    await day.wait(10);
    const next = await day.begin();
    await day.order(`run:${next}`, 6);
    for (const one of [5, 6]) await day.found(`refresh:sweep:${next}:first`, one);
    await day.wait(6);
    expect(await day.missed()).toMatchObject([{ orderId: 6 }]);
  });

  it('does not count where it may have been packed while nobody listened', async () => {
    const day = await createCoverageFixture();
    await day.sweep();
    await day.wait(600);
    const since = day.clock.now();
    await day.sweep(7);
    await day.wait(10);
    await day.sweep(8);
    await day.wait(6);
    expect(await day.coverage(since)).toEqual({ deliveries: 1, missed: 1 });
    expect(await day.missed()).toHaveLength(2);
  });

  it('does not count for longer than a day, nor before its time on a clock set back', async () => {
    const day = await createCoverageFixture();
    await lose(day, 7);
    day.clock.step(-60 * MINUTE);
    expect(await day.coverage()).toEqual({ deliveries: 0, missed: 0 });
    day.clock.step(25 * 60 * MINUTE);
    expect(await day.coverage()).toEqual({ deliveries: 0, missed: 0 });
  });
});

describe('missed events (R12)', () => {
  it('are an alarm and a sweep every two minutes, until events come again', async () => {
    const day = await createCoverageFixture();
    await day.watch.look();
    expect(await day.figures()).toBeUndefined();
    await lose(day, 1);
    await day.watch.look();
    expect(await day.figures()).toEqual({ state: 'healthy', deliveries: 1, missed: 1 });
    expect(day.watch.pace()).toBeUndefined();
    await lose(day, 2, 3);
    await day.watch.look();
    expect(await day.figures()).toEqual({ state: 'silent', deliveries: 3, missed: 3 });
    expect(day.watch.pace()).toBe(QUICK);
    const { detail } = await day.store.db
      .selectFrom('incident')
      .select('detail')
      .executeTakeFirstOrThrow();
    expect(detail).toContain('selvedge portal open');
    await day.told(...range(4, 12));
    await day.watch.look();
    expect(await day.figures()).toEqual({ state: 'degraded', deliveries: 12, missed: 3 });
    await day.told(13);
    await day.watch.look();
    expect(await day.figures()).toMatchObject({ state: 'healthy' });
    expect(day.watch.pace()).toBeUndefined();
    expect(await day.incidents()).toEqual([]);
  });

  it.each([
    [4, false],
    [5, true],
  ])('count among the newest twenty: %i of them', async (lost, isAlarm) => {
    const day = await createCoverageFixture();
    await lose(day, ...range(1, 30));
    await lose(day, ...range(31, 30 + lost));
    await day.told(...range(31 + lost, 50));
    await day.watch.look();
    expect(await day.figures()).toMatchObject({ deliveries: 20, missed: lost });
    expect(await day.incidents()).toEqual(isAlarm ? ['events_missed'] : []);
  });

  it('stay an alarm over a restart, while nothing new is known', async () => {
    const day = await createCoverageFixture();
    await lose(day, 1, 2, 3);
    await day.watch.look();
    const next = day.start();
    await next.look();
    expect(next.pace()).toBe(QUICK);
    await day.wait(48 * 60);
    await next.look();
    expect(await day.incidents()).toEqual(['events_missed']);
    await day.told(4);
    await next.look();
    expect(await day.incidents()).toEqual([]);
  });

  it('are noticed though the clock was ahead at the start', async () => {
    const day = await createCoverageFixture();
    day.clock.step(-12 * 60 * MINUTE);
    await day.watch.look();
    await lose(day, 1, 2, 3);
    await day.watch.look();
    expect(await day.incidents()).toEqual(['events_missed']);
  });

  it('are none while nothing happens at all, however long', async () => {
    const day = await createCoverageFixture();
    for (const _hour of range(1, 48)) {
      await day.sweep();
      await day.wait(60);
    }
    await day.watch.look();
    expect(await day.incidents()).toEqual([]);
  });

  it('name the clock first where that is why events are refused', async () => {
    const day = await createCoverageFixture();
    await lose(day, 1, 2, 3);
    day.meter.signed(day.clock.now() - 600_000);
    await day.watch.look();
    const rows = await day.store.db.selectFrom('incident').select(['kind', 'detail']).execute();
    const missed = rows.find(({ kind }) => kind === 'events_missed');
    expect(missed?.detail).toMatch(/"hint":"our clock and the relay's differ.*timedatectl.*portal/);
  });
});

describe('an account with few deliveries', () => {
  it('is no healthy one whose last two deliveries of a week were both missed', async () => {
    const day = await createCoverageFixture();
    for (const delivery of [1, 2]) {
      await day.sweep();
      await day.wait(10);
      await day.sweep(delivery);
      await day.wait(2 * 24 * 60);
      await day.watch.look();
      if (delivery === 1) expect(await day.incidents()).toEqual([]);
    }
    expect(await day.figures()).toEqual({ state: 'silent', deliveries: 2, missed: 2 });
    expect(await day.incidents()).toEqual(['events_missed']);
    await day.told(3);
    await day.watch.look();
    expect(await day.incidents()).toEqual([]);
  });

  it.each([
    ['sales_order.parcel_packed', 'of types that are not known (1 sales_order.parcel_packed)'],
    ['sales_order.order_created', 'none is sales_order.delivery_created: subscribe'],
    ['sales_order.delivery_created', 'events are lost on their way'],
  ])('is told the right cause where %s came', async (type, cause) => {
    const day = await createCoverageFixture();
    await day.event(99, type);
    await lose(day, 1, 2, 3);
    await day.watch.look();
    const row = await day.store.db.selectFrom('incident').select('detail').executeTakeFirst();
    expect(JSON.parse(row?.detail ?? '')).toMatchObject({
      hint: expect.stringContaining(cause),
    });
  });
});

describe('events that are refused', () => {
  it('are told with their reason although others are taken, until an hour is quiet', async () => {
    const { clock, meter, watch, store, incidents, wait } = await createCoverageFixture();
    const taken = { accepted: 20, duplicates: 0, unknownType: 0 };
    meter.committed(taken);
    for (const _one of range(1, 2)) meter.eventRefused('forged');
    await watch.look();
    expect(await incidents()).toEqual([]);
    for (const _one of range(1, 56)) meter.eventRefused('forged');
    meter.committed(taken);
    await watch.look();
    const row = await store.db.selectFrom('incident').select(['key', 'detail']).executeTakeFirst();
    expect(JSON.parse(row?.detail ?? '')).toEqual({
      says:
        `58 events were refused since ${new Date(clock.now()).toISOString()}, ` +
        '20 were taken: no secret of ours signed them',
      advice: expect.stringContaining('listener.secrets'),
      rows: 58,
    });
    await wait(60);
    await watch.look();
    expect(await incidents()).toEqual([]);
  });

  it('are none of ours where they are few among many', async () => {
    const { meter, watch, incidents } = await createCoverageFixture();
    for (const _one of range(1, 5)) meter.eventRefused('forged');
    meter.committed({ accepted: 50, duplicates: 0, unknownType: 0 });
    await watch.look();
    expect(await incidents()).toEqual([]);
  });

  it('are foretold two weeks before the last secret ends, unless another goes on', async () => {
    const { clock, store, meter, incidents, wait } = await createCoverageFixture();
    const old = { name: 'old', notAfter: clock.now() + 15 * 86_400_000 };
    const log = silentLogger();
    const parts = { store, clock, log, meter };
    const alone = createCoverageWatch({ ...parts, secrets: [old] });
    await alone.look();
    expect(await incidents()).toEqual([]);
    await wait(24 * 60);
    await alone.look();
    expect(await incidents()).toEqual(['secret_ends']);
    const renewed = createCoverageWatch({ ...parts, secrets: [old, { name: 'new' }] });
    await renewed.look();
    expect(await incidents()).toEqual([]);
  });
});

describe("the relay's clock (R9)", () => {
  it('raises an alarm from a minute on, and ends it', async () => {
    const { clock, meter, watch, incidents } = await createCoverageFixture();
    meter.signed(clock.now() - 59_000);
    await watch.look();
    expect(await incidents()).toEqual([]);
    for (const _one of range(1, 64)) meter.signed(clock.now() + 61_000);
    await watch.look();
    expect(await incidents()).toEqual(['relay_clock']);
    for (const _one of range(1, 64)) meter.signed(clock.now());
    await watch.look();
    expect(await incidents()).toEqual([]);
  });

  it('is not called wrong for the date of one event among others', async () => {
    const { clock, meter, watch, incidents } = await createCoverageFixture();
    meter.signed(clock.now());
    meter.signed(clock.now() + 299_000);
    await watch.look();
    expect(await incidents()).toEqual([]);
  });

  it('is not called right by a restart, but by the next event', async () => {
    const { clock, store, meter, watch, incidents } = await createCoverageFixture();
    meter.signed(clock.now() + 120_000);
    await watch.look();
    const counts = createMeter(clock, silentLogger());
    const next = createCoverageWatch({ store, clock, log: silentLogger(), meter: counts });
    await next.look();
    expect(await incidents()).toEqual(['relay_clock']);
    counts.signed(clock.now());
    await next.look();
    expect(await incidents()).toEqual([]);
  });
});

it('looks every few seconds until it is stopped', async () => {
  const day = await createCoverageFixture();
  const stop = new AbortController();
  const running = day.watch.run(stop.signal);
  onTestFinished(() => running);
  await day.told(7);
  await day.clock.advance(15_000);
  await expect.poll(day.figures).toMatchObject({ deliveries: 1 });
  stop.abort();
  await running;
});

it('reads the newest rows by an index, however many there are', async () => {
  const day = await createCoverageFixture();
  const planned = notePlans(day.store);
  await readCoverage(planned.store.db, 0, day.clock.now());
  const steps = await planned.steps(/event_coverage/);
  expect(steps).toContain('SEARCH d USING INTEGER PRIMARY KEY (rowid>?)');
  expect(steps.filter((step) => /^SCAN \w/.test(step))).toEqual(['SCAN delivery']);
});
