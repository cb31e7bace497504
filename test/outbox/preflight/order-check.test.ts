/** Names that the mirror does not know yet are asked for before an order is refused for them. */
import { describe, expect, it } from 'vitest';
import { ASKED_MAX } from '../../../src/outbox/preflight/ask-service.ts';
import { type House, startHouse } from '../house.ts';

/** A stream that was pulled completely, long ago, and brought nothing of what is ordered. */
async function pulled(house: House, ...streams: readonly string[]): Promise<void> {
  for (const stream of streams) {
    await house.store.db
      .insertInto('stream_state')
      .values({
        ...{ stream, due_at: 0, last_run_id: null, complete_at: 1, complete_rows: 1 },
        ...{ last_error: null, requested: null },
      })
      .execute();
  }
}

function lineOf(barcode: string, more: object = {}) {
  return { barcode, quantity: 1, price: '12.50', ...more };
}

/** Requests of this path that the service has had. */
function asked(house: House, path: string): number {
  return house.reference.edge.journal.list({ method: 'GET', path }).length;
}

const stockRow = (house: House, barcode: string) =>
  house.store.db
    .selectFrom('stock_variant')
    .select(['barcode', 'deleted_at'])
    .where('barcode', '=', barcode)
    .executeTakeFirst();

/** Barcodes of older seasons, which are in stock, or of those that the newest season offers. */
function barcodesOf({ reference }: House, which: 'stock' | 'newest'): string[] {
  const { catalog } = reference.world;
  const all = Array.from({ length: catalog.variantCount }, (_, index) => index);
  return all
    .filter((index) => catalog.isOfSeason(index, catalog.newestSeason) === (which === 'newest'))
    .map((index) => catalog.barcodeOf(index));
}

describe('an article that the mirror does not know', () => {
  it('is asked for, goes into the mirror, and is ordered', async () => {
    const house = await startHouse();
    await pulled(house, 'stock');
    const [barcode = ''] = house.barcodes;
    const id = await house.put('order', 'NEW-1', { lines: [lineOf(barcode)] });
    expect(await house.until(id, 'confirmed', 'refused')).toMatchObject({ state: 'confirmed' });
    expect(await stockRow(house, barcode)).toMatchObject({ deleted_at: null });
  });

  it('is ordered when it is back after it was gone', async () => {
    const house = await startHouse();
    await pulled(house, 'stock');
    const [barcode = ''] = house.barcodes;
    await house.until(await house.put('order', 'A-1', { lines: [lineOf(barcode)] }), 'confirmed');
    await house.store.db.updateTable('stock_variant_row').set({ deleted_at: 1 }).execute();
    const id = await house.put('order', 'A-2', { lines: [lineOf(barcode)] });
    expect(await house.until(id, 'confirmed', 'refused')).toMatchObject({ state: 'confirmed' });
  });

  it('is refused when the service has no such barcode, and the others are not', async () => {
    const house = await startHouse();
    await pulled(house, 'stock');
    const [barcode = ''] = house.barcodes;
    const lines = [lineOf(barcode), lineOf('0000000000000')];
    const { problems } = await house.until(await house.put('order', 'A-1', { lines }), 'refused');
    const message = '0000000000000 is not known at the service';
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([
      { path: 'lines[1].barcode', message, severity: 'error' },
    ]);
    expect(asked(house, '*/variants/stock/0000000000000')).toBe(1);
  });

  it('keeps the order waiting, not refused, while the service cannot be asked', async () => {
    const faults = [{ kind: 'serverError', path: '*/variants/stock/*', count: 12 }];
    const house = await startHouse({ knobs: { faults } });
    await pulled(house, 'stock');
    const [barcode = ''] = house.barcodes;
    const id = await house.put('order', 'A-1', { lines: [lineOf(barcode)] });
    expect(await house.until(id, 'confirmed', 'refused')).toMatchObject({ state: 'confirmed' });
    expect(asked(house, '*/variants/stock/*')).toBeGreaterThan(12);
  });

  it('waits for a newer list where the service does not answer for single ones', async () => {
    const faults = [{ kind: 'malformed', path: '*/variants/stock/*' }];
    const house = await startHouse({ knobs: { faults } });
    await pulled(house, 'stock');
    const lines = house.barcodes.slice(0, 3).map((barcode) => lineOf(barcode));
    const id = await house.put('order', 'A-1', { lines });
    await expect
      .poll(async () => (await house.until(id, 'queued')).lastError, { timeout: 20_000 })
      .toMatch(/^3 articles are not known here, .*selvedge sync show stock/);
    expect(house.requested).toContain('stock');
    // A list that is newer than the order, and does not have them, says that they are not there.
    await house.store.db
      .updateTable('stream_state')
      .set({ complete_at: house.clock.now() + 1 })
      .execute();
    expect(await house.until(id, 'refused')).toMatchObject({
      problems: [{ message: expect.stringContaining('is not known at the service') }, {}, {}],
    });
  });
});

