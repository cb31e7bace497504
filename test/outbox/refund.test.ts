import { sql } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Secret } from '../../src/lib/secret.ts';
import { writeDeliveries } from '../../src/mirror/sales-order.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { until } from '../support/house.ts';
import { type House, startHouse } from './house.ts';

const POST = { path: '*/pending-refunds', method: 'POST' } as const;

async function ordered(house: House): Promise<string> {
  const [barcode = ''] = house.barcodes;
  const lines = [{ barcode, quantity: 3, price: '12.50' }];
  await house.until(await house.put('order', 'A-1', { lines }), 'confirmed');
  return barcode;
}

function askedWith(house: House, reference: string): number {
  const { pendingRefunds } = house.reference.world.book;
  return pendingRefunds.all.filter((one) => one.reference === reference).length;
}

describe('a pending refund', () => {
  it('of goods that never left is refused before it is sent, of others not', async () => {
    const house = await startHouse({ settings: { 'outbox.refundsUpTo': 'delivered' } });
    const barcode = await ordered(house);
    const lines = [{ barcode, quantity: 2 }];
    const early = await house.put('pending_refund', 'R-1', { orderReference: 'A-1', lines });
    const state = await house.until(early, 'refused');
    expect(state.problems[0]?.message).toContain('none of it has left');
    expect(askedWith(house, 'R-1')).toBe(0);
    const [order] = await house.store.db.selectFrom('sales_order').select('order_id').execute();
    await house.store.transaction((tx) =>
      writeDeliveries(
        tx,
        [
          {
            ...{ orderDeliveryId: 1, orderId: order?.order_id ?? null, status: 'accepted' },
            fulfilledLineItems: [{ barcode, fulfilledQuantity: 2, price: 12.5 }],
          },
        ],
        { source: 'run:1', readSeq: 999, at: house.clock.now() },
      ),
    );
    const late = await house.put('pending_refund', 'R-2', { orderReference: 'A-1', lines });
    await house.until(late, 'confirmed');
    expect(askedWith(house, 'R-2')).toBe(1);
  });

  it('waits for its order, reaches the service, and is in the mirror at once', async () => {
    const house = await startHouse();
    const [barcode = ''] = house.barcodes;
    const order = await house.put('order', 'A-1', {
      lines: [{ barcode, quantity: 3, price: '12.50' }],
    });
    const lines = [{ barcode, quantity: 2, refundType: 'claim/credit', restock: true }];
    const id = await house.put('pending_refund', 'R-1', { orderReference: 'a-1', lines });
    const { orderId } = await house.until(order, 'confirmed');
    const state = await house.until(id, 'confirmed');
    expect(state).toMatchObject({ orderId, orderRefundId: null });
    expect(state.nextAction).toMatch(
      /^nothing: the service has it as pending refund \d+; a refund comes of it later$/,
    );
    expect(askedWith(house, 'R-1')).toBe(1);
    const mirrored = await house.store.db.selectFrom('pending_refund').selectAll().execute();
    expect(mirrored).toMatchObject([{ pending_refund_id: state.pendingRefundId }]);
  });

  it.each(['before', 'after'])('cut off %s its effect is there once', async (moment) => {
    const faults = [{ kind: 'reset', moment, count: 1, ...POST }];
    const house = await startHouse({ knobs: { faults } });
    const barcode = await ordered(house);
    const lines = [{ barcode, quantity: 1 }];
    const id = await house.put('pending_refund', 'R-1', { orderReference: 'A-1', lines });
    const state = await house.until(id, 'confirmed');
    expect(askedWith(house, 'R-1')).toBe(1);
    expect(state.attempts).toBe(moment === 'before' ? 2 : 1);
  });

  it('is for a person when the list that it may stand in can never be read', async () => {
    const faults = [{ kind: 'reset', moment: 'after', count: 1, ...POST }];
    const house = await startHouse({ knobs: { faults }, settings: { 'outbox.reviewAfter': '1m' } });
    const barcode = await ordered(house);
    const { pendingRefunds } = house.reference.world.book;
    const ofOrder = pendingRefunds.ofOrder.bind(pendingRefunds);
    vi.spyOn(pendingRefunds, 'ofOrder').mockImplementation((id) =>
      ofOrder(id).map((one) => Object.assign({ ...one }, { pendingRefundId: ['R-1'] })),
    );
    const lines = [{ barcode, quantity: 1 }];
    const id = await house.put('pending_refund', 'R-1', { orderReference: 'A-1', lines });
    await house.settled();
    expect((await house.until(id, 'in_doubt')).blockedReason).toMatch(/neither found nor proved/);
    expect(askedWith(house, 'R-1')).toBe(1);
  });

  it('stays with its order, whatever has its reference by then', async () => {
    const faults = [{ kind: 'reset', moment: 'after', count: 1, ...POST }];
    const house = await startHouse({ knobs: { faults } });
    const barcode = await ordered(house);
    const lines = [{ barcode, quantity: 3, price: '12.50' }];
    await house.until(await house.put('order', 'A-2', { lines }), 'confirmed');
    const { db } = house.store;
    const [first, second] = await db.selectFrom('sales_order').select('order_id').execute();
    const id = sql.lit(first?.order_id);
    // Orders of another program, which gives a reference twice.
    await db.updateTable('sales_order').set({ reference: 'B' }).execute();
    await sql`update outbox set reference_key = reference_key || '-' where kind = 'order'`.execute(
      db,
    );
    await sql`create trigger gone after insert on outbox_attempt begin
      update sales_order set deleted_at = 1 where order_id = ${id}; end`.execute(db);
    const document = { orderReference: 'B', lines: [{ barcode, quantity: 1 }] };
    const state = await house.until(
      await house.put('pending_refund', 'R-1', document),
      'confirmed',
    );
    expect(second).toBeDefined();
    expect(askedWith(house, 'R-1')).toBe(1);
    expect(state).toMatchObject({ orderId: first?.order_id, attempts: 1 });
  });

  it('beyond what was ordered is refused before it is sent', async () => {
    const house = await startHouse();
    const barcode = await ordered(house);
    const ask = (reference: string, lines: unknown) =>
      house.put('pending_refund', reference, { orderReference: 'A-1', lines });
    await house.until(await ask('R-1', [{ barcode, quantity: 2 }]), 'confirmed');
    const second = await ask('R-2', [{ barcode, quantity: 2 }]);
    expect((await house.until(second, 'refused')).problems).toEqual([
      {
        path: 'lines[0].quantity',
        message: 'only 1 are left to refund of what was ordered',
        severity: 'error',
      },
    ]);
    const foreign = await ask('R-3', [{ barcode: 'other', quantity: 1 }]);
    expect((await house.until(foreign, 'refused')).problems[0]?.path).toBe('lines[0].barcode');
    const lost = await house.put('pending_refund', 'R-4', {
      orderReference: 'nobody',
      lines: [{ barcode, quantity: 1 }],
    });
    expect((await house.until(lost, 'refused')).problems[0]).toMatchObject({
      path: 'orderReference',
    });
    expect(askedWith(house, 'R-2') + askedWith(house, 'R-3') + askedWith(house, 'R-4')).toBe(0);
  });
});

