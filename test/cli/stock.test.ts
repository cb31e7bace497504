import { expect, it, onTestFinished, vi } from 'vitest';
import { startTestReference, until, WITH_STOCK } from '../support/house.ts';
import { startCliHouse } from './house.ts';

it('shows the stock of a barcode and a style: now, in the past, through time', async () => {
  const reference = await startTestReference({ world: { styles: 6, orders: 0 } });
  const { daemon, call } = await startCliHouse(reference, { overrides: WITH_STOCK });
  const { catalog, stock } = reference.world;
  const at = stock.nth(0, catalog.variantCount, 3);
  const barcode = catalog.barcodeOf(at);
  const row = () =>
    daemon.store.db
      .selectFrom('stock_variant')
      .selectAll()
      .where('barcode', '=', barcode)
      .executeTakeFirst();
  const first = await until('the first stock', row);
  await until('its end', async () =>
    (await daemon.store.db.selectFrom('stream_state').selectAll().execute()).find(
      (one) => one.stream === 'stock' && one.complete_at !== null,
    ),
  );
  stock.set(at, 0);
  expect(await call('sync', 'run', 'stock')).toMatchObject({ code: 0 });
  const soldOut = await row();
  expect(soldOut?.deleted_at).not.toBeNull();
  expect(JSON.parse((await call('stock', barcode, '--json')).stdout)).toMatchObject([
    { barcode, state: null, onHand: 0 },
  ]);
  stock.set(at, 41);
  expect(await call('sync', 'run', 'stock')).toMatchObject({ code: 0 });
  const now = await call('stock', barcode);
  expect(now.stdout).toMatch(new RegExp(`^${barcode} .* 41 `, 'm'));
  const style = JSON.parse((await call('stock', String(first.style_no), '--json')).stdout);
  expect(style.length).toBeGreaterThan(1);
  expect(style).toContainEqual(expect.objectContaining({ barcode }));
  const listed = await call('stock', '--find', String(first.style_no));
  expect(listed.stdout).toMatch(new RegExp(`^${first.style_no} .* all sizes$`, 'm'));
  const wanted = await call('stock', String(first.style_no), '--orders', '--json');
  expect(wanted).toMatchObject({ code: 0, stdout: '[]\n' });
  const before = new Date((soldOut?.deleted_at ?? 0) - 1).toISOString();
  const then = JSON.parse((await call('stock', barcode, '--as-of', before, '--json')).stdout);
  expect(then).toMatchObject([{ barcode, state: { quantity: first.quantity } }]);
  // People and programs see decimals.
  const price = (first.price ?? 0) / 10_000;
  expect(price).toBeGreaterThan(1);
  expect(then[0].state.price).toBe(price);
  expect(now.stdout).toContain(` ${price.toFixed(2)} `);
  // A time without a zone is UTC, also on a machine that is elsewhere.
  vi.stubEnv('TZ', 'Asia/Tokyo');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(new Date(before).getHours()).not.toBe(new Date(before).getUTCHours());
  for (const bare of [before.slice(0, -1), before.slice(0, -1).replace('T', ' ')]) {
    const same = JSON.parse((await call('stock', barcode, '--as-of', bare, '--json')).stdout);
    expect(same).toEqual(then);
  }
  for (const odd of ['2026-02-30', '5', '31.3.2026', '2026-03-31 25:00']) {
    expect(await call('stock', barcode, '--as-of', odd)).toMatchObject({ code: 2, stdout: '' });
  }
  const early = await call('stock', barcode, '--as-of', '2020-01-01');
  expect(early).toMatchObject({ code: 1, stdout: '' });
  expect(early.stderr).toContain('nothing is known of the stock before');
  const late = await call('stock', barcode, '--as-of', '2999-01-01');
  expect(late).toMatchObject({ code: 1, stdout: '' });
  expect(late.stderr).toContain('nobody knows the stock of a time to come');
  const history = JSON.parse((await call('stock', barcode, '--history', '--json')).stdout);
  expect(history.map(({ what }: { what: string }) => what)).toEqual([
    'first seen',
    'sold out',
    'back',
  ]);
  expect(history[2].changed).toContainEqual({
    column: 'quantity',
    before: first.quantity,
    after: 41,
  });
  expect((await call('stock', barcode, '--history')).stdout).toMatch(
    new RegExp(`${barcode} +back +.*quantity ${first.quantity} → 41`),
  );
  const unknown = await call('stock', 'nonsense');
  expect(unknown).toMatchObject({ code: 1 });
  expect(unknown.stderr).toContain('no style and no barcode nonsense');
  const wrong = await call('stock', barcode, '--as-of', 'yesterday');
  expect(wrong.stderr).toContain('hint: write it as');
});
