import { describe, expect, it } from 'vitest';
import { createReview } from '../../src/decisions/review/review.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { RetryLaterError } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { enqueueDeliveryStatus } from '../../src/outbox/enqueue.ts';
import type { OutboxItem } from '../../src/outbox/item.ts';
import {
  createDeliveryStatusKind,
  type DeliveryStatusApi,
} from '../../src/outbox/kinds/delivery-status.ts';
import { waitingFor } from '../../src/outbox/queue.ts';
import {
  ACCEPT_COVERED,
  ACCEPT_SMALL,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from '../decisions/support.ts';
import { temporaryStore } from '../support/store.ts';
import { createBench, NO_RECENT_READS, sendCall } from './support.ts';

const signal = new AbortController().signal;

/** The same, however it is read. */
function shows(readDelivery: DeliveryStatusApi['readDelivery']) {
  return { readDelivery, readBack: readDelivery };
}

async function kindAt(now: number, found: { status: string; contentHash: string }) {
  const clock = manualClock(now);
  return createDeliveryStatusKind(
    {
      ...shows(async () => ({ orderDeliveryId: 7, ...found })),
      setDeliveryStatus: async () => ({ orderDeliveryId: 7, status: 'rejected' }),
    },
    { store: await temporaryStore(clock), clock, ...NO_RECENT_READS, dryRun: false },
  );
}

/** A reject that is good for one content of the delivery and for a while. */
const item: OutboxItem = {
  ...{
    outboxId: 1,
    kind: 'delivery_status',
    orderingKey: 'delivery/7',
    reference: 'r',
    cause: 'c',
  },
  ...{ expectedFrom: 'pending', state: 'queued', attempts: 0, answered: false },
  ...{ result: null, inDoubtSince: null, createdAt: 0 },
  body: { orderId: 1, orderDeliveryId: 7, status: 'rejected', contentHash: 'h1', sendBefore: 100 },
};

it('sends a reject only while the delivery is to the letter what it was decided on', async () => {
  const same = { status: 'pending', contentHash: 'h1' };
  expect(await (await kindAt(99, same)).lookUp(item, signal)).toMatchObject({
    outcome: 'not_found',
  });
  const changed = { status: 'pending', contentHash: 'h2' };
  expect(await (await kindAt(99, changed)).lookUp(item, signal)).toMatchObject({
    ...{ outcome: 'superseded', reason: 'the delivery has changed since it was decided' },
  });
});

it('sends a reject only as long as it was meant for', async () => {
  const same = { status: 'pending', contentHash: 'h1' };
  expect(await (await kindAt(100, same)).lookUp(item, signal)).toMatchObject({
    ...{ outcome: 'superseded', reason: 'it was decided too long ago' },
  });
  // A status that is already set counts at any time.
  const done = { status: 'rejected', contentHash: 'h9' };
  expect(await (await kindAt(500, done)).lookUp(item, signal)).toMatchObject({
    outcome: 'matched',
  });
});

it.each([
  ['too late', ''],
  ['stopped', 'stopped'],
])('sends none that was %s while it waited for its turn', async (_, held) => {
  const clock = manualClock(99);
  const kind = createDeliveryStatusKind(
    {
      ...shows(async () => undefined),
      async setDeliveryStatus(_orderId, orderDeliveryId, status, { beforeSend }) {
        beforeSend();
        // The log-in takes its time, or the machine sleeps.
        clock.step(1);
        beforeSend();
        return { orderDeliveryId, status };
      },
    },
    { store: await temporaryStore(clock), clock, ...NO_RECENT_READS, dryRun: false },
  );
  const beforeSend = (): void => {
    if (held !== '') throw new RetryLaterError('outbox.paused', held);
  };
  const sending = kind.send(item, sendCall(signal, { beforeSend }));
  const message = held || 'it was decided too long ago';
  await expect(sending).rejects.toMatchObject({ name: 'RetryLaterError', message });
});

it('finds a reject that took effect before it became too late', async () => {
  const kind = await kindAt(500, { status: 'rejected', contentHash: 'h9' });
  // The service is there; an accept would not be looked for again.
  await kind.lookUp(item, signal);
  const lookup = { outcome: 'matched' };
  expect(await kind.clear(item, signal)).toMatchObject({ send: false, lookup });
});

it.each(['queued', 'in_doubt', 'sent'] as const)('undoes nobody’s act while %s', async (state) => {
  for (const status of ['accepted', 'canceled', 'shipped']) {
    const kind = await kindAt(0, { status, contentHash: 'h1' });
    const reason = `decided elsewhere: it was pending and is now ${status}`;
    const lookup = { outcome: 'superseded', reason };
    expect(await kind.lookUp({ ...item, state }, signal)).toMatchObject(lookup);
    const clearance = { send: false, lookup };
    expect(await kind.clear({ ...item, state }, signal)).toMatchObject(clearance);
  }
});

it('takes a 409 for the last word', async () => {
  expect(await kindAt(0, { status: 'pending', contentHash: 'h1' })).toMatchObject({
    conflictEnds: true,
  });
});

/** Returns what becomes of the due push, the service showing what the mirror has. */
async function clear({ store, clock }: DeciderFixture, { dryRun = false } = {}) {
  const excluded = { busy: new Set<string>(), paused: new Map<string, string>() };
  const { due } = await waitingFor(store.db, 'send', clock.now(), excluded);
  const [found] = due;
  if (!found) throw new Error('nothing is due');
  const row = store.db.selectFrom('delivery').select('content_hash as contentHash');
  const shown = await row.executeTakeFirstOrThrow();
  const pending = { orderDeliveryId: 7, status: 'pending', ...shown };
  const kind = createDeliveryStatusKind(
    { ...shows(async () => pending), setDeliveryStatus: async () => pending },
    { store, clock, ...NO_RECENT_READS, dryRun },
  );
  return kind.clear(found, signal);
}

it('sends an accept of the rules only for what they have decided on', async () => {
  const house = await createDeciderFixture();
  await house.delivery({ id: 7 });
  expect(await house.decide()).toEqual(['7 accept']);
  expect(await clear(house)).toMatchObject({ send: true });
  // The delivery has grown while its push waited, say for the service.
  await house.delivery({ id: 7, lines: [['a', 21]] });
  expect(await clear(house)).toMatchObject({
    ...{ send: false, lookup: { outcome: 'superseded' } },
  });
  await house.clock.advance(1_000);
  await house.endPush('refused', { answered: false });
  expect(await house.decide()).toEqual(['7 hold']);
  await house.delivery({ id: 7, lines: [['a', 20]] });
  expect(await house.decide()).toEqual(['7 accept']);
  await house.delivery({ id: 7, lines: [['a', 20]], more: { carrier: 'what no rule reads' } });
  expect(await clear(house)).toMatchObject({ send: true });
});

it('sends no accept for another price than the rules have decided on', async () => {
  const house = await createDeciderFixture();
  await house.delivery({ id: 7 });
  expect(await house.decide()).toEqual(['7 accept']);
  const fulfilledLineItems = [{ barcode: 'a', fulfilledQuantity: 2, price: 99 }];
  await house.delivery({ id: 7, more: { fulfilledLineItems } });
  const reason = 'the lines of the delivery have changed since it was decided';
  expect(await clear(house)).toMatchObject({
    ...{ send: false, lookup: { outcome: 'superseded', reason } },
  });
});

it('sends an accept of a person only for the lines that the person has seen', async () => {
  const house = await createDeciderFixture();
  const rules = loadedRules(ACCEPT_SMALL);
  await house.delivery({ id: 7, lines: [['a', 30]] });
  expect(await house.decide()).toEqual(['7 hold']);
  const nothing = () => undefined;
  const review = createReview({
    ...house,
    rules: () => rules,
    onPush: nothing,
    onReviewed: nothing,
  });
  const asked = { actor: 'ada', reason: 'agreed by phone' };
  await review.act({ action: 'accept', delivery: '7', ...asked });
  // Other than one of the rules it does not grow old.
  await house.clock.advance(86_400_000);
  expect(await clear(house)).toMatchObject({ send: true });
  await house.delivery({ id: 7, lines: [['a', 300]] });
  const reason = 'the lines of the delivery have changed since it was decided';
  expect(await clear(house)).toMatchObject({
    ...{ send: false, lookup: { outcome: 'superseded', reason } },
  });
  await house.endPush('refused', { answered: false });
  await house.clock.advance(1);
  expect(await house.decide()).toEqual(['7 hold']);
});

describe('an accept of the rules that waited for longer than three minutes', () => {
  const MINUTE = 60_000;

  async function waited(): Promise<DeciderFixture & { readonly again: () => Promise<string[]> }> {
    const house = await createDeciderFixture();
    await house.stock({ a: 2 });
    await house.delivery({ id: 7 });
    const covered = loadedRules(ACCEPT_COVERED);
    const again = () => house.decide({ rules: () => covered });
    expect(await again()).toEqual(['7 accept']);
    await house.clock.advance(3 * MINUTE - 1);
    expect(await clear(house)).toMatchObject({ send: true });
    await house.clock.advance(1);
    // In a dry run nothing leaves, and so nothing is too late.
    expect(await clear(house, { dryRun: true })).toMatchObject({ send: true });
    expect(await clear(house)).toMatchObject({
      send: false,
      lookup: { outcome: 'superseded', reason: 'it was decided too long ago' },
    });
    await house.endPush('refused', { answered: false });
    await house.clock.advance(1);
    return { ...house, again };
  }

  it('is not sent where the facts have changed', async () => {
    const house = await waited();
    await house.stock({ a: 1 });
    expect(await house.again()).toEqual(['7 hold']);
    expect(await house.pushes()).toHaveLength(1);
  });

  it('is sent as a decision of its own where they have not, and once', async () => {
    const house = await waited();
    expect(await house.again()).toEqual(['7 accept']);
    expect(await house.pushes()).toEqual(['delivery/7/decision/1', 'delivery/7/decision/2']);
    expect(await house.again()).toEqual([]);
    expect(await clear(house)).toMatchObject({ send: true });
    // Refused for another reason, say that the service does not know it: no second time.
    await house.endPush('refused', { answered: false });
    await house.clock.advance(1);
    expect(await house.again()).toEqual([]);
  });
});

it('gives an accept the time to leave, however young facts must be', async () => {
  const house = await createDeciderFixture();
  await house.delivery({ id: 7 });
  const settings = 'version: 1\nsafeguards: { freshness: { mirror: 1s } }\n';
  const rules = loadedRules(ACCEPT_SMALL, settings);
  expect(await house.decide({ rules: () => rules })).toEqual(['7 accept']);
  await house.clock.advance(59_999);
  expect(await clear(house)).toMatchObject({ send: true });
  await house.clock.advance(1);
  expect(await clear(house)).toMatchObject({ send: false });
});

it('ends all accepts that are too late by one look, and none while nobody answers', async () => {
  const clock = manualClock(100);
  let isAway = true;
  let looks = 0;
  const kind = createDeliveryStatusKind(
    {
      ...shows(async () => {
        looks += 1;
        if (isAway) throw new RetryLaterError('http.unreachable', 'nobody answers');
        return { orderDeliveryId: 7, status: 'pending', contentHash: 'h1' };
      }),
      setDeliveryStatus: async () => ({ orderDeliveryId: 7, status: 'accepted' }),
    },
    { store: await temporaryStore(clock), clock, ...NO_RECENT_READS, dryRun: false },
  );
  const accept = { ...item, body: { ...item.body, status: 'accepted' } };
  await expect(kind.clear(accept, signal)).rejects.toThrow('nobody answers');
  isAway = false;
  const late = { outcome: 'superseded', reason: 'it was decided too long ago' };
  expect(await kind.clear(accept, signal)).toMatchObject({ send: false, lookup: late });
  expect(looks).toBe(2);
  expect(await kind.clear(accept, signal)).toMatchObject({ send: false, lookup: late });
  expect(looks).toBe(2);
  isAway = true;
  await clock.advance(30_000);
  await expect(kind.clear(accept, signal)).rejects.toThrow('nobody answers');
  // Whatever the clock on the wall says.
  clock.step(-29_000);
  await expect(kind.clear(accept, signal)).rejects.toThrow('nobody answers');
});

it('takes no accept for too late that the service has taken, but does not show yet', async () => {
  const bench = await createBench();
  const { store, clock, script } = bench;
  let status = 'pending';
  const kind = createDeliveryStatusKind(
    {
      ...shows(async () => ({ orderDeliveryId: 7, status, contentHash: 'h1' })),
      setDeliveryStatus: async () => ({ orderDeliveryId: 7, status: 'accepted' }),
    },
    { store, clock, ...NO_RECENT_READS, dryRun: false },
  );
  script.lookUp = (one) => kind.lookUp(one, signal);
  const answer = Promise.withResolvers<JsonObject>();
  script.send = () => answer.promise;
  const outboxId = await store.transaction((tx) => {
    const change = { orderId: 1, orderDeliveryId: 7, from: 'pending', to: 'accepted' } as const;
    const sendBefore = clock.now() + 1_000;
    return enqueueDeliveryStatus(tx, { ...change, decisionId: 1, sendBefore }, clock.now());
  });
  bench.start();
  await clock.advance(1_000);
  answer.resolve({ status: 'accepted' });
  await clock.advance(1);
  expect(await bench.row(outboxId)).toMatchObject({ state: 'in_doubt', attempts: 1 });
  status = 'accepted';
  await clock.advance(60_000);
  expect(await bench.row(outboxId)).toMatchObject({ state: 'confirmed', attempts: 1 });
});

/** Accepts that must leave within 15 minutes. */
async function acceptsInTime() {
  const bench = await createBench();
  const { store, clock, script } = bench;
  const kind = createDeliveryStatusKind(
    {
      ...shows(async () => ({ orderDeliveryId: 7, status: 'pending', contentHash: 'h1' })),
      setDeliveryStatus: async () => ({ orderDeliveryId: 7, status: 'accepted' }),
    },
    { store, clock, ...NO_RECENT_READS, dryRun: false },
  );
  const look: typeof script.lookUp = (one) => kind.lookUp(one, signal);
  script.lookUp = look;
  const add = (orderDeliveryId: number): Promise<number> =>
    store.transaction((tx) => {
      const sendBefore = clock.now() + 15 * 60_000;
      const change = { orderId: 1, orderDeliveryId, from: 'pending', to: 'accepted' } as const;
      return enqueueDeliveryStatus(tx, { ...change, decisionId: 1, sendBefore }, clock.now());
    });
  return { bench, add, look };
}

it.each([
  ['while it waits', false],
  ['while nobody works on it', true],
])('is too late no later where the clock is set back %s', async (_, restarts) => {
  const { bench, add } = await acceptsInTime();
  const { clock, row } = bench;
  bench.paused = true;
  const { stop } = bench.start();
  const before = await add(7);
  await clock.advance(60_000);
  if (restarts) await stop();
  clock.step(-24 * 3_600_000);
  const after = await add(8);
  if (restarts) bench.start();
  // A step that nobody saw counts as decided at the start.
  await clock.advance((restarts ? 15 : 14) * 60_000 - 1);
  expect([await row(before), await row(after)]).toMatchObject([
    { ended_at: null },
    { ended_at: null },
  ]);
  await clock.advance(1);
  bench.paused = false;
  await clock.advance(30_000);
  expect(await row(before)).toMatchObject({ state: 'refused' });
  expect(bench.sends).toEqual(restarts ? [] : [after]);
});

it('is too late also where it was found due before the clock was set back', async () => {
  const { bench, add, look } = await acceptsInTime();
  const { clock, script, row } = bench;
  bench.limits.concurrency = 1;
  const answer = Promise.withResolvers<void>();
  const [atHand, waiting] = [await add(7), await add(8)];
  script.lookUp = async (one) => {
    if (one.outboxId === atHand) await answer.promise;
    return look(one);
  };
  bench.start();
  await clock.advance(60_000);
  clock.step(-24 * 3_600_000);
  await clock.advance(14 * 60_000);
  answer.resolve();
  await clock.advance(1);
  expect(await row(waiting)).toMatchObject({ state: 'refused' });
});

describe('a push that died and is tried again', () => {
  /** An accept of the rules that was tried in vain. */
  async function died(): Promise<DeciderFixture> {
    const house = await createDeciderFixture();
    await house.delivery({ id: 7 });
    expect(await house.decide()).toEqual(['7 accept']);
    await house.store.db.updateTable('outbox').set({ state: 'dead', ended_at: 0 }).execute();
    return house;
  }

  async function clearAgain(house: DeciderFixture) {
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
      lookup: { outcome: 'superseded', reason: 'decided again: decision 2 says hold (2 pieces)' },
    });
  });

  it('is not sent once its facts are old, and the delivery is decided again', async () => {
    const house = await died();
    await house.clock.advance(900_000);
    expect(await clearAgain(house)).toMatchObject({
      send: false,
      lookup: { outcome: 'superseded', reason: 'it was decided too long ago' },
    });
    await house.endPush('refused', { answered: false });
    expect(await house.decide()).toEqual(['7 accept']);
    expect(await house.pushes()).toHaveLength(2);
  });
});