describe('an order of many articles that the mirror does not know', () => {
  it('asks for a bounded number of them and then for a pull', async () => {
    const house = await startHouse({ knobs: { world: { styles: 60, orders: 3 } } });
    await pulled(house, 'stock');
    const barcodes = barcodesOf(house, 'stock').slice(0, ASKED_MAX + 30);
    expect(barcodes).toHaveLength(ASKED_MAX + 30);
    const lines = barcodes.map((barcode) => lineOf(barcode));
    const id = await house.put('order', 'A-1', { lines });
    await expect
      .poll(async () => (await house.until(id, 'queued', 'confirmed')).lastError, {
        timeout: 20_000,
      })
      .toMatch(/^30 articles are not known here/);
    expect(asked(house, '*/variants/stock/*')).toBe(ASKED_MAX);
    expect(house.requested).toEqual(['stock']);
    expect(await house.until(id, 'confirmed', 'refused')).toMatchObject({ state: 'confirmed' });
  });

  it('is refused by what the service does not have, without asking for all the rest', async () => {
    const house = await startHouse();
    await pulled(house, 'stock');
    const none = Array.from({ length: 5_000 }, (_, index) => `none-${index}`);
    const lines = none.map((barcode) => lineOf(barcode));
    const first = await house.until(await house.put('order', 'A-1', { lines }), 'refused');
    const errors = first.problems.filter(({ severity }) => severity === 'error');
    expect(errors).toHaveLength(ASKED_MAX);
    expect(first.problems.some(({ message }) => message.startsWith('not checked: '))).toBe(true);
    expect(asked(house, '*/variants/stock/*')).toBe(ASKED_MAX);
  });
});

it('an absence is asked for once for all orders that came before the answer', async () => {
  const house = await startHouse();
  await pulled(house, 'stock');
  const lines = [lineOf('no-such-article')];
  const ids = [];
  for (let at = 0; at < 12; at += 1) ids.push(await house.put('order', `A-${at}`, { lines }));
  for (const id of ids) await house.until(id, 'refused');
  expect(asked(house, '*/variants/stock/*')).toBeLessThanOrEqual(8);
});

describe('a pre-order', () => {
  it('of a season, with a delivery and a freight that are new, is sent', async () => {
    const house = await startHouse();
    await pulled(house, 'stock', 'season', 'seasons', 'freight');
    const { catalog } = house.reference.world;
    const season = catalog.seasons.at(-1);
    const [barcode = ''] = barcodesOf(house, 'newest');
    const deliveryName = season?.deliveries[0]?.name;
    const freight = { amount: '10.00', type: 'DHL Express' };
    const order = { lines: [lineOf(barcode, { deliveryName })], seasonName: season?.name, freight };
    const id = await house.put('order', 'PRE-1', order);
    expect(await house.until(id, 'confirmed', 'refused')).toMatchObject({ state: 'confirmed' });
    const rows = await house.store.db.selectFrom('season_variant').select('barcode').execute();
    expect(rows).toEqual([{ barcode }]);
  });

  it('of a name that the service does not have is refused after one more look', async () => {
    const house = await startHouse();
    await pulled(house, 'season', 'seasons', 'freight');
    const { catalog } = house.reference.world;
    const [barcode = ''] = barcodesOf(house, 'newest');
    const name = catalog.seasons.at(-1)?.name ?? '';
    const order = (seasonName: string, deliveryName: string) => ({
      ...{ lines: [lineOf(barcode, { deliveryName })], seasonName },
      freight: { amount: '10.00', type: 'Pigeon' },
    });
    const state = await house.until(await house.put('order', 'P-1', order('XX99', 'D')), 'refused');
    const errors = state.problems.filter(({ severity }) => severity === 'error');
    expect(errors.map(({ path }) => path)).toEqual(['seasonName', 'freight.type']);
    const other = await house.until(await house.put('order', 'P-2', order(name, 'D')), 'refused');
    const again = other.problems.filter(({ severity }) => severity === 'error');
    expect(again.map(({ path }) => path)).toEqual(['lines[0].deliveryName', 'freight.type']);
    // Each message names what would have been right.
    const [season, freight] = errors.map(({ message }) => message);
    const seasons = catalog.seasons.map((one) => one.name).join(', ');
    expect(season).toBe(`there is no season XX99; there are: ${seasons}`);
    expect(freight).toMatch(/^there is no freight Pigeon; there are: \w+/);
    const windows = catalog.seasons
      .at(-1)
      ?.deliveries.map((one) => one.name)
      .join(', ');
    expect(again[0]?.message).toBe(`${name} has no delivery D; there are: ${windows}`);
    // The second came later, and looks for itself; nobody looks once for each name.
    expect(asked(house, '*/seasons')).toBeLessThanOrEqual(2);
    expect(asked(house, '*/freight')).toBeLessThanOrEqual(2);
  });

  it('is kept waiting, not refused, while the seasons cannot be read', async () => {
    const faults = [{ kind: 'serverError', path: '*/seasons', count: 9 }];
    const house = await startHouse({ knobs: { faults } });
    await pulled(house, 'seasons');
    const lines = [lineOf('1', { deliveryName: 'D' })];
    const id = await house.put('order', 'P-1', { lines, seasonName: 'XX99' });
    await house.until(id, 'refused');
    expect(asked(house, '*/seasons')).toBe(10);
  });
});
