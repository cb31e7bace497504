import { expect, it } from 'vitest';
import { manualClock, systemClock } from '../../../src/lib/clock.ts';
import { quarantineRows } from '../../../src/mirror/quarantine.ts';
import { checkOrder, FREIGHT_REQUIRED_KEY } from '../../../src/outbox/preflight/check-order.ts';
import { writeState } from '../../../src/store/state.ts';
import { temporaryStore } from '../../support/store.ts';
import { type House, startHouse } from '../house.ts';

const RULES = {
  ...({ freight: 'learned', level: '1.4.14' } as const),
  ...{ clock: systemClock(), priceFactor: 10 },
};

/** A stream that was pulled completely (or never), and brought none of what is ordered. */
async function pulled(
  house: Pick<House, 'store'>,
  stream: string,
  complete_at: number | null = 1,
): Promise<void> {
  await house.store.db
    .insertInto('stream_state')
    .values({
      ...{ stream, due_at: 0, last_run_id: null, complete_at, complete_rows: 1 },
      ...{ last_error: null, requested: null },
    })
    .execute();
}

/** A variant as the stock or a season shows it, or showed it before it was gone. */
function variant(barcode: string, currency: string, deletedAt: number | null) {
  return {
    ...{ barcode, currency, deleted_at: deletedAt, wsp_price: 12_5000, b2b_hidden: 0 },
    ...{ net_price: null, net_currency: null, price_before_discount: null, discount_percent: null },
    ...{ extra: '{}', content_hash: '', first_seen_at: 0, changed_at: 0, read_seq: 0 },
    ...{ source: 'test', variant_type: null, style_no: null, style_name: null, brand_name: null },
    ...{ color_code: null, color_name: null, size: null, price: null, price_original: null },
    ...{ b2c_sale_price: null, category: null, gender: null, color_active: null },
  };
}

it('takes nothing from a variant of the stock that is gone when a season has it', async () => {
  const store = await temporaryStore();
  for (const stream of ['stock', 'season']) await pulled({ store }, stream);
  const gone = { ...variant('b-1', 'EUR', 1), quantity: 0, season_name: null };
  await store.db.insertInto('stock_variant_row').values(gone).execute();
  const offered = {
    ...variant('b-1', 'DKK', null),
    season_name: 'AW27',
    quantity: 0,
    season_barcode: 'AW27 b-1',
  };
  await store.db.insertInto('season_variant_row').values(offered).execute();
  const line = { barcode: 'b-1', quantity: 1, price: '12.50', deliveryName: 'Drop 1' };
  const order = { lines: [line], seasonName: 'AW27', currency: 'DKK' };
  expect(await checkOrder(store.db, order, RULES)).toEqual([]);
});

it('measures a pre-order by the price of its season, others by that of the stock', async () => {
  const store = await temporaryStore();
  for (const stream of ['stock', 'season']) await pulled({ store }, stream);
  const held = { ...variant('b-1', 'DKK', null), quantity: 5, season_name: null };
  await store.db.insertInto('stock_variant_row').values(held).execute();
  for (const [season_name, wsp_price] of [
    ['AW27', 3_0000],
    ['SS28', 9_0000],
  ] as const) {
    const row = { ...variant('b-1', 'DKK', null), season_name, wsp_price, quantity: 0 };
    const offered = { ...row, season_barcode: `${season_name}/b-1` };
    await store.db.insertInto('season_variant_row').values(offered).execute();
  }
  const line = { barcode: 'b-1', quantity: 1, price: '12.50', deliveryName: 'Drop 1' };
  const ahead = await checkOrder(store.db, { lines: [line], seasonName: 'AW27' }, RULES);
  expect(ahead).toEqual([
    {
      path: 'lines[0].price',
      message: 'is far from the wholesale price of 3.00',
      severity: 'warning',
    },
  ]);
  const { deliveryName: _none, ...plain } = line;
  expect(await checkOrder(store.db, { lines: [plain] }, RULES)).toEqual([]);
});