describe('a pending refund whose answer is lost', () => {
  async function asked(moment: 'before' | 'after', shown: (one: object) => object | undefined) {
    const house = await startHouse({ settings: { 'outbox.quietTime': '2m' } });
    const barcode = await ordered(house);
    const { book } = house.reference.world;
    const ofOrder = book.pendingRefunds.ofOrder.bind(book.pendingRefunds);
    const list = vi.spyOn<{ ofOrder: (id: number) => unknown }, 'ofOrder'>(
      book.pendingRefunds,
      'ofOrder',
    );
    onTestFinished(() => list.mockRestore());
    list.mockImplementation((id) => ofOrder(id).flatMap((one) => shown(one) ?? []));
    const ask = (reference: string) => {
      const lines = [{ barcode, quantity: 1 }];
      return house.put('pending_refund', reference, { orderReference: 'A-1', lines });
    };
    const first = await house.until(await ask('R-1'), 'confirmed');
    house.reference.knobs.patch({ faults: [{ kind: 'reset', moment, count: 1, ...POST }] });
    return { house, first, second: await ask('R-2') };
  }

  /** R-2 was made and confirmed while it was in doubt, and stands in no list. */
  async function confirmedUnseen() {
    const known = new Set<unknown>();
    const { house, second } = await asked('after', (one) => {
      if (!('reference' in one) || one.reference === 'R-1') return one;
      known.add(one);
      return undefined;
    });
    const { book, trade } = house.reference.world;
    await until('the first look', () => known.size > 0 || undefined);
    const made = book.pendingRefunds.all.find(({ reference }) => reference === 'R-2');
    if (made) trade.confirmRefund(made);
    await house.settled();
    const id = made?.pendingRefundId ?? 0;
    return { house, second, book, id };
  }

  it.each(['before', 'after'] as const)(
    'and which carries no reference is told from an equal one, cut off %s its effect',
    async (moment) => {
      const { house, first, second } = await asked(moment, (one) => ({ ...one, reference: '' }));
      const state = await house.until(second, 'confirmed');
      expect(state.pendingRefundId).toBeGreaterThan(first.pendingRefundId ?? 0);
      expect(state.attempts).toBe(moment === 'before' ? 2 : 1);
      expect([askedWith(house, 'R-1'), askedWith(house, 'R-2')]).toEqual([1, 1]);
    },
  );

  it('is not asked for again where it alone is shown without its reference', async () => {
    const { house, second } = await asked('after', (one) =>
      'reference' in one && one.reference === 'R-2' ? { ...one, reference: '' } : one,
    );
    await house.settled();
    const { blockedReason } = await house.until(second, 'in_doubt', 'confirmed');
    expect(askedWith(house, 'R-2')).toBe(1);
    expect(blockedReason).toMatch(/^it may be one whose reference does not tell: \d+$/);
  });

  it.each([
    ['was confirmed', 'confirmRefund'],
    ['was canceled', 'dropRefund'],
  ] as const)('is not asked for again where one like it %s and left the list', async (_, act) => {
    let leave: (() => void) | undefined;
    let isFirst = true;
    const { house, first, second } = await asked('after', (one) => {
      if ('status' in one && one.status !== 'pending') return undefined;
      if ('reference' in one && one.reference === 'R-2' && isFirst) {
        isFirst = leave === undefined;
        leave?.();
        return undefined;
      }
      return { ...one, reference: '' };
    });
    const { book, trade } = house.reference.world;
    const counted = book.pendingRefunds.get(first.pendingRefundId ?? 0);
    leave = () => counted && trade[act](counted);
    await house.settled();
    const { blockedReason } = await house.until(second, 'in_doubt', 'confirmed');
    expect(askedWith(house, 'R-2')).toBe(1);
    expect(blockedReason).toMatch(
      /^it may be there, where another one like it has left the list: \d+$/,
    );
  });

  it('is not asked for again where it was confirmed and is not listed any more', async () => {
    const { house, second, id } = await confirmedUnseen();
    const { blockedReason } = await house.until(second, 'in_doubt', 'confirmed');
    expect(blockedReason).toBe(
      `it may be confirmed already: like it, but not listed any more: ${id}`,
    );
    expect(askedWith(house, 'R-2')).toBe(1);
    const confirmed = { as: 'confirmed', id: String(id) } as const;
    await house.outbox.review.resolve(second, confirmed, { actor: 'ann', reason: 'seen' });
    await house.until(second, 'confirmed');
  });

  it('is asked for again where the one like it is what another document has become', async () => {
    const { house, first, second } = await asked('before', (one) =>
      'status' in one && one.status === 'confirmed' ? undefined : one,
    );
    const { book, trade } = house.reference.world;
    const made = book.pendingRefunds.get(first.pendingRefundId ?? 0);
    if (made) trade.confirmRefund(made);
    await house.settled();
    const state = await house.until(second, 'confirmed', 'in_doubt');
    expect(state).toMatchObject({ state: 'confirmed', blockedReason: null, attempts: 2 });
    expect([askedWith(house, 'R-1'), askedWith(house, 'R-2')]).toEqual([1, 1]);
  });

  it('can be said to be one that is not shown at all any more, but confirmed', async () => {
    const { house, second, book, id } = await confirmedUnseen();
    const get = book.pendingRefunds.get.bind(book.pendingRefunds);
    vi.spyOn(book.pendingRefunds, 'get').mockImplementation((one) =>
      one === id ? undefined : get(one),
    );
    const confirmed = { as: 'confirmed', id: String(id) } as const;
    await house.outbox.review.resolve(second, confirmed, { actor: 'ann', reason: 'seen' });
    expect(await house.until(second, 'confirmed')).toMatchObject({ pendingRefundId: id });
  });

  it('is confirmed by its refund where it is not shown any more', async () => {
    const house = await startHouse({ settings: { 'outbox.reviewAfter': '1m' } });
    const barcode = await ordered(house);
    const { book, trade } = house.reference.world;
    const get = vi.spyOn(book.pendingRefunds, 'get').mockReturnValue(undefined);
    onTestFinished(() => get.mockRestore());
    const lines = [{ barcode, quantity: 1 }];
    const id = await house.put('pending_refund', 'R-1', { orderReference: 'A-1', lines });
    await house.until(id, 'in_doubt');
    const [made] = book.pendingRefunds.all;
    const refund = made && trade.confirmRefund(made);
    await house.settled();
    const { orderRefundId } = refund ?? {};
    expect(await house.until(id, 'confirmed', 'in_doubt')).toMatchObject({
      ...{ state: 'confirmed', pendingRefundId: made?.pendingRefundId, orderRefundId },
    });
  });
});

