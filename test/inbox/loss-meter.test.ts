/** The loss meter over a real change feed: what counts, what is excused, what follows from it. */
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readLossFigures, sweepPace } from '../../src/inbox/loss/figures.ts';
import { createLossMeter, type LossMeterLimits } from '../../src/inbox/loss/loss-meter.ts';
import { listMissed } from '../../src/inbox/loss/missed.ts';
import { announcedBy } from '../../src/inbox/loss/sightings.ts';
import { createMeter } from '../../src/inbox/meter.ts';
import { type ManualClock, manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { writeDeliveries } from '../../src/mirror/delivery.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { readRelayFigures } from '../../src/ops/relay.ts';
import { readState } from '../../src/store/state.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import type { RunOutcome } from '../../src/store/tables.ts';
import { temporaryStore } from '../support/store.ts';
import { LOSS_LIMITS } from './support.ts';

const MINUTE = 60_000;

const LIMITS: LossMeterLimits = { ...LOSS_LIMITS, graceMs: 15 * MINUTE };

/** A shop's day, by hand: events that arrive, sweeps that run, and what their reads find. */
async function shop() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const meter = createMeter(clock, silentLogger());
  const restart = (counts = meter) =>
    createLossMeter({ store, clock, log: silentLogger(), meter: counts }, LIMITS);
  const lossMeter = restart();
  await lossMeter.look();
  let sequence = 0;
  let runs = 0;
  const found = async (source: string, deliveryId: number, change: object = {}): Promise<void> => {
    sequence += 1;
    const provenance = { source, readSeq: sequence, at: clock.now() };
    const record = {
      ...{ orderDeliveryId: deliveryId, orderId: deliveryId, status: 'pending' },
      ...{ fulfilledLineItems: [], ...change },
    };
    await store.transaction((tx) => writeDeliveries(tx, [record], provenance));
  };
  /** A sweep that goes on until it is ended; gives its number. */
  const begin = async (stream = 'orders'): Promise<number> => {
    runs += 1;
    await store.db
      .insertInto('sync_run')
      .values({
        ...{ run_id: runs, stream, cause: 'schedule', read_seq: runs, reason: null },
        ...{ started_at: clock.now(), ended_at: null, options: '{}', checkpoint: '{}' },
        ...{ released_at: null, outcome: 'running' },
      })
      .execute();
    return runs;
  };
  const end = async (run: number, outcome: RunOutcome = 'complete'): Promise<void> => {
    await store.db
      .updateTable('sync_run')
      .set({ outcome, ended_at: clock.now() })
      .where('run_id', '=', run)
      .execute();
  };
  return {
    ...{ clock, store, meter, lossMeter, restart, found },
    /** An event for the delivery (and order) of this number. */
    async event(id: string, order: number | null, type = 'sales_order.delivery_created') {
      const at = clock.now();
      meter.committed({ accepted: 1, duplicates: 0, unknownType: 0 });
      await store.db
        .insertInto('webhook_event')
        .values({
          ...{ event_id: id, received_at: at, sent_at: at - 200, type, order_id: order },
          ...{ body: Buffer.from('{}'), secret_name: 'a', last_duplicate_at: null },
          outcome: 'refresh',
        })
        .execute();
    },
    /** A complete sweep of which these deliveries are the finds. */
    async sweep(...deliveries: number[]): Promise<void> {
      const run = await begin();
      await end(run);
      for (const delivery of deliveries) await found(`refresh:sweep:${run}`, delivery);
    },
    ...{ begin, end },
    /** It failed, and goes on where it was. */
    async resume(run: number): Promise<void> {
      await store.db
        .updateTable('sync_run')
        .set({ resumes: 1 })
        .where('run_id', '=', run)
        .execute();
    },
    /** An order that this read has found. */
    async order(source: string, orderId: number): Promise<void> {
      sequence += 1;
      const provenance = { source, readSeq: sequence, at: clock.now() };
      const order = { orderId, status: 'completed', orderLineItems: [] };
      await store.transaction((tx) => writeOrders(tx, [order], provenance));
    },
    sightings: () =>
      store.db
        .selectFrom('sighting')
        .select(['order_id', 'type', 'seen_by', 'late_ms', 'event_id', 'verdict'])
        .orderBy('change_seq')
        .execute(),
  };
}

