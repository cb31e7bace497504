/** Orders and pending refunds at services that keep them in their own way. */

import { describe, expect, it } from 'vitest';
import { type House, type HouseParts, startHouse } from './house.ts';

const WHO = { actor: 'anna', reason: 'asked support' };
const LOST = {
  ...{ kind: 'reset', moment: 'after', count: 1, path: '*/orders', method: 'POST' },
} as const;

const CALM = Object.fromEntries(
  ['connect', 'firstByte', 'idle', 'total'].map((name) => [`service.timeouts.${name}`, '5m']),
);

const NAMED = { 'service.dialect.v1.preOrderNames': 'SeasonName' };

function houseAt(knobs: HouseParts['knobs'], settings: HouseParts['settings'] = NAMED) {
  return startHouse({ knobs: knobs ?? {}, settings: { ...CALM, ...settings } });
}

async function send(house: House, reference: string, document: object) {
  return house.until(await house.put('order', reference, document), 'confirmed');
}

function lines({ barcodes }: House) {
  const [barcode = ''] = barcodes;
  return [1, 2].map((quantity) => ({ barcode, quantity, price: '12.50' }));
}

async function differences({ store }: House) {
  const rows = await store.db
    .selectFrom('incident')
    .select(['key', 'detail'])
    .where('kind', '=', 'push_differs')
    .where('resolved_at', 'is', null)
    .execute();
  return rows.map(({ key, detail }) => ({ outboxId: Number(key), ...JSON.parse(detail) }));
}

it('tells nobody that references come back otherwise, each in the same way', async () => {
  const house = await houseAt({ dialect: { references: 'prefix' } });
  for (const reference of ['A-1', 'A-2', 'A-3']) {
    await send(house, reference, { lines: lines(house) });
  }
  expect(await differences(house)).toEqual([]);
  const known = await house.store.db.selectFrom('reference_spelling').select('ended_at').execute();
  expect(known).toEqual([{ ended_at: null }]);
});

it.each(['joined', 'split', 'sorted'] as const)(
  'finds an order again whose lines were %s',
  async (orderLines) => {
    const house = await houseAt({ dialect: { orderLines }, faults: [LOST] });
    const state = await send(house, 'A-1', { lines: lines(house) });
    expect(state.attempts).toBe(1);
    expect(house.ordersWith('A-1')).toBe(1);
    expect(await differences(house)).toEqual([]);
  },
);

function ahead(house: House) {
  const [season] = house.reference.world.catalog.seasons;
  const deliveryName = season?.deliveries[0]?.name ?? '';
  const [line] = lines(house);
  return { seasonName: season?.name ?? '', lines: [{ ...line, deliveryName }] };
}

describe('the first pre-order of an account', () => {
  const seasonOf = ({ reference }: House, orderId: unknown) =>
    reference.world.book.orders.all.find((one) => one.orderId === orderId)?.season;
  const unproved = ({ store: { db } }: House) =>
    db
      .selectFrom('incident')
      .select(['key', 'resolved_at'])
      .where('kind', '=', 'preorders_unproved')
      .execute();

  it.each(['heed', 'small'])(
    'leaves under names by which a wrong season is refused (%s)',
    async (preOrderNames) => {
      const house = await houseAt({ dialect: { preOrderNames } }, {});
      const made = house.reference.world.book.orders.all.length;
      const sent = await Promise.all(['A-1', 'A-2'].map((name) => send(house, name, ahead(house))));
      const season = ahead(house).seasonName;
      expect(sent.map(({ orderId }) => seasonOf(house, orderId))).toEqual([season, season]);
      // The checks before have made no order, and nobody is told.
      expect(house.reference.world.book.orders.all.length).toBe(made + 2);
      expect(await unproved(house)).toEqual([]);
      await house.kill();
      await house.start();
      // What is proved holds after a restart: faults of a check would show.
      house.reference.knobs.patch({ dialect: { preOrderNames: 'ignore' } });
      await send(house, 'A-3', ahead(house));
    },
  );

  it.each([{ preOrderNames: 'ignore' }, { preOrderNames: 'heed', errorBody: 'plain' }])(
    'waits with all others where nothing proves its names, until a person sets them (%j)',
    async (dialect) => {
      const house = await houseAt({ dialect }, {});
      const made = house.reference.world.book.orders.all.length;
      const ids = [await house.put('order', 'A-1', ahead(house))];
      ids.push(await house.put('order', 'A-2', ahead(house)));
      const plain = await house.put('order', 'A-3', { lines: lines(house) });
      await house.until(plain, 'confirmed');
      for (const id of ids) {
        const { lastError } = await house.until(id, 'queued');
        if (lastError !== null) expect(lastError).toContain('nothing proves how the account reads');
      }
      expect(house.reference.world.book.orders.all.length).toBe(made + 1);
      expect(await unproved(house)).toMatchObject([{ key: 'preOrderNames', resolved_at: null }]);
    },
  );
});

