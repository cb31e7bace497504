/**
 * Accounts that list a delivery under another id than its events, or its answers, have: a status is
 * set under that id, and an announcement counts as seen by it, only where both are one delivery.
 */
import { describe, expect, it } from 'vitest';
import { deliverySchema, type SalesOrderDelivery } from '../../src/client/v1/schemas.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError } from '../../src/lib/errors.ts';
import { noteAnnounced, unseenOf } from '../../src/mirror/announced.ts';
import { quarantineRows } from '../../src/mirror/quarantine.ts';
import { writeDeliveries } from '../../src/mirror/sales-order.ts';
import { setDeliveryStatus } from '../../src/outbox/kinds/delivery-status.ts';
import { temporaryStore } from '../support/store.ts';

const ORDER = 7;
/** Id in the list, and so in the mirror, and the other one. */
const [LISTED, OTHER] = [1, 2];

const LINES = [{ barcode: 'b', fulfilledQuantity: 1, price: 100 }];

function delivery(more: object = {}): SalesOrderDelivery {
  const own = { orderDeliveryId: LISTED, orderId: ORDER, deliveryNo: 'DN-1', status: 'pending' };
  return deliverySchema.parse({ ...own, fulfilledLineItems: LINES, ...more });
}

const ALIAS = delivery({ orderDeliveryId: OTHER });

interface Account {
  /** Deliveries of the mirror. */
  readonly mirrored?: readonly SalesOrderDelivery[];
  /** Deliveries that events of the order have named. */
  readonly named?: readonly object[];
  /** Delivery 2 is in the lists, and cannot be read. */
  readonly isQuarantined?: boolean;
  /** Deliveries that the service shows, by the id in the address. */
  readonly shown?: Readonly<Record<number, SalesOrderDelivery>>;
}

async function startAccount(account: Account) {
  const { mirrored = [delivery()], named = [ALIAS], isQuarantined = false } = account;
  const { shown = { [OTHER]: ALIAS } } = account;
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const from = { source: 'run:1', readSeq: 5, at: clock.now() };
  await store.transaction(async (tx) => {
    await writeDeliveries(tx, mirrored, from);
    const reject = { raw: { orderDeliveryId: OTHER }, path: 'status', reason: 'odd' };
    if (isQuarantined) await quarantineRows(tx, 'delivery', [reject], from);
    for (const [at, salesOrderDelivery] of named.entries()) {
      const body = Buffer.from(JSON.stringify({ data: { salesOrderDelivery } }));
      const event = { event_id: `msg_${at}`, received_at: at, sent_at: at, order_id: ORDER, body };
      await tx
        .insertInto('webhook_event')
        .values({ ...event, secret_name: '', outcome: 'refresh' })
        .execute();
    }
  });
  const absent = () => new RefusedError('service.not_found', 'HTTP 404');
  const tried: number[] = [];
  const v1 = {
    async delivery(_order: number, id: number) {
      const value = shown[id];
      if (!value) throw absent();
      return { value, startedAt: clock.now() };
    },
    async setDeliveryStatus(_order: number, id: number, status: string) {
      tried.push(id);
      if (id === LISTED) throw absent();
      return { value: { status, delivery: undefined }, startedAt: clock.now() };
    },
  };
  return {
    /** Ids under which a status was set, or tried to be. */
    async accept() {
      const target = { orderId: ORDER, id: LISTED, status: 'accepted' } as const;
      await setDeliveryStatus({ store, service: { v1 } }, target, {}).catch(absent);
      return tried;
    },
    /** Deliveries that are waited for after delivery 2 was announced. */
    async waitedFor() {
      const announced = { thing: 'delivery', id: OTHER, orderId: ORDER, sentAt: 0 } as const;
      await store.transaction((tx) => noteAnnounced(tx, [announced], clock.now()));
      return (await unseenOf(store.db, ORDER, clock.now(), false)).map(({ id }) => id);
    },
  };
}

function numbered(deliveryNo: string): Account {
  const [listed, other] = [delivery({ deliveryNo }), { ...ALIAS, deliveryNo }];
  return { mirrored: [listed], named: [other], shown: { [OTHER]: other } };
}