type Shop = Awaited<ReturnType<typeof shop>>;

const incidents = ({ store }: { store: SqliteStore }) =>
  store.db.selectFrom('incident').select(['kind', 'resolved_at', 'detail']).execute();

async function wait({ clock }: { clock: ManualClock }, minutes: number): Promise<void> {
  await clock.advance(minutes * MINUTE);
}

describe('of each change it is recorded', () => {
  it('that an event told us of it, and how late', async () => {
    const day = await shop();
    await day.event('msg_1', 7);
    await day.clock.advance(300);
    await day.found('refresh:event:msg_1', 7, { createdAt: undefined });
    await day.lossMeter.look();
    expect(await day.sightings()).toEqual([
      {
        ...{ order_id: 7, type: 'sales_order.delivery_created', seen_by: 'event' },
        ...{ late_ms: 500, event_id: 'msg_1', verdict: 'announced' },
      },
    ]);
  });

  it('how old it was, where the service says when it came into being', async () => {
    const day = await shop();
    await wait(day, 30);
    const createdAt = new Date(day.clock.now() - 10 * MINUTE).toISOString();
    await day.event('msg_1', 7);
    await day.found('refresh:event:msg_1', 7, { createdAt });
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ late_ms: 10 * MINUTE, verdict: 'announced' }]);
  });

  it.each([
    ['of long ago', -3 * 24 * 60],
    ['still to come', 10],
  ])('how late its event was, where the service names a time %s', async (_, minutes) => {
    const day = await shop();
    await wait(day, 4 * 24 * 60);
    const createdAt = new Date(day.clock.now() + minutes * MINUTE).toISOString();
    await day.event('msg_1', 7);
    await day.found('refresh:event:msg_1', 7, { createdAt });
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ late_ms: 200 }]);
  });

  it('how late its event was, and not how old the thing is that it changed', async () => {
    const day = await shop();
    await wait(day, 60);
    const createdAt = new Date(day.clock.now() - 30 * MINUTE).toISOString();
    await day.found('run:1', 7, { createdAt });
    await day.event('msg_1', 7, 'sales_order.delivery_updated');
    await day.found('refresh:event:msg_1', 7, { createdAt, status: 'accepted' });
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ late_ms: 200, verdict: 'announced' }]);
  });

  it('that a sweep saw it first, since when at most, and that its event came late', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.sweep(7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([
      { seen_by: 'sweep', late_ms: 10 * MINUTE, verdict: null },
    ]);
    await wait(day, 5);
    await day.event('msg_1', 7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ event_id: 'msg_1', verdict: 'late' }]);
    const missed = await listMissed(day.store.db, { since: 0, limit: 9, lateAfterMs: 60 * MINUTE });
    expect(missed).toMatchObject([{ orderId: 7, verdict: 'late', eventId: 'msg_1' }]);
  });

  it('that its event never came', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.sweep(7, 8);
    // Another order's event, and one of another type, tell nothing of these.
    await day.event('msg_9', 9);
    await day.event('msg_7', 7, 'sales_order.order_created');
    await wait(day, 15);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ verdict: null }, { verdict: null }]);
    const all = { since: 0, limit: 10, lateAfterMs: MINUTE };
    expect(await listMissed(day.store.db, all)).toHaveLength(2);
    await wait(day, 1);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ verdict: 'lost' }, { verdict: 'lost' }]);
    const missed = await listMissed(day.store.db, all);
    expect(missed).toMatchObject([
      { orderId: 7, verdict: 'lost', type: 'sales_order.delivery_created', eventId: null },
      { orderId: 8, verdict: 'lost', lateMs: 10 * MINUTE },
    ]);
    expect(await listMissed(day.store.db, { ...all, since: day.clock.now() })).toEqual([]);
  });

  it('that its event came, but once: one event tells one change', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    const run = await day.begin();
    await day.end(run);
    for (const delivery of [7, 8]) {
      await day.found(`refresh:sweep:${run}`, delivery, { orderId: 7 });
    }
    await wait(day, 1);
    await day.event('msg_1', 7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([
      { event_id: 'msg_1', verdict: 'late' },
      { event_id: null, verdict: null },
    ]);
  });

  it('that its event came after the grace, which is too late', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.sweep(7);
    await day.lossMeter.look();
    await wait(day, 16);
    await day.event('msg_1', 7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ event_id: null, verdict: 'lost' }]);
  });

  it('that an event of long before tells nothing of it', async () => {
    const day = await shop();
    // Sweeps that could not read before or after these say nothing either.
    await day.end(await day.begin(), 'failed');
    await day.sweep();
    await day.event('msg_1', 7);
    await day.end(await day.begin(), 'partial');
    await wait(day, 6);
    await day.sweep(7);
    await day.end(await day.begin(), 'failed');
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ event_id: null, verdict: null }]);
  });

  it('that its event waited for its own read for as long as the service was away', async () => {
    const day = await shop();
    await day.sweep();
    for (const order of [7, 8, 9]) await day.event(`msg_${order}`, order);
    await day.end(await day.begin(), 'failed');
    await wait(day, 60);
    await day.sweep(7, 8, 9, 10);
    await day.lossMeter.look();
    await wait(day, 16);
    expect(await day.lossMeter.look()).toMatchObject({ announced: 3, lost: 1, state: 'unknown' });
    expect(await incidents(day)).toEqual([]);
  });

  it('that its event waited while the service was away in the middle of the sweep', async () => {
    const day = await shop();
    await day.sweep();
    const run = await day.begin();
    for (const order of [7, 8]) await day.event(`msg_${order}`, order);
    await wait(day, 8);
    await day.resume(run);
    for (const order of [7, 8, 9]) await day.found(`refresh:sweep:${run}`, order);
    await day.end(run);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([
      ...[{ event_id: 'msg_7', verdict: 'announced' }],
      ...[{ event_id: 'msg_8', verdict: 'announced' }],
      ...[{ event_id: null, verdict: null }],
    ]);
  });

  it('that its event came right before the sweep before, while the service was away', async () => {
    const day = await shop();
    await day.event('msg_7', 7);
    await wait(day, 1);
    await day.sweep();
    await day.end(await day.begin(), 'failed');
    await wait(day, 2);
    await day.sweep(7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ event_id: 'msg_7', verdict: 'announced' }]);
  });

  it('since the last sweep of either kind that saw everything', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.end(await day.begin('ordersFull'));
    await wait(day, 2);
    await day.end(await day.begin(), 'partial');
    await wait(day, 1);
    await day.sweep(7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ late_ms: 3 * MINUTE }]);
  });

  it('since the sweep before, where it is no birth, or one of long ago', async () => {
    const day = await shop();
    await wait(day, 60);
    const hourAgo = { createdAt: new Date(day.clock.now() - 60 * MINUTE).toISOString() };
    const sweep = async (change: object): Promise<void> => {
      await day.sweep();
      await wait(day, 3);
      const run = await day.begin();
      await day.end(run);
      await day.found(`refresh:sweep:${run}`, 7, { ...hourAgo, ...change });
    };
    await sweep({});
    await sweep({ status: 'accepted' });
    await day.lossMeter.look();
    const late = (await day.sightings()).map(({ late_ms }) => late_ms);
    expect(late).toEqual([3 * MINUTE, 3 * MINUTE]);
  });

  it('that the event was there already when the sweep came by', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.event('msg_1', 7);
    await day.sweep(7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ seen_by: 'event', verdict: 'announced' }]);
  });

  it('once, however often it looks and wherever it was stopped', async () => {
    const day = await shop();
    await day.event('msg_1', 7);
    await day.found('refresh:event:msg_1', 7);
    await day.lossMeter.look();
    await day.lossMeter.look();
    await day.restart().look();
    expect(await day.sightings()).toHaveLength(1);
  });
});

