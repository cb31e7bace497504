/** Another daemon on the same account, as an old host is that still runs after a move. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import { createAccountWatch } from '../../src/outbox/watch/account-watch.ts';
import type { OutboxState } from '../../src/store/tables.ts';
import { temporaryStore } from '../support/store.ts';
import { type House, startHouse } from './house.ts';
import { openIncidents } from './support.ts';

const MINUTE = 60_000;
const ANOTHER = [{ kind: 'another_daemon', key: 'service' }];
const ORDERS = { method: 'GET', path: '*/orders' } as const;

function lines(house: House) {
  const [barcode = ''] = house.barcodes;
  return { lines: [{ barcode, quantity: 2, price: '12.50' }] };
}

/** The other one sends the same document. */
async function sentByAnother(house: House, reference: string): Promise<void> {
  const { reference: service, barcodes } = house;
  const [key] = Object.values(service.credentials);
  const json = (body: unknown, headers = {}) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const login = { clientID: key?.clientId, clientSecret: key?.clientSecret };
  const logged: unknown = await (await fetch(`${service.v1Url}/auth/login`, json(login))).json();
  const { data } = z.object({ data: z.object({ token: z.string() }) }).parse(logged);
  const orderLineItems = [{ barcode: barcodes[0], quantity: 2, price: 12.5 }];
  const token = { 'X-Service-Authorization': data.token };
  const answer = await fetch(`${service.v1Url}/orders`, json({ reference, orderLineItems }, token));
  expect(answer.status).toBe(200);
}

describe('an order that another daemon has just sent', () => {
  it('is not sent once more, and that it was there is told', async () => {
    const house = await startHouse();
    await house.until(await house.put('order', 'A-0', lines(house)), 'confirmed');
    await sentByAnother(house, 'a-1');
    // The look for the order before counts for a second.
    await house.clock.sleep(2_000);
    const id = await house.put('order', 'A-1', lines(house));
    const state = await house.until(id, 'confirmed');
    expect([house.ordersWith('A-1'), house.ordersWith('a-1'), state.attempts]).toEqual([0, 1, 0]);
    await expect
      .poll(async () => openIncidents(house.store), { timeout: 20_000 })
      .toContainEqual(ANOTHER[0]);
  });

  it('costs one request for all orders that are due together', async () => {
    const house = await startHouse();
    await house.until(await house.put('order', 'A-0', lines(house)), 'confirmed');
    const before = house.reference.edge.journal.list(ORDERS).length;
    const ids = [];
    for (let at = 1; at <= 8; at += 1) ids.push(await house.put('order', `A-${at}`, lines(house)));
    for (const id of ids) await house.until(id, 'confirmed');
    expect(house.reference.edge.journal.list(ORDERS).length - before).toBeLessThanOrEqual(3);
  });

  it('keeps no order back where the list cannot be read', async () => {
    const house = await startHouse();
    await house.until(await house.put('order', 'A-0', lines(house)), 'confirmed');
    house.reference.knobs.patch({ faults: [{ kind: 'serverError', ...ORDERS }] });
    const id = await house.put('order', 'A-1', lines(house));
    expect(await house.until(id, 'confirmed')).toMatchObject({ attempts: 1 });
  });
});

interface Row {
  readonly kind: 'order' | 'delivery_status';
  readonly reference: string;
  readonly orderId?: number;
  readonly attempts?: number;
  readonly createdAt?: number;
  readonly byPerson?: boolean;
}