it('refuses a price that no list price of the article in its currency comes near', async () => {
  const house = { store: await temporaryStore() };
  for (const stream of ['stock', 'season']) await pulled(house, stream);
  await inStock(house, 'b-1', { wsp_price: 12_5000 });
  await inStock(house, 'net', { wsp_price: 900_0000, net_price: 9_0000, net_currency: 'EUR' });
  await inStock(house, 'unlisted', { wsp_price: null });
  await inStock(house, 'zero', { wsp_price: 0 });
  const ahead = { ...variant('b-1', 'EUR', null), season_name: 'AW27', wsp_price: 300_0000 };
  const offered = { ...ahead, quantity: 5, season_barcode: 'AW27/b-1' };
  await house.store.db.insertInto('season_variant_row').values(offered).execute();
  const check = async (barcode: string, price: string, more = {}, rules = RULES) => {
    const order = { lines: [{ barcode, quantity: 1, price }], ...more };
    const found = await told(house, order, rules);
    return found.filter((one) => one.startsWith('error')).map((one) => one.split(' is ')[0]);
  };
  const far = (price: string) => [`error lines[0].price ${price} EUR in line 1`];
  expect(await check('b-1', '3000.01')).toEqual(far('3000.01'));
  expect(await check('b-1', '3000.00')).toEqual([]);
  expect(await check('b-1', '1.24')).toEqual(far('1.24'));
  expect(await check('b-1', '0')).toEqual([]);
  expect(await check('b-1', '1.24', { currency: 'EUR' })).toEqual(far('1.24'));
  expect(await check('net', '1.00')).toEqual([]);
  expect(await check('net', '0.89')).toEqual(far('0.89'));
  for (const barcode of ['unlisted', 'zero']) expect(await check(barcode, '9999')).toEqual([]);
  expect(await check('b-1', '1.24', {}, { ...RULES, priceFactor: 100 })).toEqual([]);
});

it('measures a price by the own one of the key, in the currency of the list', async () => {
  const store = await temporaryStore();
  await pulled({ store }, 'stock');
  const rows = [
    { barcode: 'net', net_price: 40_0000, net_currency: 'dkk' },
    { barcode: 'bare', net_price: 40_0000, net_currency: null },
    { barcode: 'other', net_price: 40_0000, net_currency: 'EUR' },
  ];
  for (const { barcode, ...net } of rows) {
    const row = { ...variant(barcode, 'DKK', null), ...net, quantity: 5, season_name: null };
    await store.db.insertInto('stock_variant_row').values(row).execute();
  }
  const lines = rows.map(({ barcode }) => ({ barcode, quantity: 1, price: '12.50' }));
  const found = await checkOrder(store.db, { lines }, RULES);
  expect(found.map(({ path, message }) => `${path} ${message}`)).toEqual([
    'lines[0].price is far from your own price of 40.00',
    'lines[1].price is far from your own price of 40.00',
  ]);
});

it.each([
  ['JPY', '1250.00', []],
  ['JPY', '1250.50', ['error lines[0].price must be a whole amount: JPY has no decimals']],
  ['KWD', '12.345', []],
  ['EUR', '12.4449', []],
])('takes an order in %s at %s, or says what no coin can pay', async (currency, price, said) => {
  const store = await temporaryStore();
  await pulled({ store }, 'stock');
  const listed = { wsp_price: Number(price) * 10_000, quantity: 5, season_name: null };
  const row = { ...variant('b-1', currency, null), ...listed };
  await store.db.insertInto('stock_variant_row').values(row).execute();
  const lines = [{ barcode: 'b-1', quantity: 1, price }];
  const found = await checkOrder(store.db, { lines }, RULES);
  expect(found.map((one) => `${one.severity} ${one.path} ${one.message}`)).toEqual(said);
  expect(await checkOrder(store.db, { lines, currency }, RULES)).toEqual(found);
});

it('counts what several lines want of one variant', async () => {
  const store = await temporaryStore();
  await pulled({ store }, 'stock');
  const held = { ...variant('b-1', 'EUR', null), quantity: 5, season_name: null };
  await store.db.insertInto('stock_variant_row').values(held).execute();
  const line = (quantity: number) => ({ barcode: 'b-1', quantity, price: '12.50' });
  expect(await checkOrder(store.db, { lines: [line(3), line(3)] }, RULES)).toEqual([
    {
      path: 'lines[1].quantity',
      message: 'only 2 are in stock, after the lines above',
      severity: 'warning',
    },
  ]);
});