describe('after an hour in which the service was away', () => {
  const ORDERS = Array.from({ length: 20 }, (_, index) => index + 1);
  const DELIVERY = 'sales_order.delivery_created';
  const all = { since: 0, limit: 50, lateAfterMs: MINUTE };

  /** All are packed in the first minute; the last event for each is what its read names. */
  async function away(told: (order: number) => boolean, laterMinutes: number): Promise<Shop> {
    const day = await shop();
    await day.sweep();
    await wait(day, 5);
    const createdAt = new Date(day.clock.now()).toISOString();
    for (const order of ORDERS.filter(told)) await day.event(`own_${order}`, order, DELIVERY);
    await wait(day, laterMinutes);
    for (const order of ORDERS)
      await day.event(`last_${order}`, order, 'sales_order.order_created');
    await wait(day, 60);
    for (const order of ORDERS)
      await day.found(`refresh:event:last_${order}`, order, { createdAt });
    return day;
  }

  it('events that came in time and waited for their read are told as such', async () => {
    const day = await away(() => true, 10);
    const figures = await day.lossMeter.look();
    expect(figures).toMatchObject({ state: 'healthy', announced: 20, missedShare: 0 });
    // The mirror had it late all the same.
    expect(figures.lateMsP50).toBe(70 * MINUTE);
    expect(await listMissed(day.store.db, all)).toEqual([]);
  });

  it('what was lost is not hidden by a later event for the same order', async () => {
    const day = await away((order) => order > 5, 10);
    expect(await day.lossMeter.look()).toMatchObject({ state: 'degraded', missedShare: 0.25 });
    expect(await listMissed(day.store.db, all)).toHaveLength(5);
  });
});

