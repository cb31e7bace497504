/**
 * An accept of the rules that goes by the read which it was decided on, while somebody acts at the
 * service between that read and the sending.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConflictError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import {
  completeRefetch,
  createRecentReads,
  dueRefetches,
  requestRefetches,
} from '../../src/mirror/refetch-queue.ts';
import { createDispatcher } from '../../src/outbox/dispatcher.ts';
import {
  createDeliveryStatusKind,
  type DeliveryStatusApi,
} from '../../src/outbox/kinds/delivery-status.ts';
import { acceptByHand, createDeciderFixture } from '../decisions/support.ts';
import { pausesIn } from '../support/pauses.ts';

const SECOND = 1_000;
const LIMITS = {
  ...{ concurrency: 4, attemptsMax: 5, retryMsMin: SECOND, lookups: 4, retryMsMax: 60 * SECOND },
  ...{ reviewAfterMs: 86_400 * SECOND, lookupMs: 60 * SECOND, idleMsMax: 30 * SECOND },
};

/** Acts of somebody at the service. */
const ACTS = {
  accepts: { status: 'accepted', pieces: 2 },
  rejects: { status: 'rejected', pieces: 2 },
  repacks: { status: 'pending', pieces: 3 },
};

/** A delivery that was just read, and the rules' accept of it; the limiter lets nothing pass. */
async function decided() {
  const house = await createDeciderFixture();
  const { clock, store } = house;
  const recentReads = createRecentReads(clock);
  const service = { status: 'pending', pieces: 2 };
  const counts = { lookups: 0, sent: 0 };
  const limiter = Promise.withResolvers<void>();
  const read = async (start = recentReads.begin()) => {
    const lines = [['a', service.pieces]] as const;
    await house.delivery({ id: 7, status: service.status, lines });
    recentReads.note(1, start);
  };
  const readDelivery: DeliveryStatusApi['readDelivery'] = async () => {
    counts.lookups += 1;
    await read();
    return { orderDeliveryId: 7, status: service.status, contentHash: undefined };
  };
  const kind = createDeliveryStatusKind(
    {
      readDelivery,
      readBack: readDelivery,
      async setDeliveryStatus(_order, orderDeliveryId, status, { beforeSend }) {
        await limiter.promise;
        beforeSend();
        counts.sent += 1;
        if (service.status === 'rejected') throw new ConflictError('service.conflict', 'rejected');
        service.status = status;
        return { orderDeliveryId, status };
      },
    },
    { store, clock, recentReads, isInForce: () => true, dryRun: false },
  );
  const log = silentLogger();
  const dispatcher = createDispatcher({
    ...{ store, clock, random: seededRandom(3), log, kinds: [kind], limits: LIMITS },
    ...{
      reconcileAfterMs: 720 * SECOND,
      processStartedAt: () => 0,
      pausedReason: () => undefined,
      dryRun: false,
    },
    pauses: await pausesIn({ store, clock }),
    onMoved: () => undefined,
    onEnded: () => undefined,
  });
  const stop = new AbortController();
  const start = (): void => {
    const done = dispatcher.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      limiter.resolve();
      await done;
    });
  };
  await read();
  expect(await house.decide()).toEqual(['7 accept']);
  const requests = [{ orderId: 1, cause: 'event:msg_1' }];
  /** Another process has asked for the order, or what an event announced was not shown yet. */
  const want = () => store.transaction((tx) => requestRefetches(tx, requests, clock.now()));
  return {
    ...{ house, clock, store, counts, service, start, read, begin: recentReads.begin },
    want,
    /** The event of what somebody did. */
    async hear() {
      await want();
      recentReads.outdate([1]);
    },
    /** The read that it asked for. */
    async follow() {
      await read();
      for (const due of await dueRefetches(store.db, clock.now(), 9)) {
        await store.transaction((tx) => completeRefetch(tx, due));
      }
    },
    /** The limiter lets it pass; how the push ended. */
    async pass() {
      limiter.resolve();
      await clock.advance(SECOND);
      const row = store.db.selectFrom('outbox').select(['state', 'last_error']);
      return row.executeTakeFirstOrThrow();
    },
  };
}

it('an accept leaves without another look when its order was just read', async () => {
  const { start, clock, pass, counts } = await decided();
  start();
  await clock.advance(1.5 * SECOND);
  expect(await pass()).toMatchObject({ state: 'confirmed' });
  // The lookup reads it back: the answer of this service shows no delivery.
  expect(counts).toEqual({ lookups: 1, sent: 1 });
});

describe.each([0, 1, 3])('%i s after our read, before the accept has left', (seconds) => {
  it.each(['accepts', 'rejects', 'repacks'] as const)('somebody %s', async (act) => {
    const { start, clock, pass, hear, counts, service } = await decided();
    start();
    await clock.advance(seconds * SECOND);
    Object.assign(service, ACTS[act]);
    await hear();
    const end = await pass();
    expect(counts).toEqual({ lookups: 1, sent: 0 });
    expect(service).toEqual(ACTS[act]);
    expect(end.state).toBe(act === 'accepts' ? 'confirmed' : 'refused');
  });
});

it.each(['accepts', 'rejects', 'repacks'] as const)(
  'somebody %s unheard: after 3 s in the limiter the accept is looked at again',
  async (act) => {
    const { start, clock, pass, counts, service } = await decided();
    start();
    await clock.advance(SECOND);
    Object.assign(service, ACTS[act]);
    await clock.advance(2 * SECOND);
    await pass();
    expect(counts).toEqual({ lookups: 1, sent: 0 });
    expect(service).toEqual(ACTS[act]);
  },
);

it('an accept is looked at while its order is still to be read', async () => {
  const { start, pass, want, counts, service } = await decided();
  await want();
  Object.assign(service, ACTS.rejects);
  start();
  expect(await pass()).toMatchObject({ state: 'refused' });
  expect(counts).toEqual({ lookups: 1, sent: 0 });
});

it('an accept is looked at while a wish is open that no read has fulfilled', async () => {
  const { start, pass, hear, read, begin, counts, service } = await decided();
  const before = begin();
  await hear();
  await read(before);
  Object.assign(service, ACTS.repacks);
  start();
  expect(await pass()).toMatchObject({ state: 'refused' });
  expect(counts).toEqual({ lookups: 1, sent: 0 });
});

it('an accept goes by the read that has followed an event', async () => {
  const { start, pass, hear, follow, counts } = await decided();
  await hear();
  await follow();
  start();
  expect(await pass()).toMatchObject({ state: 'confirmed' });
  expect(counts).toEqual({ lookups: 1, sent: 1 });
});

it('an accept that was tried before is looked at', async () => {
  const { start, pass, store, counts } = await decided();
  await store.db.updateTable('outbox').set({ attempts: 1 }).execute();
  start();
  await pass();
  expect(counts).toEqual({ lookups: 2, sent: 1 });
});

it('an accept of a person is looked at', async () => {
  const { start, pass, house, store, counts } = await decided();
  await house.endPush('refused', { answered: false });
  await acceptByHand(house, 7);
  start();
  await pass();
  expect(counts).toEqual({ lookups: 2, sent: 1 });
  expect(await store.db.selectFrom('outbox').select('outbox_id').execute()).toHaveLength(2);
});
