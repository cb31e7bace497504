import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Speaker, startSpeaker } from './support.ts';

let speaker: Speaker;
beforeAll(async () => {
  speaker = await startSpeaker();
});
afterAll(() => speaker.rig.reference.close());
beforeEach(() => {
  const every = Object.keys(speaker.rig.reference.knobs.current().dialect);
  speaker.speak(Object.fromEntries(every.map((name) => [name, null])));
});

interface Row {
  readonly barcode: string;
  readonly quantity: number;
  readonly seasonName: string;
  readonly wspPrice: number;
  readonly details?: Readonly<Record<string, unknown>>;
}

async function stock(query = ''): Promise<{ count: number; variants: Row[] }> {
  return (await speaker.get(`/variants/stock?detailed=true${query}`)).json.data;
}

function decimals(price: unknown): number {
  return String(price).split('.')[1]?.length ?? 0;
}

describe('prices in a dialect', () => {
  it.each([3, 4])('have %i decimals in variants', async (priceDecimals) => {
    speaker.speak({ priceDecimals });
    const { variants } = await stock('&limit=50');
    expect(Math.max(...variants.map((row) => decimals(row.wspPrice)))).toBe(priceDecimals);
    expect(Math.max(...variants.map((row) => decimals(row.details?.price)))).toBe(priceDecimals);
  });

  it.each([
    ['JPY', 0],
    ['KWD', 3],
  ])('are those of %s, also in orders', async (currency, most) => {
    speaker.speak({ currency });
    const { variants } = await stock('&limit=50');
    expect(Math.max(...variants.map((row) => decimals(row.wspPrice)))).toBe(most);
    expect(variants[0]?.details?.currency).toBe(currency);
    const [row] = variants;
    const line = { barcode: row?.barcode, quantity: 1, price: row?.wspPrice };
    const orderId = await speaker.order(currency, { orderLineItems: [line] });
    const order = (await speaker.get(`/orders/${orderId}`)).json.data;
    expect([order.currency, order.orderLineItems[0].price]).toEqual([currency, row?.wspPrice]);
  });

  it('are null or a hundredfold everywhere, and quantities 0', async () => {
    const [before] = (await stock('&limit=1')).variants;
    speaker.speak({ prices: 'hundredfold', quantities: 'zero' });
    const { count, variants } = await stock();
    expect([count, new Set(variants.map((row) => row.quantity))]).toEqual([240, new Set([0])]);
    expect(variants[0]?.wspPrice).toBe((before?.wspPrice ?? 0) * 100);
    speaker.speak({ prices: 'null' });
    expect((await stock('&limit=1')).variants[0]).toMatchObject({
      wspPrice: null,
      details: { price: null, wspPrice: null },
    });
  });
});

describe('names in a dialect', () => {
  it.each(['trailingSpace', 'nfd'])(
    'are spelled %s, and found in that spelling only',
    async (how) => {
      speaker.speak({ names: how });
      const { seasons } = (await speaker.get('/seasons')).json.data;
      const { seasonName, deliveryNames } = seasons.at(-1);
      const [{ freightType }] = (await speaker.get('/freight')).json.data.freightOptions;
      const [{ brandName }] = (await speaker.get('/brands')).json.data.brands;
      const spelling = how === 'nfd' ? /^(?=.*\u0308)/ : / $/;
      for (const name of [seasonName, deliveryNames[0], freightType, brandName]) {
        expect(name).toMatch(spelling);
        expect(name.trim().normalize('NFC')).not.toBe(name);
      }
      const query = (season: string, brand: string) =>
        `/variants/season?limit=2&seasonName=${encodeURIComponent(season)}` +
        `&brandName=${encodeURIComponent(brand)}`;
      const found = await speaker.get(query(seasonName, brandName));
      expect(found.json.data.variants).toHaveLength(2);
      const other = (name: string) => name.trim().normalize('NFC');
      expect((await speaker.get(query(other(seasonName), brandName))).status).toBe(404);
      expect((await speaker.get(query(seasonName, other(brandName)))).json.data.count).toBe(0);
      const { barcode } = found.json.data.variants[0];
      const order = (season: string, delivery: string, freight: string) =>
        speaker.post('/orders', {
          reference: 'N',
          SeasonName: season,
          orderLineItems: [{ barcode, quantity: 1, price: 1, DeliveryName: delivery }],
          freight: { freightAmount: 1, freightType: freight },
        });
      const created = await order(seasonName, deliveryNames[0], freightType);
      expect(created.json.data.salesOrder).toMatchObject({
        SeasonName: seasonName,
        freight: { freightType },
        orderLineItems: [{ barcode, season: seasonName, delivery: deliveryNames[0] }],
      });
      const refused = await order(other(seasonName), deliveryNames[0], other(freightType));
      expect(refused.json.invalid_data).toHaveLength(2);
    },
  );

  it('have a space behind a barcode as well', async () => {
    speaker.speak({ names: 'trailingSpace' });
    const [row] = (await stock('&limit=1')).variants;
    expect(row?.barcode).toBe(`${speaker.barcode()} `);
    const one = await speaker.get(`/variants/stock/${encodeURIComponent(row?.barcode ?? '')}`);
    expect(one.json.data.variant.barcode).toBe(row?.barcode);
    const line = { barcode: speaker.barcode(), quantity: 1, price: 1 };
    const refused = await speaker.post('/orders', { reference: 'B', orderLineItems: [line] });
    expect(refused.status).toBe(422);
  });

  it('are empty for one freight option', async () => {
    speaker.speak({ freightEmptyName: true });
    const { count, freightOptions } = (await speaker.get('/freight')).json.data;
    expect([count, freightOptions.at(-1)]).toEqual([5, { freightType: '' }]);
  });
});