describe('what does not count', () => {
  it('is a pull of the stock, behind which it writes its place down once', async () => {
    const { store, lossMeter } = await shop();
    await lossMeter.look();
    const written = async () => {
      const { rows } = await sql<{ n: number }>`select total_changes() as n`.execute(store.db);
      return rows[0]?.n ?? 0;
    };
    await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
      insert into change (at, entity, key, op, diff, cause)
      select 0, 'stock_variant', 'x' || i, 'insert', '{}', 'run:9' from n`.execute(store.db);
    const before = await written();
    await lossMeter.look();
    expect((await written()) - before).toBe(1);
    const { seq } = await store.db
      .selectFrom('change')
      .select((eb) => eb.fn.max('seq').as('seq'))
      .executeTakeFirstOrThrow();
    expect(await readState(store.db, 'loss_meter_seq')).toBe(String(seq));
  });

  it('is what our own pushes did, and everything before the first complete sweep', async () => {
    const day = await shop();
    await day.found('run:1', 5);
    await day.sweep(6);
    await day.found('refresh:outbox', 6, { status: 'accepted' });
    await day.lossMeter.look();
    expect(await day.sightings()).toEqual([]);
  });

  it('is what the first two sweeps find beside each other, whichever ends first', async () => {
    const day = await shop();
    const short = await day.begin();
    const full = await day.begin('ordersFull');
    await wait(day, 1);
    await day.end(short);
    await day.order(`run:${full}`, 5);
    await day.found(`refresh:sweep:${full}:first`, 5);
    await day.end(full);
    await day.lossMeter.look();
    expect(await day.sightings()).toEqual([]);
  });

  it('is an old order that is read for the first time, but not one that is new', async () => {
    const day = await shop();
    const first = await day.begin();
    await day.order(`run:${first}`, 5);
    await wait(day, 1);
    await day.end(first);
    await wait(day, 10);
    const next = await day.begin();
    await day.order(`run:${next}`, 6);
    await day.found(`refresh:sweep:${next}:first`, 5);
    await day.found(`refresh:sweep:${next}:first`, 6);
    await day.end(next);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([
      { order_id: 6, type: 'sales_order.order_created', verdict: null },
      { order_id: 6, type: 'sales_order.delivery_created', verdict: null },
    ]);
  });

  it('against the relay is what happened while nobody listened', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 600);
    const next = day.restart();
    await wait(day, 1);
    await day.sweep(7);
    const figures = await next.look();
    expect(await day.sightings()).toMatchObject([{ verdict: 'excused' }]);
    expect(figures).toMatchObject({ changes: 0, excused: 1, missedShare: 0 });
  });

  it('and not what was missed since the clock, ahead at the start, was set right', async () => {
    const day = await shop();
    await day.clock.step(-600 * MINUTE);
    await day.sweep();
    await day.lossMeter.look();
    await wait(day, 30);
    await day.sweep(7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ verdict: null }]);
  });

  it.each([
    ['sales_order', 'update', '{"completed":[0,1]}', 'sales_order.order_completed'],
    ['sales_order', 'update', '{"lines":[[],[]]}', undefined],
    ['sales_order', 'insert', '{}', 'sales_order.order_created'],
    ['delivery', 'update', '{"status":["pending","canceled"]}', 'sales_order.delivery_canceled'],
    ['delivery', 'update', '{"status":["pending","accepted"]}', 'sales_order.delivery_updated'],
    ['refund', 'insert', '{}', 'sales_order.refund_created'],
    ['pending_refund', 'insert', '{}', undefined],
    ['delivery', 'delete', '{}', undefined],
    ['delivery', 'restore', '{}', undefined],
  ])('is decided by the type that announces it: %s %s %s', (entity, op, diff, type) => {
    expect(announcedBy({ entity, op, diff })).toBe(type);
  });

  it('against the relay is what it never tells us, though it tells us other things', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.event('msg_1', 1, 'sales_order.order_created');
    await day.sweep(7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ verdict: 'excused' }]);
    // Once one such event has come, the others are missed.
    await day.event('msg_2', 2);
    await wait(day, 11);
    await day.sweep(8);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ verdict: 'excused' }, { verdict: null }]);
  });

  it('and not what is missed where nothing but a ping has come', async () => {
    const day = await shop();
    await day.sweep();
    await day.event('msg_1', null, 'ping');
    await wait(day, 10);
    await day.sweep(7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ verdict: null }]);
  });

  it.each([
    ['of a type whose changes no event has told for a month, though others came', [9], 'excused'],
    ['of a type that had nothing to tell for a month', [], null],
    ['of no type of which we could hear while nothing comes at all', undefined, null],
  ])('against the relay is a change %s', async (_, missed, verdict) => {
    const day = await shop();
    await day.sweep();
    await day.event('msg_1', 1);
    await day.event('msg_2', 2, 'sales_order.order_created');
    await wait(day, 10);
    await day.sweep(...(missed ?? []));
    await day.lossMeter.look();
    await wait(day, 31 * 24 * 60);
    await day.lossMeter.look();
    if (missed) await day.event('msg_3', 3, 'sales_order.order_created');
    await day.sweep();
    await wait(day, 10);
    await day.sweep(7);
    await day.lossMeter.look();
    expect((await day.sightings()).at(-1)).toMatchObject({ order_id: 7, verdict });
  });

  it('against the relay is no miss of another type, or of another time', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.sweep(9);
    await day.lossMeter.look();
    await day.event('msg_1', 1);
    await day.event('msg_2', 2, 'sales_order.order_created');
    await wait(day, 10);
    await day.found('refresh:event:msg_1', 1);
    const run = await day.begin();
    await day.order(`run:${run}`, 5);
    await day.end(run);
    await day.lossMeter.look();
    await wait(day, 31 * 24 * 60);
    await day.event('msg_3', 3, 'sales_order.order_created');
    await day.sweep();
    for (const delivery of [7, 8]) {
      await wait(day, 10);
      await day.sweep(delivery);
      await day.lossMeter.look();
    }
    expect((await day.sightings()).slice(-2)).toMatchObject([{ verdict: null }, { verdict: null }]);
  });

  it('against the relay is a change also after the clock was ahead for a while', async () => {
    const day = await shop();
    await day.sweep();
    day.clock.step(60 * 24 * 60 * MINUTE);
    await day.event('msg_1', 1, 'sales_order.order_created');
    await day.sweep(6);
    await day.lossMeter.look();
    day.clock.step(-60 * 24 * 60 * MINUTE);
    await day.sweep();
    await day.event('msg_2', 2);
    await day.event('msg_3', 3, 'sales_order.order_created');
    for (const delivery of [7, 8]) {
      await wait(day, 10);
      await day.sweep(delivery);
      await day.lossMeter.look();
    }
    expect((await day.sightings()).slice(-2)).toMatchObject([{ verdict: null }, { verdict: null }]);
  });

  it('against the relay is a change of a type that came last among thousands', async () => {
    const day = await shop();
    await day.sweep();
    await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500)
      insert into webhook_event
        (event_id, received_at, sent_at, type, order_id, body, secret_name, outcome)
        select 'old_' || i, i, i, 'sales_order.order_created', i, x'7b7d', 'a', 'refresh' from n
    `.execute(day.store.db);
    await day.event('msg_1', 1);
    await wait(day, 10);
    await day.sweep(7);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ verdict: null }]);
  });

  it('is an order that only changed its lines', async () => {
    const day = await shop();
    await day.sweep();
    const write = (quantity: number, source: string, readSeq: number) =>
      day.store.transaction((tx) => {
        const orderLineItems = [{ barcode: 'a', quantity }];
        const order = { orderId: 3, status: 'pending', orderLineItems };
        return writeOrders(tx, [order], { source, readSeq, at: day.clock.now() });
      });
    await day.sweep();
    await write(1, 'run:2', 1);
    await write(2, 'run:2', 2);
    await day.lossMeter.look();
    expect(await day.sightings()).toMatchObject([{ type: 'sales_order.order_created' }]);
  });
});

