import { expect, it } from 'vitest';
import { openDoors } from '../../e2e/doors/house.ts';
import { until } from '../../support/house.ts';

it('stops one kind while the others go out, until a person lets it go on', async () => {
  const house = await openDoors();
  const { call, ordersWith } = house;
  const stopped = await call('outbox', 'stop', 'order', '--reason', 'wrong prices');
  expect(stopped.stdout).toBe('stopped: order; nothing of it is sent\n');
  const held = await house.post('/api/orders', { reference: 'HELD-1', ...house.order() });
  const id = Number(held.body.documentId);
  await until('the reason in the row', async () => {
    const row = await house.daemon.store.db.selectFrom('outbox').select('last_error').execute();
    return row[0]?.last_error ?? undefined;
  });
  const { stdout: listed } = await call('outbox', 'list');
  expect(listed).toMatch(/^STOPPED: order, by \S+: wrong prices$/m);
  expect(listed).toMatch(/HELD-1 +queued .*stopped order: wrong prices/);
  expect((await call('status')).stdout).toMatch(/^sending +STOPPED \(order\) by .*wrong prices$/m);
  expect((await call('status', '--check')).stdout).toContain('sending is stopped: order');
  const metrics = await (await fetch(`${house.url}/metrics`)).text();
  expect(metrics).toContain('selvedge_outbox_stopped{kind="order"} 1');

  // Another kind goes out: this one the service refuses, because it has no such order.
  const line = house.order().lines;
  const refund = { reference: 'RMA-1', orderId: 99_999_999, lines: line };
  const other = await house.post('/api/pending-refunds', refund);
  expect((await house.httpEnd(Number(other.body.documentId))).state).toBe('refused');

  const again = await call('outbox', 'stop', 'order', '--reason', 'twice');
  expect(again.code).toBe(1);
  expect(again.stderr).toContain('has stopped order already: wrong prices');
  expect(again.stderr).toContain('to go on: selvedge outbox resume order --reason "…"\n');
  const never = await call('outbox', 'resume', 'style', '--reason', 'never stopped');
  expect(never.stderr).toContain('style is not stopped');
  expect(never.stderr).toContain('stopped: order');
  const long = await call('outbox', 'resume', 'style', '--reason', 'x'.repeat(1_000));
  expect([long.code, long.stderr]).toEqual([1, expect.stringContaining('style is not stopped')]);
  const reason = 'y'.repeat(1_000);
  expect(await call('decisions', 'stop', '--reason', reason)).toMatchObject({ code: 0 });
  expect(await call('decisions', 'resume', '--reason', reason)).toMatchObject({ code: 0 });
  expect(ordersWith('HELD-1')).toBe(0);

  const resumed = await call('outbox', 'resume', 'order', '--reason', 'prices are right');
  expect(resumed.stdout).toMatch(
    /^sent again: order; \S+ had stopped it since .*: wrong prices\n$/,
  );
  expect((await house.httpEnd(id)).state).toBe('confirmed');
  expect(ordersWith('HELD-1')).toBe(1);
  const audit = await call('audit', 'list', '--json');
  expect(audit.stdout).toMatch(/outbox\.stop.*wrong prices/s);
  expect(audit.stdout).toMatch(/outbox\.resume.*prices are right/s);
});
