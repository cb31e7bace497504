/** `selvedge pause` and `resume`, beside a running daemon: what goes on and what does not. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import { openDoors } from '../e2e/doors/house.ts';
import { startTestReference, until } from '../support/house.ts';
import { startCliHouse } from './house.ts';

it('pauses one kind while the others go out, until a person resumes it', async () => {
  const house = await openDoors();
  const { call, ordersWith } = house;
  const orders = ['pushes', '--kind', 'order'];
  const paused = await call('pause', ...orders, '--reason', 'wrong prices');
  expect(paused.stdout).toBe('paused: pushes of orders\n');
  const held = await house.post('/api/orders', { reference: 'HELD-1', ...house.order() });
  const id = Number(held.body.documentId);
  await until('the reason in the row', async () => {
    const row = await house.daemon.store.db.selectFrom('outbox').select('last_error').execute();
    return row[0]?.last_error ?? undefined;
  });
  const { stdout: listed } = await call('outbox', 'list');
  expect(listed).toMatch(/^PAUSED: pushes of orders, by \S+: wrong prices$/m);
  expect(listed).toMatch(/HELD-1 +queued .*paused by \S+ \(pushes of orders\): wrong prices/);
  expect((await call('status')).stdout).toMatch(/^PAUSED +pushes of orders by .*wrong prices$/m);
  expect((await call('status', '--check')).stdout).toMatch(/paused by \S+ \(pushes of orders\): /);
  const metrics = await (await fetch(`${house.url}/metrics`)).text();
  expect(metrics).toContain('selvedge_paused{target="pushes",name="order"} 1');

  // Another kind goes out: this one the service refuses, because it has no such order.
  const line = house.order().lines;
  const refund = { reference: 'RMA-1', orderId: 99_999_999, lines: line };
  const other = await house.post('/api/pending-refunds', refund);
  expect((await house.httpEnd(Number(other.body.documentId))).state).toBe('refused');

  const again = await call('pause', ...orders, '--reason', 'twice');
  expect(again.code).toBe(1);
  expect(again.stderr).toMatch(/pushes of orders is paused already: .*: wrong prices/);
  expect(again.stderr).toContain('to go on: selvedge resume pushes --kind order --reason "…"\n');
  const never = await call('resume', 'pushes', '--reason', 'never paused');
  expect([never.code, never.stderr]).toEqual([1, expect.stringContaining('pushes is not paused')]);
  expect(never.stderr).toContain('paused: pushes of orders');
  const unknown = await call('pause', 'stream', 'stok', '--reason', 'looking');
  expect(unknown.stderr).toContain('did you mean stock?');
  const reason = 'y'.repeat(1_000);
  expect(await call('pause', 'all', '--reason', reason)).toMatchObject({ code: 0 });
  const resumed = await call('resume', 'all', '--reason', reason);
  expect(resumed.stdout).toMatch(/^still paused by \S+ \(pushes of orders\): wrong prices$/m);
  expect(ordersWith('HELD-1')).toBe(0);

  const { stdout } = await call('resume', ...orders, '--reason', 'prices are right');
  expect(stdout).toMatch(
    /^resumed: pushes of orders; paused by \S+ .*: wrong prices, since \d.*Z\n$/,
  );
  expect((await house.httpEnd(id)).state).toBe('confirmed');
  expect(ordersWith('HELD-1')).toBe(1);
  const audit = await call('audit', 'list', '--subject', 'pushes:order', '--json');
  expect(JSON.parse(audit.stdout)).toMatchObject([
    { action: 'resume', reason: 'prices are right' },
    { action: 'pause', reason: 'wrong prices' },
  ]);
});

const ACCEPT_ALL = `
rules:
  - id: accept-all
    title: Everything
    action: accept
    mode: live
    when: [ delivery.quantity > 0 ]
`;

it('pauses what the rules decide, while what people and the ERP want is sent', async () => {
  const reference = await startTestReference({
    world: { styles: 4, orders: 0 },
    auth: { loginSpacing: 0 },
    life: { ordersPerMinute: 0, packAfter: '10ms', shipAfter: '1d', cancelShare: 0 },
  });
  const house = await startCliHouse(reference, { rules: ACCEPT_ALL });
  const { call, daemon, folder } = house;
  const { db } = daemon.store;
  const { world } = reference;
  const place = (seed: number): void => {
    const orderId = world.book.orders.nextId();
    world.trade.place(drawOrder(world, { seed, orderId, preOrderShare: 0 }));
  };
  const decided = (count: number) =>
    until(`${count} decisions`, async () => {
      const rows = await db.selectFrom('decision').select(['order_delivery_id', 'mode']).execute();
      return rows.length >= count ? rows : undefined;
    });
  const states = async () => {
    const rows = db.selectFrom('outbox').select(['kind', 'state']).orderBy('outbox_id');
    return (await rows.execute()).map(({ kind, state }) => `${kind} ${state}`);
  };
  const kind = ['pushes', '--kind', 'delivery_status'];
  await call('pause', ...kind, '--reason', 'what is decided waits');
  place(1);
  const [first] = await decided(1);
  const id = first?.order_delivery_id ?? 0;
  expect(await states()).toEqual(['delivery_status queued']);

  expect(await call('pause', 'decisions', '--reason', 'prices look wrong')).toMatchObject({
    ...{ code: 0, stdout: 'paused: decisions\n' },
  });
  expect(await states()).toEqual(['delivery_status canceled']);
  await call('resume', ...kind, '--reason', 'go on');
  place(2);
  const journal = await decided(3);
  expect(journal.slice(1).map(({ mode }) => mode)).toEqual(['paused', 'paused']);
  const byHand = ['deliveries', 'accept', String(id), '--reason', 'agreed by phone'];
  expect(await call(...byHand)).toMatchObject({ code: 0 });
  const [model] = world.book.orders.all;
  const lines = model?.lines.map(({ barcode, price }) => ({
    barcode,
    quantity: 1,
    price: price / 100,
  }));
  const file = join(folder, 'order.json');
  writeFileSync(file, JSON.stringify({ reference: 'SO-1', lines }));
  expect(await call('orders', 'push', file)).toMatchObject({ code: 0 });
  await until('what people and the ERP want', async () => {
    const now = await states();
    const ends = ['delivery_status canceled', 'delivery_status confirmed', 'order confirmed'];
    return now.join() === ends.join() || undefined;
  });
  expect(world.book.deliveries.get(id)?.status).toBe('accepted');

  // A file beats what a person says.
  const stop = join(folder, 'data', 'decisions.paused');
  writeFileSync(stop, 'not yet');
  const early = await call('resume', 'decisions', '--reason', 'prices are right');
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining(`remove ${stop}`)]);
  rmSync(stop);
  await call('resume', 'decisions', '--reason', 'prices are right');
  await until('the accept of the rules', async () => {
    return (
      (await states()).filter((one) => one === 'delivery_status confirmed').length > 1 || undefined
    );
  });
});
