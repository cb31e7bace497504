import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import type { OutboxItem } from '../../src/outbox/item.ts';
import { createDeliveryStatusKind } from '../../src/outbox/kinds/delivery-status.ts';
import { dueItems } from '../../src/outbox/ledger.ts';
import { ACCEPT_SMALL, createHouse, type House, loadedRules } from '../decisions/support.ts';
import { temporaryStore } from '../support/store.ts';

const signal = new AbortController().signal;

async function kindAt(now: number, found: { status: string; contentHash: string }) {
  const clock = manualClock(now);
  return createDeliveryStatusKind(
    {
      readDelivery: async () => ({ orderDeliveryId: 7, ...found }),
      setDeliveryStatus: async () => ({ orderDeliveryId: 7, status: 'rejected' }),
    },
    { store: await temporaryStore(clock), clock },
  );
}

/** A reject that is good for one content of the delivery and for a while. */
const item: OutboxItem = {
  ...{ outboxId: 1, kind: 'delivery_status', lane: 'delivery/7', reference: 'r', cause: 'c' },
  ...{ expectedFrom: 'pending', state: 'queued', attempts: 0, answered: false },
  ...{ result: null, inDoubtSince: null, createdAt: 0 },
  body: { orderId: 1, orderDeliveryId: 7, status: 'rejected', contentHash: 'h1', sendBefore: 100 },
};

it('sends a reject only while the delivery is to the letter what it was decided on', async () => {
  const same = { status: 'pending', contentHash: 'h1' };
  expect(await (await kindAt(99, same)).look(item, signal)).toMatchObject({ found: 'no' });
  const changed = { status: 'pending', contentHash: 'h2' };
  expect(await (await kindAt(99, changed)).look(item, signal)).toMatchObject({
    ...{ found: 'overtaken', reason: 'the delivery has changed since it was decided' },
  });
});

it('sends a reject only as long as it was meant for', async () => {
  const same = { status: 'pending', contentHash: 'h1' };
  expect(await (await kindAt(100, same)).look(item, signal)).toMatchObject({
    ...{ found: 'overtaken', reason: 'it was decided too long ago' },
  });
  // That it has been done is the truth at any time.
  const done = { status: 'rejected', contentHash: 'h9' };
  expect(await (await kindAt(500, done)).look(item, signal)).toMatchObject({ found: 'yes' });
});

/** What becomes of the push that is due, the service showing what the mirror has. */
async function clear({ store, clock }: House) {
  const excluded = { busy: new Set<string>(), held: new Map<string, string>() };
  const [found] = await dueItems(store.db, 'send', clock.now(), excluded, 1);
  if (!found) throw new Error('nothing is due');
  const row = store.db.selectFrom('delivery').select('content_hash as contentHash');
  const shown = await row.executeTakeFirstOrThrow();
  const pending = { orderDeliveryId: 7, status: 'pending', ...shown };
  const kind = createDeliveryStatusKind(
    { readDelivery: async () => pending, setDeliveryStatus: async () => pending },
    { store, clock },
  );
  return kind.clear(found, signal);
}

it('sends an accept of the rules only for what they have decided on', async () => {
  const house = await createHouse();
  await house.delivery({ id: 7 });
  expect(await house.decide()).toEqual(['7 accept']);
  expect(await clear(house)).toMatchObject({ send: true });
  // It waited, say for the service, and has grown meanwhile.
  await house.delivery({ id: 7, lines: [['a', 21]] });
  expect(await clear(house)).toMatchObject({
    ...{ send: false, finding: { found: 'overtaken' } },
  });
  await house.clock.advance(1_000);
  await house.endPush('refused', { answered: false });
  expect(await house.decide()).toEqual(['7 hold']);
  await house.delivery({ id: 7, lines: [['a', 20]] });
  expect(await house.decide()).toEqual(['7 accept']);
  await house.delivery({ id: 7, lines: [['a', 20]], more: { carrier: 'what no rule reads' } });
  expect(await clear(house)).toMatchObject({ send: true });
});

describe('a push that died and is tried again', () => {
  /** An accept of the rules that was tried in vain. */
  async function died(): Promise<House> {
    const house = await createHouse();
    await house.delivery({ id: 7 });
    expect(await house.decide()).toEqual(['7 accept']);
    await house.store.db.updateTable('outbox').set({ state: 'dead', ended_at: 0 }).execute();
    return house;
  }

  async function clearAgain(house: House) {
    const again = { state: 'queued', ended_at: null, due_at: 0 } as const;
    await house.store.db.updateTable('outbox').set(again).execute();
    return clear(house);
  }

  it('is sent while nothing else was decided', async () => {
    expect(await clearAgain(await died())).toMatchObject({ send: true });
  });

  it('is not sent once the delivery was decided otherwise', async () => {
    const house = await died();
    await house.clock.advance(1_000);
    const rules = loadedRules(ACCEPT_SMALL.replaceAll('20', '1'));
    expect(await house.decide({ rules: () => rules })).toEqual(['7 hold']);
    expect(await clearAgain(house)).toMatchObject({
      send: false,
      finding: { found: 'overtaken', reason: 'decided anew: decision 2 says hold (2 pieces)' },
    });
  });
});
