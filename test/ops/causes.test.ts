import { describe, expect, it } from 'vitest';
import { checkRows } from '../../src/client/rows.ts';
import { deliverySchema, salesOrderSchema, variantSchema } from '../../src/client/v1/schemas.ts';
import { createCauseWatch, tellCauses } from '../../src/daemon/watch/causes.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import { writeDeliveries, writeOrders } from '../../src/mirror/sales-order.ts';
import { openCauses } from '../../src/ops/causes.ts';
import { openIncident } from '../../src/store/incidents.ts';
import { ensureState } from '../../src/sync/run/open.ts';
import { temporaryStore } from '../support/store.ts';

const LINE = { barcode: 'B', quantity: 2, fulfilledQuantity: 2, price: 10 };

async function start() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  let seq = 0;
  const from = (source?: string) => {
    seq += 1;
    return { source: source ?? `run:${seq}`, readSeq: seq, at: clock.now() };
  };
  const order = (orderId: number, more: object = {}) => {
    const raw = { orderId, status: 'pending', currency: 'EUR', orderLineItems: [LINE], ...more };
    const { rows } = checkRows(salesOrderSchema, [raw]);
    return store.transaction((tx) => writeOrders(tx, rows, from()));
  };
  const delivery = (
    orderDeliveryId: number,
    orderId: number,
    more: object = {},
    source?: string,
  ) => {
    const ids = { orderDeliveryId, orderId, status: 'pending' };
    const { rows } = checkRows(deliverySchema, [{ ...ids, fulfilledLineItems: [LINE], ...more }]);
    return store.transaction((tx) => writeDeliveries(tx, rows, from(source)));
  };
  const variant = (raw: object) => {
    const rows = checkRows(variantSchema, [raw]).rows.map(STOCK_VARIANT.toRow);
    return store.transaction((tx) => upsertRows(tx, STOCK_VARIANT, rows, from()));
  };
  const parts = { store, clock, log: silentLogger(), timeZone: 'UTC' };
  const told = async (pulled = ['stock', 'season', 'orders']) => {
    await tellCauses({ ...parts, pulled, level: '1.4.14' });
    return openCauses(store.db);
  };
  const incidents = async () => {
    const rows = store.db.selectFrom('incident').select(['kind', 'entity', 'key']);
    return (await rows.where('resolved_at', 'is', null).execute()).map(
      (row) => `${row.kind} ${row.entity} ${row.key}`,
    );
  };
  /** A start of the daemon with these streams, at this level. */
  const startAgain = async (pulled: readonly string[], level: string) => {
    const stop = new AbortController();
    const running = createCauseWatch({ ...parts, pulled, level }).run(stop.signal);
    await clock.advance(1);
    stop.abort();
    await running;
  };
  return { clock, store, order, delivery, variant, told, incidents, startAgain };
}

