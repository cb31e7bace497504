import { describe, expect, it } from 'vitest';
import { drawOrder } from '../../../src/reference/life/arrivals.ts';
import type { Reference } from '../../../src/reference/reference.ts';
import { startTestReference, until, without } from '../../support/house.ts';
import { startCliHouse } from '../house.ts';

/** Nothing is accepted but what the test accepts. */
const HOLD_ALL = `
rules:
  - id: hold-all
    title: Everything
    owner: sales
    action: hold
    mode: live
    when: [ delivery.quantity > 0 ]
`;

function placeOrder({ world }: Reference, seed: number): void {
  const orderId = world.book.orders.nextId();
  world.trade.place(drawOrder(world, { seed, orderId, preOrderShare: 0 }));
}

async function startDesk(count: number) {
  const reference = await startTestReference({
    world: { styles: 4, orders: 0 },
    auth: { loginSpacing: 0 },
    rates: { perSecond: 0 },
    life: { ordersPerMinute: 0, packAfter: '10ms', shipAfter: '10ms', cancelShare: 0 },
  });
  const house = await startCliHouse(reference, {
    rules: HOLD_ALL,
    overrides: [{ path: 'outbox.delayMin', value: '0s' }, without('ordersFull')],
  });
  for (let seed = 1; seed <= count; seed += 1) placeOrder(reference, seed);
  const { db } = house.daemon.store;
  await until('held deliveries', async () => {
    const holds = await db.selectFrom('decision').select('decision_id').execute();
    return holds.length >= count || undefined;
  });
  const { stdout } = await house.call('deliveries', 'list', '--held', '--json');
  const held: { orderDeliveryId: number; deliveryNo: string }[] = JSON.parse(stdout);
  const pushed = (state: 'confirmed' | 'refused') =>
    until(`a push to be ${state}`, async () => {
      const rows = db.selectFrom('outbox').select('state').where('state', '=', state);
      return rows.executeTakeFirst();
    });
  const { deliveries } = reference.world.book;
  const statusOf = (id: number) => deliveries.get(id)?.status;
  return { ...house, reference, db, deliveries, held, statusOf, pushed };
}

