import { expect, it } from 'vitest';
import { parseDocument } from '../../../src/outbox/documents.ts';
import { enqueueDocument } from '../../../src/outbox/enqueue.ts';
import { startTestReference, until } from '../../support/house.ts';
import { startCliHouse } from '../house.ts';

async function startReview() {
  const reference = await startTestReference({
    world: { styles: 4, orders: 2 },
    auth: { loginSpacing: 0 },
    rates: { perSecond: 0 },
    life: { ordersPerMinute: 0, packAfter: '1h' },
  });
  const house = await startCliHouse(reference, {
    overrides: [
      { path: 'outbox.quietTime', value: '0s' },
      { path: 'outbox.delayMin', value: '10ms' },
    ],
  });
  const { all } = reference.world.book.orders;
  const put = async (own: string, payload: unknown): Promise<number> => {
    const parsed = parseDocument('order', payload);
    if (!parsed.ok) throw new Error('not a document');
    const { document } = parsed;
    const intent = { kind: 'order', reference: own, document, cause: 'test' } as const;
    const enqueued = await house.daemon.store.transaction((tx) => enqueueDocument(tx, intent, 1));
    if ('conflict' in enqueued) throw new Error('taken');
    return enqueued.outboxId;
  };
  const stateOf = async (id: number): Promise<string> => {
    const { db } = house.daemon.store;
    const row = db.selectFrom('outbox').select('state').where('outbox_id', '=', id);
    return (await row.executeTakeFirstOrThrow()).state;
  };
  const [model] = all;
  if (!model) throw new Error('no order');
  await until('the mirror to have the orders', async () => {
    const rows = await house.daemon.store.db.selectFrom('sales_order').selectAll().execute();
    return rows.length >= 2 ? rows : undefined;
  });
  return { ...house, put, stateOf, model, all };
}

it('shows both sides of a doubt and lets a person settle it either way', async () => {
  const { call, put, stateOf, model, all } = await startReview();
  const [line] = model.lines;
  const lines = [{ barcode: line?.barcode, quantity: 99, price: '1.00' }];
  const other = await put(model.reference, { lines });
  const second = all[1];
  const again = await put(second?.reference ?? '', { lines });
  for (const id of [other, again]) {
    await call('outbox', 'retry', String(id), '--reason', 'now');
    await until('the doubt', async () => ((await stateOf(id)) === 'in_doubt' ? true : undefined));
  }

  const listed = await call('outbox', 'list', '--needs-attention');
  expect(listed.stdout).toContain(`outcome unknown (needs attention)`);
  const shown = await call('outbox', 'show', String(other));
  expect(shown.stdout).toContain('OURS');
  expect(shown.stdout).toContain(`AT THE SERVICE: order ${model.orderId}`);
  expect(shown.stdout).toContain(`! not at the service: 99 × ${line?.barcode} at 1.00`);
  expect(shown.stdout).toContain(`only at the service: ${line?.quantity} × ${line?.barcode}`);
  expect(shown.stdout).toContain(`to ${model.address.company}`);
  expect(shown.stdout).toContain(`selvedge outbox resolve ${other} --as confirmed:<orderId>`);

  const reason = ['--reason', 'compared'];
  const as = (what: string, id: number) => ['outbox', 'resolve', String(id), '--as', what];
  const nobody = await call(...as('confirmed:99999999', other), ...reason);
  expect(nobody).toMatchObject({ code: 1 });
  expect(nobody.stderr).toContain('the service has no order 99999999');
  const slip = await call(...as(`confirmed${model.orderId}`, other), ...reason);
  expect(slip.stderr).toContain(`--as confirmed${model.orderId} is not known`);
  const confirmed = await call(...as(`confirmed:${model.orderId}`, other), ...reason);
  expect(confirmed.stdout).toBe(`outbox ${other} is confirmed\n`);

  const unsure = await call(...as('absent', again), ...reason, '--reference', 'something');
  expect(unsure).toMatchObject({ code: 1 });
  expect(unsure.stderr).toContain(`--reference ${second?.reference}`);
  const unsaid = await call(...as('absent', again), ...reason, '--reference', '');
  expect([unsaid.code, unsaid.stderr]).toEqual([1, expect.stringContaining('must be confirmed')]);
  const would = await call(...as('absent', again), '--dry-run');
  expect(would.stdout).toMatch(
    /^outbox \d+ \(order .*, outcome unknown\) would be queued and sent again\n$/,
  );
  expect(await stateOf(again)).toBe('in_doubt');
  const sure = ['--reference', second?.reference ?? ''];
  expect(await call(...as('absent', again), ...reason, ...sure)).toMatchObject({ code: 0 });
  await until('the second order', async () =>
    (await stateOf(again)) === 'confirmed' ? true : undefined,
  );
  expect(all.filter(({ reference }) => reference === second?.reference)).toHaveLength(2);
});

it('acts on many rows only when they are as many as was expected', async () => {
  const { call } = await startReview();
  const cancel = ['outbox', 'cancel', '--reason', 'no'];
  expect((await call(...cancel)).stderr).toContain('name one, or a filter with --expect');
  const unsaid = await call(...cancel, '--state', 'queued');
  expect([unsaid.code, unsaid.stderr]).toEqual([2, expect.stringContaining('--expect 0')]);
  const few = await call(...cancel, '--kind', 'order', '--state', 'queued', '--expect', '3');
  expect(few.stderr).toContain('the filter fits 0 rows, 3 were expected: nothing was done');
  const none = await call(...cancel, '--kind', 'order', '--state', 'queued', '--expect', '0');
  expect(none).toMatchObject({ code: 0, stdout: '0 rows canceled\n' });
  expect((await call('outbox', 'show', '7')).stderr).toContain('there is no outbox row 7');
});