describe('a pending refund that the service has under its reference', () => {
  async function there(quantities: readonly number[]) {
    const house = await startHouse();
    const barcode = await ordered(house);
    const { book, trade } = house.reference.world;
    const order = book.orders.all.find(({ reference }) => reference === 'A-1');
    if (!order) throw new Error('no order');
    const [line] = order.lines;
    for (const quantity of quantities) {
      const lines = [{ barcode, quantity, pieces: line?.pieces ?? 1 }];
      trade.askRefund(order, { reference: 'r-1', lines });
    }
    const lines = [{ barcode, quantity: 1 }];
    return {
      house,
      id: await house.put('pending_refund', 'R-1', { orderReference: 'A-1', lines }),
    };
  }

  it('is that one where it is alike', async () => {
    const { house, id } = await there([1]);
    expect(await house.until(id, 'confirmed')).toMatchObject({ attempts: 0 });
    expect(askedWith(house, 'R-1')).toBe(0);
  });

  it.each([
    ['has other lines', [2], 'has this reference, but other lines'],
    ['is there twice', [1, 1], '2 pending refunds have this reference'],
  ])('is for a person where it %s', async (_, quantities, reason) => {
    const { house, id } = await there(quantities);
    const { blockedReason } = await house.until(id, 'in_doubt', 'confirmed');
    expect(blockedReason).toContain(reason);
    expect(askedWith(house, 'R-1')).toBe(0);
  });
});