/** So many deliveries that events bring, and so many that only a sweep finds. */
async function trade(day: Shop, told: number, untold: number): Promise<void> {
  const start = day.clock.now() % 1_000_000;
  await day.sweep();
  await wait(day, 10);
  for (let id = start; id < start + told; id += 1) {
    await day.event(`msg_${id}`, id);
    await day.found(`refresh:event:msg_${id}`, id);
  }
  await day.sweep(...Array.from({ length: untold }, (_, index) => start + told + index));
  await wait(day, 16);
  await day.event(`ping_${start}`, 0, 'ping');
}

describe('the pace of the sweep', () => {
  it('is left to the schedule until enough was measured', async () => {
    const day = await shop();
    await trade(day, 9, 0);
    expect(await day.lossMeter.look()).toMatchObject({ state: 'unknown', sweepMs: null });
    expect(day.lossMeter.pace()).toBeUndefined();
  });

  it('is slow for a relay that loses nothing, and quick for one that loses much', async () => {
    const day = await shop();
    await trade(day, 20, 0);
    expect(await day.lossMeter.look()).toMatchObject({ state: 'healthy', lost: 0 });
    expect(day.lossMeter.pace()).toBe(20 * MINUTE);
    await trade(day, 0, 5);
    const worse = await day.lossMeter.look();
    expect(worse).toMatchObject({ state: 'degraded', announced: 20, lost: 5, missedShare: 0.2 });
    expect(day.lossMeter.pace()).toBe(10 * MINUTE);
    await trade(day, 0, 100);
    await day.lossMeter.look();
    expect(day.lossMeter.pace()).toBe(Math.round((2 * MINUTE) / (105 / 125)));
    // A day later none of this counts any more.
    await wait(day, 24 * 60);
    expect(await day.lossMeter.look()).toMatchObject({ changes: 0, sweepMs: null });
  });

  it('holds the average delay below what counts as late, within its bounds', () => {
    for (let share = 0; share <= 1; share += 0.01) {
      const pace = sweepPace(share, LIMITS);
      expect(pace).toBeGreaterThanOrEqual(LIMITS.sweepMsMin);
      expect(pace).toBeLessThanOrEqual(LIMITS.sweepMsMax);
      expect((share * pace) / 2).toBeLessThanOrEqual(LIMITS.lateAfterMs + 1);
    }
  });

  it('counts events that come late as missed', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 30);
    for (let id = 1; id <= 10; id += 1) {
      const createdAt = new Date(day.clock.now() - 5 * MINUTE).toISOString();
      await day.event(`msg_${id}`, id);
      await day.found(`refresh:event:msg_${id}`, id, { createdAt });
    }
    const figures = await day.lossMeter.look();
    expect(figures).toMatchObject({ announced: 10, missedShare: 1, lateMsP50: 5 * MINUTE });
    expect(day.lossMeter.pace()).toBe(2 * MINUTE);
    const missed = { since: 0, limit: 99, lateAfterMs: MINUTE };
    expect(await listMissed(day.store.db, missed)).toHaveLength(10);
    expect(await listMissed(day.store.db, { ...missed, lateAfterMs: 5 * MINUTE })).toEqual([]);
  });

  it('stands in the database for whoever reads beside the daemon', async () => {
    const day = await shop();
    await trade(day, 12, 3);
    const figures = await day.lossMeter.look();
    expect(await readRelayFigures(day.store.db)).toEqual(figures);
    const { state } = await readLossFigures(day.store.db, LIMITS, day.clock.now(), 0);
    expect(state).toBe('silent');
  });
});