describe('what is not understood', () => {
  it('is nothing where all is as the contract has it', async () => {
    const { order, delivery, told } = await start();
    await order(1);
    await delivery(11, 1);
    expect(await told()).toEqual([]);
  });

  it('is told once for each word of a status, with the setting, until it is known', async () => {
    const { order, delivery, told, incidents } = await start();
    for (const id of [1, 2, 3]) {
      await order(id);
      await delivery(10 + id, id, { status: id === 3 ? 'im "Lager"' : 'parked' });
    }
    await order(4, { status: 'on_hold' });
    const [first] = await told();
    expect(first).toEqual({
      kind: 'unknown_status',
      says: expect.stringMatching(
        /^2 deliveries \(such as 12\) have the status "parked", which nobody knows: none is /,
      ),
      advice:
        'say what it means (pending|accepted|rejected|canceled): ' +
        'service.dialect.v1.statuses: [{ of: delivery, says: parked, means: … }]',
    });
    expect((await incidents()).sort()).toEqual([
      'unknown_status delivery im "Lager"',
      'unknown_status delivery parked',
      'unknown_status sales_order on_hold',
    ]);
    await delivery(11, 1);
    await delivery(13, 3);
    await order(4);
    const left = await told();
    expect(left).toMatchObject([{ says: expect.stringMatching(/^1 deliveries \(such as 12\)/) }]);
  });

  it('is told once for each member that cannot be read, with what came of it', async () => {
    const { order, delivery, variant, told, incidents } = await start();
    const odd = { ...LINE, fulfilledQuantity: '2,5' };
    await order(1, { shippingAddress: { countryCode: { of: 'DK' } }, SeasonName: [7] });
    await delivery(11, 1, { fulfilledLineItems: [odd, odd] });
    await delivery(12, 1, { fulfilledLineItems: [LINE, LINE, odd] });
    await delivery(13, 1, { fulfilledLineItems: 'none' });
    await variant({ barcode: 'B', details: { wspPrice: '9,900' } });
    const says = (await told()).map((one) => one.says);
    expect(says).toEqual([
      'fulfilled quantity in fulfilled line items of 2 deliveries cannot be read ' +
        '(came as ‹"2,5"›, for example in 11): it is unknown',
      'fulfilled line items of 1 deliveries cannot be read ' +
        '(came as ‹"none"›, for example in 13): it is unknown',
      'country code in shipping address of 1 orders cannot be read ' +
        '(came as ‹{"of":"DK"}›, for example in 1): it is unknown',
      'season name of 1 orders cannot be read (came as ‹[7]›, for example in 1): it is unknown',
      'quantity of 1 variants in stock cannot be read ' +
        '(is missing, for example in B): it is unknown',
      'wsp price in details of 1 variants in stock cannot be read ' +
        '(came as ‹"9,900"›, for example in B): it is unknown',
    ]);
    expect((await told())[0]?.advice).toContain('selvedge api GET /orders/1/deliveries');
    const price = (await told()).find(({ says: one }) => one.startsWith('wsp price'));
    expect(price?.advice).toContain('service.dialect.v1.decimals: point or comma');
    expect(await incidents()).toHaveLength(6);
  });

  it('is the currency of orders, with the setting', async () => {
    const { order, delivery, told } = await start();
    await order(1, { currency: null });
    await order(2, { currency: '978' });
    await order(3);
    for (const id of [1, 2, 3]) await delivery(10 + id, id);
    expect(await told()).toEqual([
      {
        kind: 'no_currency',
        says:
          'the currency of 2 of the newest pending deliveries (such as of order 2) is not known: ' +
          'the order names "978", which is no code',
        advice: 'set service.dialect.v1.currency, for example EUR',
      },
    ]);
  });

  it('is no currency of orders while the variants that may name it are not pulled', async () => {
    const { store, order, delivery, variant, told } = await start();
    await ensureState(store.db, 'stock', 1);
    await order(1, { currency: null });
    await delivery(11, 1);
    expect(await told()).toEqual([]);
    await store.db.updateTable('stream_state').set({ complete_at: 1 }).execute();
    const [cause] = await told();
    expect(cause?.says).toContain('the order names none, and the variants of its lines agree');
    await variant({ barcode: LINE.barcode, quantity: 1, details: { currency: 'EUR' } });
    expect(await told()).toEqual([]);
  });

  it('is a time to come, with a zone for it, until it is read in that zone', async () => {
    const { clock, order, delivery, told, incidents } = await start();
    const in2h = (ms = 0) => new Date(clock.now() + 2 * 3_600_000 + ms).toISOString();
    await order(1, { createdAt: in2h(-2_000) });
    await delivery(11, 1, { createdAt: in2h(-1_000) });
    const [cause] = await told();
    expect(cause?.says).toBe(
      'times of the service are 2h ahead of this clock (order 1; read as UTC)',
    );
    expect(cause?.advice).toContain('service.dialect.v1.timeZone');
    expect(await incidents()).toEqual(['clock_ahead service createdAt']);
    const now = { createdAt: new Date(clock.now() - 1_000).toISOString() };
    await order(1, now);
    await delivery(11, 1, now);
    expect(await told()).toEqual([]);
  });

  it('is a time that is behind by what zones are, while events come at once', async () => {
    const { clock, order, delivery, told, incidents } = await start();
    const packed = async (first: number, lateMs: number): Promise<void> => {
      for (let id = first; id < first + 20; id += 1) {
        const createdAt = new Date(clock.now() - lateMs).toISOString();
        await order(id, { createdAt });
        await delivery(id, id, { createdAt }, 'refresh:event:msg_1');
      }
    };
    await packed(1, 5.5 * 3_600_000 + 900);
    const [cause] = await told();
    expect(cause?.says).toBe('times of the service are 5h 30m behind this clock (read as UTC)');
    expect(cause?.advice).toContain('service.dialect.v1.timeZone');
    expect(await incidents()).toEqual(['clock_behind service createdAt']);
    await packed(21, 900);
    expect(await told()).toEqual([]);
  });

  it('is a number that two orders have', async () => {
    const { order, delivery, told } = await start();
    for (const id of [1, 2]) await order(id);
    await delivery(7, 1);
    await delivery(7, 2);
    const [cause] = await told();
    expect(cause?.says).toContain('7 in orders 1 and 2');
  });

  it('is a stream that ends with the same doubt again and again', async () => {
    const { store, told } = await start();
    const state = { due_at: 0, last_run_id: null, complete_at: null, complete_rows: null };
    await store.db
      .insertInto('stream_state')
      .values({ stream: 'stock', ...state, last_error: null, requested: null })
      .execute();
    const run = (reason: string, outcome: 'partial' | 'complete' | 'suspicious' = 'partial') =>
      store.db
        .insertInto('sync_run')
        .values({
          ...{ stream: 'stock', cause: 'schedule', started_at: 1, ended_at: 2, read_seq: 1 },
          ...{ options: '{}', checkpoint: '{}', reason, outcome, released_at: null },
        })
        .execute();
    for (const rows of [3, 4, 5]) await run(`${rows} rows cannot be read`);
    expect(await told()).toEqual([]);
    await run('6 rows cannot be read');
    expect(await told()).toMatchObject([
      { says: 'the pull of stock was not complete 4 times in a row: 6 rows cannot be read' },
    ]);
    await run('', 'complete');
    expect(await told()).toEqual([]);
    for (const why of ['the list shrank', 'an answer was cut']) await run(why);
    await run('too many deletions', 'suspicious');
    expect(await told()).toEqual([]);
    await run('too many deletions', 'suspicious');
    const says =
      'the pull of stock was not complete 4 times in a row: ' +
      'for 3 reasons, the last: too many deletions';
    const advice = expect.stringContaining('selvedge sync release <run>');
    expect(await told()).toMatchObject([{ kind: 'never_complete', says, advice }]);
  });

  it('is an order that has waited for a quarter of an hour to be read', async () => {
    const { store, clock, told } = await start();
    const waiting = { cause: 'event:e', due_at: 0, attempts: 1 };
    await store.db
      .insertInto('refresh')
      .values({ order_id: 7, requested_at: clock.now(), last_error: 'busy', ...waiting })
      .execute();
    await clock.advance(15 * 60_000 - 1);
    expect(await told()).toEqual([]);
    await clock.advance(1);
    const says =
      '1 orders wait to be read again, the oldest (7) since 2026-01-05T08:00:00.000Z: busy';
    expect(await told()).toMatchObject([{ kind: 'reads_late', says }]);
    await store.db.deleteFrom('refresh').execute();
    expect(await told()).toEqual([]);
  });
});