describe('acting on deliveries from the command line', () => {
  it('accepts and rejects, and shows what was refused', async () => {
    const { call, typing, db, deliveries, held, statusOf, pushed } = await startDesk(2);
    const [first, second] = held;
    if (!first || !second) throw new Error('too few deliveries');
    const [a, b] = [String(first.orderDeliveryId), String(second.orderDeliveryId)];

    for (const action of ['accept', 'hold']) {
      const mute = await call('deliveries', action, a, '--reason', ' ');
      expect([mute.code, mute.stderr]).toEqual([2, expect.stringContaining('It must say why')]);
    }
    expect(await call('deliveries', 'accept', '', '--reason', 'x')).toMatchObject({ code: 2 });
    const before = await db.selectFrom('decision').select('decision_id').execute();
    const hold = await call('deliveries', 'show', a);
    expect(hold.stdout).toMatch(/^held by hold-all since .*, then escalate, ask sales$/m);
    const calm = await call(
      'deliveries',
      'hold',
      a,
      '--if-reject-waits',
      '--reason',
      'wrong number',
    );
    expect(calm.code).toBe(1);
    expect(calm.stdout).toContain('NOT held: no reject waits for it (selvedge rules queue');
    expect(await db.selectFrom('decision').select('decision_id').execute()).toEqual(before);

    const accepted = await call('deliveries', 'accept', a, 'DN-none', '--reason', 'seen');
    expect(accepted.code).toBe(1);
    expect(accepted.stdout).toContain(`${first.deliveryNo} (${a}): accepted, being sent, decision`);
    expect(accepted.stdout).toContain('DN-none: NOT accepted: there is no delivery DN-none');
    await until('the accept', () => statusOf(first.orderDeliveryId) === 'accepted' || undefined);

    const unsure = await call('deliveries', 'reject', b, '--reason', 'twice');
    expect(unsure).toMatchObject({ code: 1, stdout: '' });
    expect(unsure.stderr).toContain('--yes-reject');
    const wrong = ['--reason', 'twice', '--yes-reject', 'DN-0'];
    expect(await call('deliveries', 'reject', b, ...wrong)).toMatchObject({ code: 1 });
    const reject = ['deliveries', 'reject', b, '--reason', 'twice'];
    const typo = await typing('DN-0', ...reject);
    expect(typo.stderr).toContain('is final. Type its delivery number to go on: ');
    expect([typo.code, typo.stdout]).toEqual([1, expect.stringContaining('NOT rejected')]);
    expect(await typing(second.deliveryNo, ...reject)).toMatchObject({ code: 0 });
    await until('the reject', () => statusOf(second.orderDeliveryId) === 'rejected' || undefined);

    // Once it has shipped, the service says 409, and that is what the list shows.
    await until('shipping', () => deliveries.get(first.orderDeliveryId)?.shippedAt);
    await pushed('confirmed');
    await until('the accept read back', async () => {
      const { stdout } = await call('deliveries', 'list', '--accepted', '--json');
      const [row] = JSON.parse(stdout);
      return row?.push === 'confirmed' || undefined;
    });
    await until('the tracking number', async () => {
      const rows = db.selectFrom('delivery').select('order_delivery_id');
      return rows.where('tracking_numbers', '<>', '[]').executeTakeFirst();
    });
    expect(
      await call('deliveries', 'hold', a, '--if-reject-waits', '--reason', 'wrong number'),
    ).toMatchObject({ code: 1 });
    const back = await call('deliveries', 'hold', a, '--reason', 'wait');
    expect(back.code).toBe(0);
    expect(back.stdout).toContain('if it has shipped, the service refuses');
    await pushed('refused');
    const refused = await until('the refusal', async () => {
      const { stdout } = await call('deliveries', 'list', '--refused');
      return stdout.includes('409') ? stdout : undefined;
    });
    expect(refused).toMatch(/refused.*person:.*the service refused it \(409\).*\(wait\)/);
    const card = JSON.parse((await call('deliveries', 'show', a, '--json')).stdout);
    expect(card).toMatchObject({ deliveryNo: first.deliveryNo, status: 'accepted' });
    expect(card.review).toMatchObject({ action: 'hold', reason: 'wait' });
    const lines = db.selectFrom('delivery_line').select('price').orderBy('line_no');
    const priced = await lines
      .where('order_delivery_id', '=', Number(card.orderDeliveryId))
      .execute();
    expect(card.lines.map(({ price }: { price: number }) => price * 10_000)).toEqual(
      priced.map(({ price }) => price),
    );
    expect(card.decisions[0].push.error).toContain('409');
    await db.updateTable('delivery').set({ delivery_no: '7\npaid' }).execute();
    const shown = await call('deliveries', 'show', a);
    expect(shown.stdout).toContain('7\\npaid (');
    expect(shown.stdout).toMatch(/said hold at[\s\S]*wait \[the service refused it \(409\)/);
  });

  it('sends nothing while pushes are paused, and goes on after it', async () => {
    const { call, db, held, reference, statusOf } = await startDesk(1);
    const id = held[0]?.orderDeliveryId ?? 0;
    expect(await call('pause', 'pushes', '--reason', 'prices')).toMatchObject({ code: 0 });
    expect(await call('deliveries', 'accept', String(id), '--reason', 'seen')).toMatchObject({
      code: 0,
    });
    // By the time that others are decided, it would have left.
    for (const seed of [2, 3, 4]) {
      placeOrder(reference, seed);
      await until('the next decision', async () => {
        const decided = await db.selectFrom('decision').select('decision_id').execute();
        return decided.length > seed || undefined;
      });
    }
    expect(statusOf(id)).toBe('pending');
    const rows = await db.selectFrom('outbox').select('state').execute();
    expect(rows).toEqual([{ state: 'queued' }]);
    expect(await call('resume', 'pushes', '--reason', 'they are right')).toMatchObject({
      code: 0,
    });
    await until('the accept', () => statusOf(id) === 'accepted' || undefined);
  });
});