describe('a pre-order', () => {
  it('that was taken as one is no difference', async () => {
    const house = await houseAt({ faults: [LOST] });
    await send(house, 'A-1', ahead(house));
    expect(await differences(house)).toEqual([]);
  });

  it.each([[[]], [[LOST]]])(
    'whose names were ignored is told, and holds its deliveries (%#)',
    async (faults) => {
      const house = await houseAt({});
      await send(house, 'A-1', ahead(house));
      house.reference.knobs.patch({ dialect: { preOrderNames: 'ignore' }, faults });
      const { outboxId, orderId } = await send(house, 'A-2', ahead(house));
      const season = ahead(house).seasonName;
      expect(await differences(house)).toEqual([
        expect.objectContaining({
          ...{ outboxId, orderId, holds: true },
          differences: [`season: sent ${season}, shown none: it was taken as a plain order`],
        }),
      ]);
    },
  );

  it('that a person takes for ours is held, too, if nothing shows that it is one', async () => {
    const house = await startHouse({
      knobs: { dialect: { references: 'empty', preOrderNames: 'ignore' }, faults: [LOST] },
      settings: { ...CALM, ...NAMED, 'outbox.quietTime': '1m' },
    });
    const id = await house.put('order', 'A-1', ahead(house));
    await house.settled();
    const orderId = house.reference.world.book.orders.all.at(-1)?.orderId ?? 0;
    await house.outbox.review.resolve(id, { as: 'confirmed', id: String(orderId) }, WHO);
    expect(await differences(house)).toMatchObject([{ outboxId: id, orderId, holds: true }]);
    const { nextAction } = await house.until(id, 'confirmed');
    expect(nextAction).toContain(`selvedge outbox resolve ${id} --as noted`);
    await house.outbox.review.resolve(id, { as: 'noted' }, WHO);
    expect((await house.until(id, 'confirmed')).nextAction).toBe('nothing: it is done');
  });

  it('that is never shown as one is held, until people have noted two', async () => {
    const house = await houseAt({ dialect: { preOrderNames: 'ignore' } });
    for (const reference of ['A-1', 'A-2']) {
      const { outboxId } = await send(house, reference, ahead(house));
      const [told, other] = await differences(house);
      expect([told?.outboxId, told?.holds, other]).toEqual([outboxId, true, undefined]);
      expect(told?.hint).toContain(`selvedge outbox resolve ${outboxId} --as noted`);
      await house.outbox.review.resolve(outboxId, { as: 'noted' }, WHO);
    }
    await send(house, 'A-3', ahead(house));
    expect(await differences(house)).toEqual([]);
    // The service heeds the name after all: from then on an order without it was taken as plain.
    house.reference.knobs.patch({ dialect: { preOrderNames: 'heed' } });
    await send(house, 'A-4', ahead(house));
    house.reference.knobs.patch({ dialect: { preOrderNames: 'ignore' } });
    await send(house, 'A-5', ahead(house));
    expect(await differences(house)).toHaveLength(1);
  });
});