it('waits with a refund while those that were made cannot all be read', async () => {
  const house = await startHouse();
  const barcode = await ordered(house);
  const { book, trade } = house.reference.world;
  const order = book.orders.all.find(({ reference }) => reference === 'A-1');
  const made =
    order &&
    trade.confirmRefund(
      trade.askRefund(order, {
        reference: 'R-0',
        lines: [{ barcode, quantity: 3, pieces: 1 }],
      }),
    );
  expect(made).toBeDefined();
  const ofOrder = book.refunds.ofOrder.bind(book.refunds);
  vi.spyOn(book.refunds, 'ofOrder').mockImplementation((id) =>
    ofOrder(id).map((one) => Object.assign({ ...one }, { orderRefundId: ['R-0'] })),
  );
  const lines = [{ barcode, quantity: 1 }];
  const id = await house.put('pending_refund', 'R-1', { orderReference: 'A-1', lines });
  const said = await until('the reason', async () => {
    const { state, lastError } = await house.until(id, 'queued', 'sent', 'confirmed');
    return state === 'queued' ? (lastError ?? undefined) : state;
  });
  expect(said).toMatch(/^the refunds of order \d+ cannot all be read/);
  expect(askedWith(house, 'R-1')).toBe(0);
});

describe('a pending refund that the service confirms between two lists of the pre-flight', () => {
  /** R-1 asks for two of three; R-2 for more, while R-1 is confirmed behind the first list. */
  async function askedAgain(slow: 'refunds' | 'pending-refunds', quantity: number) {
    const late = { kind: 'latency', delay: '1s', path: `*/${slow}`, method: 'GET' };
    const house = await startHouse({ knobs: { faults: [late] } });
    const barcode = await ordered(house);
    const { book, trade } = house.reference.world;
    const ask = (reference: string, count: number) => {
      const lines = [{ barcode, quantity: count }];
      return house.put('pending_refund', reference, { orderReference: 'A-1', lines });
    };
    await house.until(await ask('R-1', 2), 'confirmed');
    const [first] = book.pendingRefunds.all;
    const table = slow === 'refunds' ? book.pendingRefunds : book.refunds;
    const ofOrder: (id: number) => readonly object[] = table.ofOrder;
    const list = vi.spyOn<{ ofOrder: typeof ofOrder }, 'ofOrder'>(table, 'ofOrder');
    onTestFinished(() => list.mockRestore());
    list.mockImplementationOnce((id) => {
      const shown = ofOrder(id).map((one) => ({ ...one }));
      if (first) trade.confirmRefund(first);
      return shown;
    });
    const state = await house.until(await ask('R-2', quantity), 'confirmed', 'refused');
    expect(first?.status).toBe('confirmed');
    return { state, asked: askedWith(house, 'R-2') };
  }

  it('is not missed: nothing is refunded twice', async () => {
    const { state, asked } = await askedAgain('pending-refunds', 2);
    expect(state.problems).toMatchObject([
      { message: 'only 1 are left to refund of what was ordered' },
    ]);
    expect(asked).toBe(0);
  });

  it('is not counted twice: what is left can be refunded', async () => {
    const { state, asked } = await askedAgain('refunds', 1);
    expect(state).toMatchObject({ state: 'confirmed', problems: [] });
    expect(asked).toBe(1);
  });
});