describe('silence (R12)', () => {
  it('is an alarm when sweeps find what no event told, and ends with the next event', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 1);
    await day.event('msg_1', 1);
    await wait(day, 9);
    await day.sweep(11, 12);
    await wait(day, 10);
    expect(await day.lossMeter.look()).toMatchObject({ state: 'unknown' });
    await day.sweep(13);
    await wait(day, 2);
    const silent = await day.lossMeter.look();
    expect(silent).toMatchObject({ state: 'silent', sweepMs: 2 * MINUTE });
    const [incident] = await incidents(day);
    expect(incident).toMatchObject({ kind: 'events_silent', resolved_at: null });
    expect(incident?.detail).toContain('selvedge portal open');
    await day.lossMeter.look();
    await day.event('msg_2', 2);
    expect(await day.lossMeter.look()).not.toMatchObject({ state: 'silent' });
    const ended = await incidents(day);
    expect(ended).toEqual([expect.objectContaining({ resolved_at: day.clock.now() })]);
  });

  it('names the clock first where that is why events are refused', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.sweep(11, 12, 13);
    await wait(day, 20);
    day.meter.signed(day.clock.now() - 600_000);
    expect(await day.lossMeter.look()).toMatchObject({ state: 'silent' });
    const silent = (await incidents(day)).find(({ kind }) => kind === 'events_silent');
    expect(silent?.detail).toMatch(/"hint":"our clock and the relay's differ.*timedatectl.*portal/);
  });

  it('lasts over a restart, until an event comes', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.sweep(11, 12, 13);
    await wait(day, 20);
    const { silentSince } = await day.lossMeter.look();
    const next = day.restart(createMeter(day.clock, silentLogger()));
    const silent = { state: 'silent', sweepMs: 2 * MINUTE, silentSince };
    expect(await next.look()).toMatchObject(silent);
    await wait(day, 1);
    expect(await next.look()).toMatchObject(silent);
    expect(await incidents(day)).toMatchObject([{ kind: 'events_silent', resolved_at: null }]);
    await day.event('msg_1', 1);
    expect(await next.look()).toMatchObject({ silentSince: null });
    expect(await incidents(day)).toMatchObject([{ resolved_at: day.clock.now() }]);
  });

  it.each([
    ['that came again, and is no new row', true],
    ['that came right before the restart', false],
  ])('ends with an event %s', async (_, isDuplicate) => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.sweep(11, 12, 13);
    await wait(day, 20);
    expect(await day.lossMeter.look()).toMatchObject({ state: 'silent' });
    if (isDuplicate) {
      day.meter.committed({ accepted: 1, duplicates: 1, unknownType: 0 });
      expect(await day.lossMeter.look()).toMatchObject({ silentSince: null });
    } else {
      await day.event('msg_1', 1);
      const next = day.restart(createMeter(day.clock, silentLogger()));
      expect(await next.look()).toMatchObject({ silentSince: null });
    }
  });

  it('is noticed though the last event came before the clock was set back', async () => {
    const day = await shop();
    await wait(day, 24 * 60);
    await day.event('msg_1', 1);
    day.clock.step(-12 * 60 * MINUTE);
    await day.lossMeter.look();
    await day.sweep();
    await wait(day, 10);
    await day.sweep(11, 12, 13);
    expect(await day.lossMeter.look()).toMatchObject({ silentSince: null });
    await wait(day, 10);
    expect(await day.lossMeter.look()).toMatchObject({ state: 'silent' });
    await day.event('msg_2', 2);
    expect(await day.lossMeter.look()).toMatchObject({ silentSince: null });
  });

  it('is noticed though the clock was ahead when we began to listen', async () => {
    const day = await shop();
    day.clock.step(-12 * 60 * MINUTE);
    await day.lossMeter.look();
    await day.sweep();
    await wait(day, 10);
    await day.sweep(11, 12, 13);
    await wait(day, 10);
    expect(await day.lossMeter.look()).toMatchObject({ state: 'silent' });
  });

  it('is no alarm while nothing happens at all, however long', async () => {
    const day = await shop();
    for (let hour = 0; hour < 48; hour += 1) {
      await day.sweep();
      await wait(day, 60);
    }
    expect(await day.lossMeter.look()).toMatchObject({ state: 'unknown', silentSince: null });
    expect(await incidents(day)).toEqual([]);
  });

  it('needs one change only when it lasts for hours', async () => {
    const day = await shop();
    await day.sweep();
    await wait(day, 10);
    await day.sweep(7);
    await wait(day, 300);
    expect((await day.lossMeter.look()).state).not.toBe('silent');
    await wait(day, 60);
    expect((await day.lossMeter.look()).state).toBe('silent');
  });
});