/** Accounts in which nothing tells that delivery 2 is delivery 1. */
const TWO: Readonly<Record<string, Account>> = {
  'without numbers': numbered(''),
  'with a number of spaces': numbered(' '),
  'with one number for all of the order': {
    mirrored: [delivery(), delivery({ orderDeliveryId: 3 })],
  },
  'with one number for all orders': {
    mirrored: [delivery(), delivery({ orderDeliveryId: 3, orderId: 8 })],
  },
  'whose events name the listed id, too': { named: [delivery(), ALIAS] },
  'whose events name another delivery by its listed id': {
    mirrored: [delivery(), delivery({ orderDeliveryId: 3, deliveryNo: 'DN-3' })],
    named: [delivery({ orderDeliveryId: 3, deliveryNo: 'DN-3' }), ALIAS],
  },
  'whose events name two more of this number': {
    named: [ALIAS, delivery({ orderDeliveryId: 3 })],
  },
  'whose events give the other one two numbers': {
    named: [ALIAS, { ...ALIAS, deliveryNo: 'DN-2' }],
  },
};

/** Accounts in which delivery 2 is one of its own. */
const OWN: Readonly<Record<string, Account>> = {
  'that lists both': { mirrored: [delivery(), delivery({ ...ALIAS, deliveryNo: 'DN-2' })] },
  'that lists the other one for another order': {
    mirrored: [delivery(), delivery({ ...ALIAS, deliveryNo: 'DN-2', orderId: 8 })],
  },
  'that lists the other one in a form that cannot be read': { isQuarantined: true },
};

it.each(Object.entries(TWO))('two deliveries stay two in an account %s', async (_what, account) => {
  const { accept, waitedFor } = await startAccount(account);
  expect([await accept(), await waitedFor()]).toEqual([[LISTED], [OTHER]]);
});

describe('a status is set under the listed id alone', () => {
  it.each(Object.entries(OWN))('in an account %s', async (_what, account) => {
    const { accept } = await startAccount(account);
    expect(await accept()).toEqual([LISTED]);
  });

  it.each(Object.entries({ ...OWN, 'without numbers': numbered('') }))(
    'though it answers under the other one, in an account %s',
    async (_what, account) => {
      const other = { ...ALIAS, deliveryNo: account.mirrored?.[0]?.deliveryNo ?? 'DN-1' };
      const shown = { [LISTED]: other, [OTHER]: other };
      const { accept } = await startAccount({ ...account, shown, named: [] });
      expect(await accept()).toEqual([LISTED]);
    },
  );

  it.each([
    ['is not there', {}],
    ['has another number', { [OTHER]: { ...ALIAS, deliveryNo: 'DN-2' } }],
    ['is of another order', { [OTHER]: { ...ALIAS, orderId: 8 } }],
    ['answers under a third id', { [OTHER]: { ...ALIAS, orderDeliveryId: 3 } }],
    ['has another status', { [OTHER]: { ...ALIAS, status: 'accepted' } }],
    ['has another line', { [OTHER]: delivery({ ...ALIAS, fulfilledLineItems: [] }) }],
    [
      'has more pieces',
      {
        [OTHER]: delivery({
          ...ALIAS,
          fulfilledLineItems: [{ barcode: 'b', fulfilledQuantity: 2, price: 100 }],
        }),
      },
    ],
  ])('if the other one %s', async (_what, shown) => {
    const { accept } = await startAccount({ shown });
    expect(await accept()).toEqual([LISTED]);
    const answering = await startAccount({ named: [], shown: { ...shown, [LISTED]: ALIAS } });
    expect(await answering.accept()).toEqual([LISTED]);
  });
});

it.each<[string, Account]>([
  ['its events name', {}],
  ['its events name, where it is shown under the listed id', { shown: { [OTHER]: delivery() } }],
  ['it answers under', { named: [], shown: { [LISTED]: ALIAS, [OTHER]: ALIAS } }],
])('a status is set under the other id that %s', async (_what, account) => {
  const { accept } = await startAccount(account);
  expect(await accept()).toEqual([LISTED, OTHER]);
});

it('an announced delivery is seen as the listed one that alone has its number', async () => {
  const { waitedFor } = await startAccount({});
  expect(await waitedFor()).toEqual([]);
});