it('does not refuse what is in stock because only the seasons were pulled completely', async () => {
  const house = await startHouse();
  const [barcode = ''] = house.barcodes;
  await pulled(house, 'season');
  const lines = [{ barcode, quantity: 1, price: '12.50' }];
  const state = await house.until(
    await house.put('order', 'A-1', { lines }),
    ...['confirmed', 'refused'],
  );
  expect(state).toMatchObject({
    state: 'confirmed',
    problems: [{ path: 'lines', severity: 'warning' }],
  });
  await pulled(house, 'stock');
  const unknown = { lines: [{ barcode: '1', quantity: 1, price: '12.50' }] };
  const refused = await house.until(await house.put('order', 'A-2', unknown), 'refused');
  expect(refused.problems).toMatchObject([{ path: 'lines[0].barcode', severity: 'error' }]);
});

it('does not refuse a pre-order for a season that is listed and cannot be read', async () => {
  const store = await temporaryStore();
  await pulled({ store }, 'seasons');
  const raw = { seasonName: 'AW27', deliveryNames: [{ name: 'Drop 1' }] };
  const rejected = [{ raw, path: 'deliveryNames.0', reason: 'no text' }];
  const provenance = { source: 'run:1', readSeq: 1, at: 0 };
  await store.transaction((tx) => quarantineRows(tx, 'season', rejected, provenance));
  const lines = [{ barcode: 'b-1', quantity: 1, price: '12.50', deliveryName: 'Drop 1' }];
  const check = (seasonName: string) => checkOrder(store.db, { lines, seasonName }, RULES);
  expect(await check('AW27')).toContainEqual(
    expect.objectContaining({ path: 'seasonName', severity: 'warning' }),
  );
  expect(await check('SS99')).toContainEqual(
    expect.objectContaining({ path: 'seasonName', severity: 'error' }),
  );
});

it('does not refuse a pre-order for deliveries of a season of which none can be read', async () => {
  const house = { store: await temporaryStore() };
  await pulled(house, 'seasons');
  const season = { ...ROW, season_name: 'AW27' };
  await house.store.db.insertInto('season').values(season).execute();
  const lines = [{ barcode: 'b-1', quantity: 1, price: '12.50', deliveryName: 'Drop 1' }];
  expect(await told(house, { lines, seasonName: 'AW27' })).toEqual([
    'warning seasonName not checked: no delivery of AW27 can be read',
    NOT_PULLED,
  ]);
});

it('does not refuse a pre-order for what is now in a row that cannot be read', async () => {
  const house = { store: await temporaryStore() };
  await pulled(house, 'seasons');
  await pulled(house, 'freight');
  const { db } = house.store;
  await db
    .insertInto('season')
    .values({ ...ROW, season_name: 'AW27' })
    .execute();
  const delivery = { season_name: 'AW27', line_no: 1, delivery_name: 'Drop 1' };
  await db.insertInto('season_delivery').values(delivery).execute();
  const provenance = { source: 'run:1', readSeq: 1, at: 0 };
  const odd = (raw: object) => [{ raw, path: 'name', reason: 'no text' }];
  await house.store.transaction(async (tx) => {
    const season = { seasonName: 'AW27', deliveryNames: ['Drop 1', {}] };
    await quarantineRows(tx, 'season', odd(season), provenance);
    await quarantineRows(tx, 'freight_option', odd({ freightType: 'GLS' }), provenance);
  });
  const lines = [{ barcode: 'b-1', quantity: 1, price: '12.50', deliveryName: 'Drop 2' }];
  const freight = { amount: '1.00', type: 'GLS' };
  const unreadable = 'not checked: the service has it in a row that cannot be read';
  expect(await told(house, { lines, seasonName: 'AW27', freight })).toEqual([
    `warning seasonName ${unreadable}`,
    `warning freight.type ${unreadable}`,
    NOT_PULLED,
  ]);
});