async function startWatch() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  await clock.advance(60 * MINUTE);
  const watch = createAccountWatch({
    ...{ store, clock, log: silentLogger(), requestWalk: async () => undefined },
    readOrder: async () => {
      throw new Error('nobody asks');
    },
  });
  const stop = new AbortController();
  const done = watch.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  await clock.advance(MINUTE);
  let readSeq = 1;
  return {
    ...{ clock, store },
    told: async () => {
      await clock.advance(2 * MINUTE);
      return openIncidents(store);
    },
    mirror(orderId: number, reference: string, createdAt: string | null = null) {
      readSeq += 1;
      const record = { orderId, reference, status: 'pending', createdAt, orderLineItems: [] };
      const provenance = { source: 'run:1', readSeq, at: clock.now() };
      return store.transaction((tx) => writeOrders(tx, [record], provenance));
    },
    async confirmed({ kind, reference, orderId, attempts = 0, createdAt, byPerson }: Row) {
      const now = clock.now();
      const state: OutboxState = 'confirmed';
      const { outbox_id } = await store.db
        .insertInto('outbox')
        .values({
          ...{
            kind,
            reference,
            state,
            ordering_key: reference,
            body: '{}',
            body_hash: '',
            cause: 'test',
          },
          ...{ reference_key: kind === 'order' ? reference.toLowerCase() : null, due_at: now },
          ...{ created_at: createdAt ?? now - 1_000, ended_at: now, order_id: orderId ?? null },
          ...{ expected_from: null, in_doubt_since: null, last_error: null, blocked_reason: null },
          result: null,
        })
        .returning('outbox_id')
        .executeTakeFirstOrThrow();
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        await store.db
          .insertInto('outbox_attempt')
          .values({
            ...{ outbox_id, attempt, started_at: now, ended_at: now, class: 'done' },
            ...{ http_status: 200, error_code: null, answer: null },
            ...{ max_order_id_before: null, count_before: null },
          })
          .execute();
      }
      if (!byPerson) return;
      await store.db
        .insertInto('outbox_evidence')
        .values({ outbox_id, at: now, source: 'person', outcome: 'matched', detail: '{}' })
        .execute();
    },
  };
}

describe('two orders with one reference, of which we sent one', () => {
  it('are told, whichever of them the mirror hears of first', async () => {
    const first = await startWatch();
    await first.mirror(500, 'Ä-1');
    await first.confirmed({ kind: 'order', reference: 'ä-1', orderId: 500, attempts: 1 });
    expect(await first.told()).toEqual([]);
    await first.mirror(501, 'Ä-1');
    expect(await first.told()).toEqual(ANOTHER);

    const second = await startWatch();
    await second.mirror(500, 'Ä-1');
    expect(await second.told()).toEqual([]);
    await second.mirror(501, 'Ä-1');
    await second.confirmed({ kind: 'order', reference: 'ä-1', orderId: 501, attempts: 1 });
    expect(await second.told()).toEqual(ANOTHER);
  });

  it('are no sign of it when we have sent ours twice, or the other one is old', async () => {
    const watch = await startWatch();
    await watch.confirmed({ kind: 'order', reference: 'A-1', orderId: 500, attempts: 2 });
    await watch.mirror(501, 'A-1');
    await watch.confirmed({ kind: 'order', reference: 'A-2', orderId: 502, attempts: 1 });
    await watch.mirror(503, 'A-2', '1969-12-25T00:00:00Z');
    expect(await watch.told()).toEqual([]);
  });
});

describe('an order that was confirmed and never sent', () => {
  it('is told, and is not any more once nothing of the kind was seen for hours', async () => {
    const watch = await startWatch();
    await watch.mirror(500, 'A-1');
    await watch.confirmed({ kind: 'order', reference: 'A-1', orderId: 500 });
    expect(await watch.told()).toEqual(ANOTHER);
    await watch.clock.advance(7 * 60 * MINUTE);
    expect(await watch.told()).toEqual([]);
  });

  it('is no sign of it when a person said so, or it was there long before', async () => {
    const watch = await startWatch();
    await watch.mirror(500, 'A-1');
    await watch.confirmed({ kind: 'order', reference: 'A-1', orderId: 500, byPerson: true });
    await watch.mirror(501, 'A-2');
    await watch.clock.advance(30 * MINUTE);
    await watch.confirmed({ kind: 'order', reference: 'A-2', orderId: 501 });
    expect(await watch.told()).toEqual([]);
  });
});

describe('deliveries that had the status we decided on before our push left', () => {
  const push = (no: number) =>
    ({ kind: 'delivery_status', reference: `delivery/${no}/decision/${no}` }) as const;

  it('are told when there are several within hours, and by chance there is one', async () => {
    const watch = await startWatch();
    for (const no of [1, 2]) await watch.confirmed(push(no));
    expect(await watch.told()).toEqual([]);
    await watch.confirmed(push(3));
    expect(await watch.told()).toEqual(ANOTHER);
  });

  it('are no sign of it when the push had waited for long, or was sent', async () => {
    const watch = await startWatch();
    const createdAt = watch.clock.now() - 10 * MINUTE;
    for (const no of [1, 2, 3]) await watch.confirmed({ ...push(no), createdAt });
    for (const no of [4, 5, 6]) await watch.confirmed({ ...push(no), attempts: 1 });
    expect(await watch.told()).toEqual([]);
  });
});
