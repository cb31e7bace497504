/**
 * A service that other hands wrote from the interface document alone, from its address and its
 * credentials to a shipped delivery.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../support/house.ts';
import { repositoryRoot } from '../support/source.ts';
import { type House, initialize, startHouse, untilComplete } from './house.ts';

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

  it('leads init from its address and credentials to a configuration that is right', async () => {
    const { file, run } = await initialize();
    expect(run.code, run.stderr).toBe(0);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('paging: pages');
    expect(text).toContain('currency: DKK');
    expect(text).toContain('unlisted: zero');
    expect(text).toContain('enabled: true');
  });

  it('has its streams read to their ends, and nothing put aside', async () => {
    const house = await startHouse();
    await untilComplete(house, [...V1_STREAMS, ...V2_STREAMS]);
    const put = await house.db.selectFrom('quarantine').select(['entity', 'reason']).execute();
    expect(put).toEqual([]);
    const { state } = house.stranger;
    const styles = await house.db.selectFrom('style').select('style_id').execute();
    expect(styles).toHaveLength(60);
    const listed = state.variants.filter(({ stock }) => stock > 0).length;
    const stock = await house.db.selectFrom('stock_variant').select('barcode').execute();
    expect(stock.length).toBeGreaterThan(listed * 0.9);
  });

  it('takes an order, and ships what the rules accepted of it', async () => {
    const house = await startHouse();
    await untilComplete(house, V1_STREAMS);
    const line = { ...inStock(house), quantity: 2 };
    const receipt = await house.push('/api/orders', { reference: 'ERP-1', lines: [line] });
    expect(receipt).toMatchObject({ state: 'confirmed', problems: [] });
    expect(ordersOf(house, 'ERP-1')).toHaveLength(1);
    const orderDeliveryId = await accepted(house, receipt.orderId ?? 0);
    house.stranger.shipDelivery(orderDeliveryId);
    await until('the shipped order in the mirror', async () =>
      house.db
        .selectFrom('sales_order')
        .select('order_id')
        .where('order_id', '=', receipt.orderId ?? 0)
        .where('status', '=', 'fulfilled')
        .executeTakeFirst(),
    );
    const incidents = await house.db.selectFrom('incident').select(['kind', 'key']).execute();
    expect(incidents).toEqual([]);
  });
});