it('does not refuse a variant that the service has in a row that cannot be read', async () => {
  const store = await temporaryStore();
  await pulled({ store }, 'stock');
  // A number where a text belongs is what makes it unreadable.
  const rejected = [{ raw: { barcode: 5712345000012 }, path: 'barcode', reason: 'no text' }];
  const provenance = { source: 'run:1', readSeq: 1, at: 0 };
  await store.transaction((tx) => quarantineRows(tx, 'stock_variant', rejected, provenance));
  const check = (barcode: string) => {
    const lines = [{ barcode, quantity: 1, price: '12.50' }];
    return checkOrder(store.db, { lines }, RULES);
  };
  expect(await check('5712345000012')).toContainEqual(
    expect.objectContaining({ path: 'lines[0].barcode', severity: 'warning' }),
  );
  expect(await check('5712345000029')).toContainEqual(
    expect.objectContaining({ path: 'lines[0].barcode', severity: 'error' }),
  );
});

const ROW = {
  ...{ extra: '{}', content_hash: '', first_seen_at: 0, changed_at: 0 },
  ...{ deleted_at: null, read_seq: 0, source: 'test' },
};

async function inStock(house: Pick<House, 'store'>, barcode: string, more: object): Promise<void> {
  const row = { ...variant(barcode, 'EUR', null), quantity: 5, season_name: null, ...more };
  await house.store.db.insertInto('stock_variant_row').values(row).execute();
}

/** Returns the result of a check, in short. */
async function told(
  { store }: Pick<House, 'store'>,
  order: Parameters<typeof checkOrder>[1],
  rules: Parameters<typeof checkOrder>[2] = RULES,
): Promise<string[]> {
  const found = await checkOrder(store.db, order, rules);
  return found.map(({ severity, path, message }) => `${severity} ${path} ${message}`);
}

const NOT_PULLED = 'warning lines not checked: the variants were never pulled completely';

it('holds nothing against an order that was not pulled completely yet', async () => {
  const house = { store: await temporaryStore() };
  for (const stream of ['stock', 'season', 'seasons', 'freight']) await pulled(house, stream, null);
  await inStock(house, 'b-1', { deleted_at: 1, currency: null });
  const line = { quantity: 9, price: '12.50', deliveryName: 'Drop 1' };
  const lines = ['b-1', 'b-9'].map((barcode) => ({ ...line, barcode }));
  const freight = { amount: '5.00', type: 'dhl' };
  const order = { lines, freight, currency: 'DKK', seasonName: 'AW27' };
  expect(await told(house, order)).toEqual([NOT_PULLED]);
  const nameless = lines.map(({ deliveryName: _, ...rest }) => rest);
  expect(await told(house, { lines: nameless, seasonName: 'AW27' })).toEqual([
    expect.stringMatching(/^error lines\[0\]\.deliveryName is missing/),
    expect.stringMatching(/^error lines\[1\]\.deliveryName is missing/),
    NOT_PULLED,
  ]);
});

it('names what is unknown, no longer sold or of another currency', async () => {
  const house = { store: await temporaryStore() };
  await pulled(house, 'stock');
  await inStock(house, 'b-1', {});
  await inStock(house, 'b-2', { currency: 'DKK' });
  await inStock(house, 'b-3', { deleted_at: 1 });
  const lines = (...barcodes: string[]) => ({
    lines: barcodes.map((barcode) => ({ barcode, quantity: 1, price: '12.50' })),
  });
  expect(await told(house, lines('b-1'))).toEqual([]);
  expect(await told(house, lines('b-9', 'b-3'))).toEqual([
    // A name that is as near and no longer sold is not offered.
    'error lines[0].barcode b-9 is not known at the service; did you mean b-1?',
    'error lines[1].barcode b-3 is no longer sold at the service',
  ]);
  await inStock(house, '0123456789012', {});
  for (const slip of ['123456789012', '0123456798012', '01234567890122', '0123456789019']) {
    expect(await told(house, lines(slip))).toEqual([
      `error lines[0].barcode ${slip} is not known at the service; did you mean 0123456789012?`,
    ]);
  }
  expect(await told(house, lines('0123456780000'))).toEqual([
    'error lines[0].barcode 0123456780000 is not known at the service',
  ]);
  expect(await told(house, lines('b-1', 'b-2'))).toEqual([
    'error lines[1].barcode is priced in another currency: EUR, DKK',
  ]);
  expect(await told(house, { ...lines('b-1'), currency: 'USD' })).toEqual([
    'error currency is USD, but the service has these prices in EUR',
  ]);
  await inStock(house, 'b-4', { currency: 'eur' });
  expect(await told(house, { ...lines('b-1', 'b-4'), currency: 'EUR' })).toEqual([]);
});