describe('a pending refund that is shown with the reference of its order', () => {
  const REFUND = { ...LOST, path: '*/pending-refunds' } as const;

  async function refund(house: House, reference: string) {
    const [barcode = ''] = house.barcodes;
    const line = { barcode, quantity: 1, refundType: 'claim/credit' };
    return house.put('pending_refund', reference, { orderReference: 'A-1', lines: [line] });
  }

  it('is as it was sent', async () => {
    const house = await houseAt({ dialect: { pendingRefundReference: 'order' } });
    await send(house, 'A-1', { lines: lines(house) });
    for (const reference of ['R-1', 'R-2']) {
      await house.until(await refund(house, reference), 'confirmed');
    }
    expect(await differences(house)).toEqual([]);
  });

  it('is there once though its answer is lost', async () => {
    const house = await houseAt({ dialect: { pendingRefundReference: 'order' } });
    await send(house, 'A-1', { lines: lines(house) });
    await house.until(await refund(house, 'A-1'), 'confirmed');
    house.reference.knobs.patch({ faults: [REFUND] });
    const state = await house.until(await refund(house, 'R-2'), 'confirmed', 'in_doubt');
    expect(state.state).toBe('in_doubt');
    expect(await house.until(state.outboxId, 'confirmed')).toMatchObject({ attempts: 1 });
    expect(house.reference.world.book.pendingRefunds.all).toHaveLength(2);
    expect(await differences(house)).toEqual([]);
  });
});

it('is confirmed by a person who was shown it, whatever its reference', async () => {
  const house = await startHouse({
    knobs: { dialect: { references: 'empty' }, faults: [LOST] },
    settings: { ...CALM, ...NAMED, 'outbox.quietTime': '1m' },
  });
  const id = await house.put('order', 'A-1', { lines: lines(house) });
  await house.settled();
  const [own] = house.reference.world.book.orders.all.slice(-1);
  const orderId = own?.orderId ?? 0;
  const { blockedReason } = await house.until(id, 'in_doubt');
  expect(blockedReason).toBe(`order ${orderId} may be this document: it has no reference`);
  await house.outbox.review.resolve(id, { as: 'confirmed', id: String(orderId) }, WHO);
  expect(await house.until(id, 'confirmed')).toMatchObject({ orderId, attempts: 1 });
});

it('is recognised by itself once people have recognised two others', async () => {
  const house = await startHouse({
    knobs: { dialect: { references: 'prefix' }, faults: [{ ...LOST, count: null }] },
    settings: { ...CALM, ...NAMED, 'outbox.quietTime': '1m' },
  });
  const ids: number[] = [];
  for (const reference of ['A-01', 'A-02', 'A-03', 'A-04']) {
    ids.push(await house.put('order', reference, { lines: lines(house) }));
  }
  await house.settled();
  for (const id of ids)
    expect((await house.until(id, 'in_doubt')).blockedReason).toContain('may be');
  const made = new Map(
    house.reference.world.book.orders.all.map((one) => [one.reference, one.orderId]),
  );
  const resolve = (index: number) => {
    const id = String(made.get(`WEB-A-0${index + 1}`));
    return house.outbox.review.resolve(ids[index] ?? 0, { as: 'confirmed', id }, WHO);
  };
  await resolve(0);
  expect((await house.until(ids[3] ?? 0, 'in_doubt')).blockedReason).not.toBeNull();
  await resolve(1);
  for (const index of [2, 3]) {
    const orderId = made.get(`WEB-A-0${index + 1}`);
    expect(await house.until(ids[index] ?? 0, 'confirmed')).toMatchObject({ orderId, attempts: 1 });
  }
});

it('is found again with thousands of lines', async () => {
  const house = await houseAt({ dialect: { orderLines: 'joined' }, faults: [LOST] });
  const { barcodes } = house;
  const many = Array.from({ length: 5_000 }, (_, index) => ({
    ...{ barcode: barcodes[index % barcodes.length] ?? '', quantity: 1 + (index % 3) },
    price: (10 + (index % 500) / 100).toFixed(2),
  }));
  await send(house, 'A-1', { lines: many });
  expect(house.ordersWith('A-1')).toBe(1);
  expect(await differences(house)).toEqual([]);
});
