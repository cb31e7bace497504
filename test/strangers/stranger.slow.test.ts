/**
 * A service that other hands wrote from the interface document alone, from its address and its
 * credentials to a shipped delivery.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scaledClock, systemClock } from '../../src/lib/clock.ts';
import { selvedge } from '../cli/support.ts';
import { until } from '../support/house.ts';
import { repositoryRoot } from '../support/source.ts';
import { type House, type Initialized, initialize, startHouse, untilComplete } from './house.ts';

const V1_STREAMS = ['brands', 'freight', 'seasons', 'stock', 'season', 'orders', 'ordersFull'];
const V2_STREAMS = ['styles', 'styleColors', 'colors', 'pdmBrands', 'types'];

/** An article of which there is enough, and its price. */
function inStock({ stranger }: House, nth = 0) {
  const singles = stranger.state.variants.filter(
    ({ stock, variantType }) => stock > 10 && variantType === 'single',
  );
  const found = singles[nth];
  if (!found) throw new Error('nothing is in stock');
  return { barcode: found.barcode, price: found.wspPrice.toFixed(2) };
}

function ordersOf({ stranger }: House, reference: string) {
  return stranger.state.orders.filter((order) => order.reference === reference);
}

async function accepted(house: House, orderId: number): Promise<number> {
  const { orderDeliveryId } = house.stranger.packOrder(orderId);
  await until('an accepted delivery', () => {
    return house.delivery(orderDeliveryId).status === 'accepted' || undefined;
  });
  return orderDeliveryId;
}

/** Something that can be ordered ahead, as a document. */
async function preOrder({ db, stranger }: House) {
  const { barcode } = await db
    .selectFrom('season_variant')
    .select('barcode')
    .where('season_name', '=', 'SS27')
    .where('quantity', '>', 5)
    .executeTakeFirstOrThrow();
  const season = stranger.state.seasons.find(({ seasonName }) => seasonName === 'SS27');
  const price = stranger.state.variants.find((one) => one.barcode === barcode)?.preorderWsp;
  const deliveryName = season?.deliveries[0]?.deliveryName ?? '';
  const line = { barcode, quantity: 2, price: price?.toFixed(2), deliveryName };
  return { seasonName: 'SS27', lines: [line] };
}

describe('the stranger', () => {
  it('is what its own tests say', () => {
    const file = join(repositoryRoot, 'test/strangers/service.test.mjs');
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const out = execFileSync(process.execPath, ['--test', '--test-reporter=tap', file], {
      encoding: 'utf8',
      env,
    });
    expect(out).toMatch(/^# fail 0$/m);
  });

  const folder = mkdtempSync(join(tmpdir(), 'selvedge-test-'));
  let initialized: Initialized;
  beforeAll(async () => {
    initialized = await initialize(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('leads init from its address and credentials to a configuration that is right', async () => {
    const { file, run } = initialized;
    expect(run.code, run.stderr).toBe(0);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('paging: pages');
    expect(text).toContain('currency: DKK');
    expect(text).toContain('unlisted: zero');
    expect(text).toContain('theirs: customsTariffNo');
    const checked = await selvedge(['config', 'check', '--config', file]);
    expect(checked.stdout).toContain('the configuration is right');
  });

  it('is read to its end, takes an order, and ships what the rules accepted of it', async () => {
    const house = await startHouse(initialized);
    const { db, stranger } = house;
    await untilComplete(house, [...V1_STREAMS, ...V2_STREAMS]);
    expect(await db.selectFrom('quarantine').select(['entity', 'reason']).execute()).toEqual([]);
    expect(await db.selectFrom('style').select('style_id').execute()).toHaveLength(60);
    const stock = await db.selectFrom('stock_variant').select('barcode').execute();
    const inStockNow = stranger.state.variants.filter(({ stock: left }) => left > 0).length;
    expect(stock.length).toBeGreaterThan(inStockNow * 0.9);

    const line = { ...inStock(house), quantity: 2 };
    const receipt = await house.push('/api/orders', { reference: 'ERP-1', lines: [line] });
    expect(receipt).toMatchObject({ state: 'confirmed', problems: [] });
    expect(ordersOf(house, 'ERP-1')).toHaveLength(1);
    const orderDeliveryId = await accepted(house, receipt.orderId ?? 0);
    stranger.shipDelivery(orderDeliveryId);
    await until('the shipped order in the mirror', async () =>
      db
        .selectFrom('sales_order')
        .select('order_id')
        .where('order_id', '=', receipt.orderId ?? 0)
        .where('status', '=', 'fulfilled')
        .executeTakeFirst(),
    );

    const pre = await preOrder(house);
    const ahead = await house.push('/api/orders', { reference: 'PRE-1', ...pre });
    expect(ahead.state).toBe('confirmed');
    const [order] = ordersOf(house, 'PRE-1');
    expect(order?.lines.map(({ season }) => season)).toEqual([pre.seasonName]);
    await accepted(house, ahead.orderId ?? 0);
    const incidents = await db.selectFrom('incident').select(['kind', 'key']).execute();
    expect(incidents).toEqual([]);
  });

  it('is sent no pre-order that it would silently take for a plain order', async () => {
    const onOrder = (body: string): string => body.replace('"SeasonName"', '"season_name"');
    const house = await startHouse(initialized, { onOrder });
    await untilComplete(house, V1_STREAMS);
    const pre = await preOrder(house);
    const before = house.stranger.state.orders.length;
    await house.push('/api/orders', { reference: 'PRE-2', ...pre }, () => true);
    const detail = await until('an incident that names the setting', async () => {
      const incidents = await house.db.selectFrom('incident').select('detail').execute();
      return incidents.find((one) => one.detail.includes('dialect.v1.preOrderNames'))?.detail;
    });
    expect(detail).toContain('refuses no season that does not exist');
    expect(house.stranger.state.orders.length).toBe(before);
  });

  it('says in which words it wants a pending refund, where it wants others', async () => {
    const house = await startHouse(initialized);
    await untilComplete(house, ['orders']);
    const [old] = ordersOf(house, 'OLD-1');
    const [line] = old?.lines ?? [];
    const refund = {
      reference: 'RET-1',
      orderId: old?.orderId,
      lines: [{ barcode: line?.barcode, quantity: 1 }],
    };
    const receipt = await house.push('/api/pending-refunds', refund);
    expect(house.stranger.state.pendingRefunds).toEqual([]);
    expect(receipt.state).toBe('refused');
    expect(receipt.problems.map(({ message }) => message).join()).toContain('refundedLineItems');
  });

  it('decides everything at two requests a second, and says what keeps it', async () => {
    const clock = scaledClock(systemClock(), 10);
    const house = await startHouse(initialized, { clock, flags: { rate: 2 } });
    await untilComplete(house, ['brands', 'stock', 'orders']);
    const references = Array.from({ length: 4 }, (_, nth) => `SLOW-${nth}`);
    const receipts = await Promise.all(
      references.map((reference, nth) =>
        house.push('/api/orders', { reference, lines: [{ ...inStock(house, nth), quantity: 1 }] }),
      ),
    );
    expect(receipts.map(({ state }) => state)).toEqual(references.map(() => 'confirmed'));
    const said = until('the line about the limit', async () => {
      const { stdout } = await house.call('status');
      return /the limit of [\d.]+\/s is the bottleneck: \d+ requests waiting/.exec(stdout)?.[0];
    });
    await Promise.all(receipts.map(({ orderId }) => accepted(house, orderId ?? 0)));
    expect(await said).toContain('the limit of');
  });
});