it('tells of a price of nothing and of one that is far from the wholesale price', async () => {
  const house = { store: await temporaryStore() };
  await pulled(house, 'stock');
  await inStock(house, 'b-1', { wsp_price: 10_0000 });
  await inStock(house, 'b-2', { wsp_price: 0 });
  await inStock(house, 'b-3', { wsp_price: null });
  const priced = (price: string, barcode = 'b-1') =>
    told(house, { lines: [{ barcode, quantity: 1, price }] });
  const far = ['warning lines[0].price is far from the wholesale price of 10.00'];
  expect(await priced('0.00')).toEqual([
    'warning lines[0].price is 0: nothing will be charged for this line',
  ]);
  for (const price of ['5.00', '20.00']) expect(await priced(price)).toEqual([]);
  for (const price of ['4.99', '20.01']) expect(await priced(price)).toEqual(far);
  for (const barcode of ['b-2', 'b-3']) expect(await priced('99.00', barcode)).toEqual([]);
});

it('takes a pre-order of what its season offers, whatever the stock and others have', async () => {
  const house = { store: await temporaryStore() };
  const { db } = house.store;
  await pulled(house, 'season');
  await pulled(house, 'seasons');
  await inStock(house, 'b-2', { deleted_at: 1, b2b_hidden: 1 });
  const offers = [
    ['b-1', 'AW26', 1],
    ['b-1', 'AW27', null],
    ['b-2', 'AW27', null],
    ['b-2', 'AW28', 1],
  ] as const;
  for (const [barcode, season_name, gone] of offers) {
    const row = { ...variant(barcode, 'EUR', gone), season_name, quantity: 0 };
    const season_barcode = `${season_name} ${barcode}`;
    await db
      .insertInto('season_variant_row')
      .values({ ...row, season_barcode })
      .execute();
  }
  for (const [season_name, delivery_name] of [
    ['AW26', 'Drop 2'],
    ['AW27', 'Drop 1'],
  ] as const) {
    await db
      .insertInto('season')
      .values({ ...ROW, season_name })
      .execute();
    const delivery = { season_name, line_no: 1, delivery_name };
    await db.insertInto('season_delivery').values(delivery).execute();
  }
  const lines = (deliveryName: string) =>
    ['b-1', 'b-2'].map((barcode) => ({ barcode, quantity: 99, price: '12.50', deliveryName }));
  const order = { lines: lines('Drop 1'), seasonName: 'AW27' };
  expect(await told(house, order)).toEqual([]);
  await pulled(house, 'stock');
  expect(await told(house, order)).toEqual([]);
  expect(await told(house, { lines: lines('Drop 2'), seasonName: 'AW27' })).toEqual(
    [0, 1].map((at) => {
      const near = 'AW27 has no delivery Drop 2; did you mean Drop 1?';
      return `error lines[${at}].deliveryName ${near}`;
    }),
  );
  expect(await told(house, { lines: lines('Drop 1').slice(0, 1) })).toEqual(
    expect.arrayContaining(['error lines[0].deliveryName needs a seasonName (pre-order)']),
  );
  expect(await told(house, { lines: lines('Drop 2'), seasonName: 'AW26' })).toEqual([
    'warning lines[0].barcode is not among what AW26 offers',
    'warning lines[1].barcode is not among what AW26 offers',
  ]);
  await db.updateTable('season').set({ deleted_at: 1 }).where('season_name', '=', 'AW27').execute();
  expect(await told(house, order)).toEqual([
    expect.stringMatching(/^error seasonName there is no season AW27/),
  ]);
});