describe("the relay's clock (R9)", () => {
  it('raises an alarm from a minute on, and takes it back', async () => {
    const day = await shop();
    day.meter.signed(day.clock.now() - 59_000);
    await day.lossMeter.look();
    expect(await incidents(day)).toEqual([]);
    for (let one = 0; one < 64; one += 1) day.meter.signed(day.clock.now() + 61_000);
    await day.lossMeter.look();
    expect(await incidents(day)).toMatchObject([{ kind: 'relay_clock', resolved_at: null }]);
    for (let one = 0; one < 64; one += 1) day.meter.signed(day.clock.now());
    await day.lossMeter.look();
    expect(await incidents(day)).toMatchObject([{ resolved_at: day.clock.now() }]);
  });

  it('is not called wrong for the date of one event among others', async () => {
    const day = await shop();
    day.meter.signed(day.clock.now());
    day.meter.signed(day.clock.now() + 299_000);
    await day.lossMeter.look();
    expect(await incidents(day)).toEqual([]);
  });

  it('is not called right by a restart, but by the next event', async () => {
    const day = await shop();
    day.meter.signed(day.clock.now() + 120_000);
    await day.lossMeter.look();
    const meter = createMeter(day.clock, silentLogger());
    const next = day.restart(meter);
    await next.look();
    expect(await incidents(day)).toMatchObject([{ kind: 'relay_clock', resolved_at: null }]);
    meter.signed(day.clock.now());
    await next.look();
    expect(await incidents(day)).toMatchObject([{ resolved_at: day.clock.now() }]);
  });
});

it('looks every few seconds until it is stopped', async () => {
  const { clock, lossMeter, event, found, sightings } = await shop();
  const stop = new AbortController();
  const running = lossMeter.run(stop.signal);
  onTestFinished(() => running);
  await event('msg_1', 7);
  await found('refresh:event:msg_1', 7);
  await clock.advance(5_000);
  await expect.poll(sightings).toHaveLength(1);
  stop.abort();
  await running;
});