it('is refused at a price far from that of the order, unless reduced or confirmed', async () => {
  const house = await startHouse();
  const barcode = await ordered(house);
  let number = 0;
  const end = async (line: object, state: 'confirmed' | 'refused') => {
    const lines = [{ barcode, quantity: 1, ...line }];
    number += 1;
    const id = await house.put('pending_refund', `R-${number}`, { orderReference: 'A-1', lines });
    const { problems } = await house.until(id, state);
    return problems.map(({ path, message }) => `${path} ${message}`);
  };
  const far = /^lines\[0\]\.price 9999\.00.* in line 1 is more than 10 times .*Confirmed/;
  expect(await end({ price: '9999.00' }, 'refused')).toEqual([expect.stringMatching(far)]);
  const cents = { price: '0.10', refundType: 'return/credit' };
  expect(await end(cents, 'refused')).toEqual([expect.stringContaining('less than 1/10 of')]);
  expect(await end({ ...cents, priceConfirmed: true }, 'confirmed')).toEqual([]);
  expect(await end({ ...cents, refundType: 'claim/price_reduction' }, 'confirmed')).toEqual([]);
});

describe('the status of a refund', () => {
  it('is set from the status that it was decided on, and from no other one', async () => {
    const house = await startHouse();
    const barcode = await ordered(house);
    const { book, trade } = house.reference.world;
    const lines = [{ barcode, quantity: 1 }];
    const asked = await house.put('pending_refund', 'R-1', { orderReference: 'A-1', lines });
    const { orderId } = await house.until(asked, 'confirmed');
    const [pending] = book.pendingRefunds.all;
    const refund = pending && trade.confirmRefund(pending);
    const body = { orderId, orderRefundId: refund?.orderRefundId };
    const accept = await house.put('refund_status', 'S-1', { ...body, status: 'accepted' });
    expect(await house.until(accept, 'confirmed')).toMatchObject(body);
    expect(refund?.status).toBe('accepted');
    expect(await house.until(asked, 'confirmed')).toMatchObject({
      orderRefundId: refund?.orderRefundId,
      nextAction: `nothing: the service confirmed it as refund ${refund?.orderRefundId}`,
    });
    if (refund) trade.moveRefund(refund, 'pending');
    const stale = { ...body, status: 'rejected', expectedStatus: 'accepted' };
    const refused = await house.until(await house.put('refund_status', 'S-2', stale), 'refused');
    expect(refused.lastError).toBe('decided elsewhere: it was accepted and is now pending');
  });
});