describe('an incident that nothing would end any more', () => {
  const open = ['brands_refused list season', 'relay_clock relay relay_clock'];

  it('ends at the start at which its stream is off, or its level has no events', async () => {
    const { store, clock, incidents, startAgain } = await start();
    for (const name of open) {
      const [kind = '', entity = '', key = ''] = name.split(' ');
      await openIncident(store.db, { kind, entity, key, detail: {} }, clock.now());
    }
    await startAgain(['stock', 'season'], '1.4.14');
    expect(await incidents()).toEqual(open);
    await startAgain(['stock'], '1.4.14');
    expect(await incidents()).toEqual(open.slice(1));
    await startAgain(['stock'], '1.2.0');
    expect(await incidents()).toEqual([]);
  });

  it('ends for a stream that was never complete when that is switched off', async () => {
    const { store, told } = await start();
    await store.db.insertInto('stream_state').values({ stream: 'stock', due_at: 0 }).execute();
    const run = { stream: 'stock', cause: '', started_at: 1, read_seq: 1, options: '{}' };
    const ended = { checkpoint: '{}', outcome: 'failed', reason: 'HTTP 500' } as const;
    for (let nth = 0; nth < 4; nth += 1) {
      await store.db
        .insertInto('sync_run')
        .values({ ...run, ...ended })
        .execute();
    }
    expect(await told()).toMatchObject([{ says: expect.stringContaining('not complete') }]);
    expect(await told([])).toEqual([]);
  });
});