describe('rows in a dialect', () => {
  it('have details under other names, beside barcode and quantity, or none', async () => {
    speaker.speak({ detailNames: { styleNo: 'style_number' } });
    const [row] = (await stock('&limit=1')).variants;
    expect(row?.details).toMatchObject({ style_number: expect.any(String) });
    expect(row?.details).not.toHaveProperty('styleNo');
    speaker.speak({ detailsFlat: true });
    const [flat] = (await stock('&limit=1')).variants;
    expect(flat).toMatchObject({ style_number: expect.any(String), wspPrice: row?.wspPrice });
    expect(flat).not.toHaveProperty('details');
    speaker.speak({ detailsFlat: null, detailsGone: true });
    expect((await stock('&limit=1')).variants[0]).not.toHaveProperty('details');
  });

  it('are fewer than the count says, or than there are', async () => {
    speaker.speak({ countExtra: 7 });
    const extra = await stock();
    expect([extra.count, extra.variants.length]).toEqual([247, 240]);
    speaker.speak({ countExtra: null, hiddenShare: 0.25 });
    const short = await stock();
    expect([short.count, short.variants.length]).toEqual([180, 180]);
    expect(short.variants).toEqual(extra.variants.slice(60));
    const pages = [await stock('&limit=100&page=1'), await stock('&limit=100&page=2')];
    expect(pages.flatMap(({ variants }) => variants)).toEqual(short.variants);
    expect(pages.map(({ count }) => count)).toEqual([180, 180]);
    expect((await speaker.get(`/variants/stock/${speaker.barcode()}`)).status).toBe(200);
  });

  it('stand there once per season, with the pieces split', async () => {
    const once = await stock();
    speaker.speak({ stockRows: 'perSeason' });
    const { count, variants } = await stock();
    expect(variants).toHaveLength(count);
    expect(count).toBeGreaterThan(once.count);
    const pieces = (rows: readonly Row[]) => rows.reduce((sum, row) => sum + row.quantity, 0);
    expect(pieces(variants)).toBe(pieces(once.variants));
    const twice = variants.filter(
      ({ barcode }, at) =>
        variants[at + 1]?.barcode === barcode || variants[at - 1]?.barcode === barcode,
    );
    expect(twice).toHaveLength(2 * (count - once.count));
    expect(twice[0]?.seasonName).not.toBe(twice[1]?.seasonName);
    expect(twice[0]?.wspPrice).toBe(twice[1]?.wspPrice);
    expect((await stock(`&limit=250&page=1`)).variants).toEqual(variants.slice(0, 250));
  });

  it('list what is sold out with quantity 0', async () => {
    const { world } = speaker.rig.reference;
    const before = world.stock.of(0);
    world.stock.set(0, 0);
    const one = () => speaker.get(`/variants/stock/${speaker.barcode()}`);
    expect((await one()).status).toBe(404);
    speaker.speak({ soldOut: 'listed' });
    expect((await one()).json.data.variant.quantity).toBe(0);
    const { count, variants } = await stock();
    expect([count, variants.length, variants[0]?.quantity]).toEqual([300, 300, 0]);
    expect((await stock('&limit=10&page=30')).variants).toEqual(variants.slice(290));
    world.stock.set(0, before);
  });

  it('list a season once per brand, its deliveries dealt out', async () => {
    speaker.speak({ seasonRows: 'perBrand' });
    const { count, seasons } = (await speaker.get('/seasons')).json.data;
    expect([count, seasons.length]).toEqual([15, 15]);
    const ofNewest = seasons.filter((row: { seasonName: string }) => row.seasonName === 'SS27');
    expect(ofNewest.map((row: { deliveryNames: string[] }) => row.deliveryNames)).toEqual([
      ['SS27 Drop 1'],
      ['SS27 Drop 2'],
      ['SS27 Drop 3'],
    ]);
    const brand = encodeURIComponent(speaker.rig.reference.world.catalog.brandName(1));
    const own = (await speaker.get(`/seasons?brandName=${brand}`)).json.data;
    expect(own.seasons.at(-1).deliveryNames).toEqual(['SS27 Drop 2']);
  });
});