describe('a style', () => {
  const body = { styleNo: 'ST-1', styleName: 'Parka', brandId: '1' };
  const settings = ({ v2Url, credentials }: Reference) => {
    const [key] = Object.values(credentials);
    return {
      'outbox.styles': true,
      'service.v2.enabled': true,
      'service.v2.baseUrl': v2Url,
      'service.v2.login.clientId': key?.clientId,
      'service.v2.login.clientSecret': new Secret('v2', key?.clientSecret ?? ''),
    };
  };

  it('that was taken before waits while styles are off', async () => {
    const house = await startHouse();
    const style = await house.put('style', 'ST-1', body);
    while ((await house.until(style, 'queued')).lastError === null) await house.clock.sleep(1_000);
    expect((await house.until(style, 'queued')).lastError).toContain('set outbox.styles');
  });

  it('is made once, though the answer is lost, and then changed', async () => {
    const faults = [
      { kind: 'reset', moment: 'after', count: 1, path: '*/pdm/styles', method: 'POST' },
    ];
    const house = await startHouse({ knobs: { faults }, settingsOf: settings });
    const made = await house.until(await house.put('style', 'N-1', body), 'confirmed');
    const style = house.reference.pdm.style(made.styleId ?? '');
    expect(style).toMatchObject({ styleNo: 'ST-1', styleName: 'Parka' });
    const mirrored = async () =>
      house.store.db.selectFrom('style').select(['style_id', 'style_name', 'active']).execute();
    expect(await mirrored()).toMatchObject([{ style_id: made.styleId, style_name: 'Parka' }]);
    const change = { styleId: made.styleId, styleName: 'Parka long', active: false };
    await house.until(await house.put('style', 'N-2', change), 'confirmed');
    const changed = house.reference.pdm.style(made.styleId ?? '');
    expect(changed).toMatchObject({ styleName: 'Parka long', active: false });
    expect(await mirrored()).toMatchObject([{ style_name: 'Parka long', active: 0 }]);
  });

  /** The answer to the first style is lost, and each look up to the `count`th shows it oddly. */
  async function shownOddly(count: number, more: object = {}) {
    const faults = [
      { kind: 'reset', moment: 'after', count: 1, path: '*/pdm/styles', method: 'POST' },
    ];
    const quick = { 'outbox.quietTime': '10s', 'outbox.lookEvery': '2s', ...more };
    const house = await startHouse({ knobs: { faults }, settings: quick, settingsOf: settings });
    const { pdm } = house.reference;
    const posts = vi.spyOn(pdm, 'addStyle');
    const get = pdm.get.bind(pdm);
    let shown = 0;
    vi.spyOn(pdm, 'get').mockImplementation((type, id) => {
      const found = get(type, id);
      if (type !== 'style' || !found || shown === count) return found;
      shown += 1;
      return { ...found, attributes: { ...found.attributes, styleName: ['Parka'] } };
    });
    return { house, madeAndShown: () => [posts.mock.calls.length, shown] };
  }

  it('is not made again while the one that was made cannot be read', async () => {
    const { house, madeAndShown } = await shownOddly(9);
    const id = await house.put('style', 'N-1', body);
    expect(await house.until(id, 'confirmed', 'refused')).toMatchObject({ state: 'confirmed' });
    expect(madeAndShown()).toEqual([1, 9]);
  });

  it('is for a person when the one that was made can never be read', async () => {
    const { house, madeAndShown } = await shownOddly(Infinity, { 'outbox.reviewAfter': '1m' });
    const id = await house.put('style', 'N-1', body);
    await house.settled();
    const doubt = await house.until(id, 'in_doubt');
    expect(doubt.nextAction).toMatch(/^decide: /);
    expect(doubt.blockedReason).toMatch(/neither found nor proved absent/);
    expect(madeAndShown()[0]).toBe(1);
  });

  it('waits, and says for which one, while another may have its number', async () => {
    const { house, madeAndShown } = await shownOddly(Infinity);
    const { pdm } = house.reference;
    const [other = ''] = pdm.list('style', []);
    const styleNo = String(pdm.get('style', other)?.attributes.styleNo);
    const id = await house.put('style', 'N-1', { ...body, styleNo });
    const said = await until('the reason', async () => {
      const { lastError } = await house.until(id, 'queued');
      return lastError ?? undefined;
    });
    const which = `${styleNo} cannot be read: ${other} (attributes.styleName)`;
    expect(said).toBe(`a style that may have the number ${which}`);
    expect(madeAndShown()[0]).toBe(0);
  });
});