it('does not refuse a pre-order because only the stock was pulled completely', async () => {
  const house = { store: await temporaryStore() };
  await pulled(house, 'stock');
  const line = { barcode: 'b-1', quantity: 1, price: '12.50', deliveryName: 'Drop 1' };
  expect(await told(house, { lines: [line], seasonName: 'AW27' })).toEqual([NOT_PULLED]);
});

it('tells of what is hidden or out of stock, each line, but not without end', async () => {
  const house = { store: await temporaryStore() };
  await pulled(house, 'stock');
  await inStock(house, 'b-1', { b2b_hidden: 1 });
  const line = (quantity: number) => ({ barcode: 'b-1', quantity, price: '12.50' });
  const hidden = (at: number) => `warning lines[${at}].barcode is hidden from b2b`;
  expect(await told(house, { lines: [line(7), line(1)] })).toEqual([
    'warning lines[0].quantity only 5 are in stock',
    hidden(0),
    'warning lines[1].quantity only 0 are in stock, after the lines above',
    hidden(1),
  ]);
  const found = await told(house, { lines: Array.from({ length: 53 }, () => line(1)) });
  // Each is hidden, and all but the first five are not in stock.
  expect(found).toHaveLength(51);
  expect(found.at(-1)).toBe('warning  and 51 more warnings');
});

it('wants freight where the account requires it, and what its level requires', async () => {
  const house = { store: await temporaryStore() };
  const lines = [{ barcode: 'b-1', quantity: 1, price: '12.50' }];
  const missing = 'error freight is missing; this account requires it';
  const address = 'error shippingAddress is missing; level 1.2.0 requires it';
  expect(await told(house, { lines }, { ...RULES, freight: 'required' })).toContain(missing);
  expect(await told(house, { lines }, { ...RULES, level: '1.2.0' })).toEqual([
    ...[missing, address, NOT_PULLED],
  ]);
});

it('wants freight for a day after the service did, whatever becomes of the clock', async () => {
  const house = { store: await temporaryStore() };
  const clock = manualClock();
  const { db } = house.store;
  const lines = [{ barcode: 'b-1', quantity: 1, price: '12.50' }];
  const asks = async () => (await told(house, { lines }, { ...RULES, clock })).length > 1;
  await writeState(db, FREIGHT_REQUIRED_KEY, String(clock.now()), clock);
  expect(await asks()).toBe(true);
  await clock.advance(86_400_000);
  expect(await asks()).toBe(false);
  await writeState(db, FREIGHT_REQUIRED_KEY, String(clock.now()), clock);
  clock.step(-30 * 86_400_000);
  expect(await asks()).toBe(false);
});

it('wants freight where that was learned, unless optional; one that is there', async () => {
  const house = { store: await temporaryStore() };
  const { db } = house.store;
  await writeState(db, FREIGHT_REQUIRED_KEY, String(systemClock().now()), systemClock());
  await pulled(house, 'freight');
  const options = [
    { ...ROW, freight_type: 'dhl', deleted_at: 1 },
    { ...ROW, freight_type: 'standard' },
  ];
  await db.insertInto('freight_option').values(options).execute();
  const lines = [{ barcode: 'b-1', quantity: 1, price: '12.50' }];
  const missing = 'error freight is missing; this account requires it';
  expect(await told(house, { lines })).toEqual([missing, NOT_PULLED]);
  expect(await told(house, { lines }, { ...RULES, freight: 'optional' })).toEqual([NOT_PULLED]);
  expect(await told(house, { lines, freight: { amount: '1.00', type: 'dhl' } })).toEqual([
    'error freight.type there is no freight dhl; there are: standard',
    NOT_PULLED,
  ]);
  expect(await told(house, { lines, freight: { amount: '1.00', type: 'standart' } })).toEqual([
    'error freight.type there is no freight standart; did you mean standard?',
    NOT_PULLED,
  ]);
});
