import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Rig, startRig } from './support.ts';

interface Row {
  readonly barcode: string;
  readonly quantity: number;
  readonly seasonName: string;
  readonly wspPrice: number;
  readonly details: {
    readonly wspPrice: number;
    readonly tags: string[];
    readonly currency: string;
  };
  readonly pricing?: Record<string, number | string>;
}

describe('V1 prices, seasons and what is on order', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await startRig();
  });
  afterEach(() => rig.reference.close());

  const rows = async (path: string, key = 'plain'): Promise<Row[]> => {
    const answer = await rig.call('GET', path, { headers: rig.headersOf(key) });
    expect(answer.status).toBe(200);
    return answer.body.data.variants;
  };

  it('lists a season with pre-order prices, styles that never run out included', async () => {
    const season = await rows('/variants/season?seasonName=SS27&detailed=true');
    expect(new Set(season.map((row) => row.seasonName))).toEqual(new Set(['SS27']));
    expect(season.every((row) => row.wspPrice < row.details.wspPrice)).toBe(true);
    const stock = await rows('/variants/stock?detailed=true');
    const stocked = new Map(stock.map((row) => [row.barcode, row]));
    const shared = season.filter((row) => stocked.has(row.barcode));
    expect(shared.length).toBeGreaterThan(0);
    expect(shared.every((row) => row.details.tags.includes('NOOS'))).toBe(true);
    for (const row of shared) {
      expect(row.details.wspPrice).toBe(stocked.get(row.barcode)?.details.wspPrice);
    }
    const page = await rig.call('GET', '/variants/season?seasonName=SS27&page=2&limit=20');
    expect(page.body.data.count).toBe(season.length);
    expect(page.body.data.variants.map((row: Row) => row.barcode)).toEqual(
      season.slice(20, 40).map((row) => row.barcode),
    );
  });

  it('needs a season that exists, and finds single variants of it only', async () => {
    expect((await rig.call('GET', '/variants/season')).body.invalid_data).toHaveLength(1);
    expect((await rig.call('GET', '/variants/season?seasonName=SS01')).status).toBe(404);
    const [row] = await rows('/variants/season?seasonName=AW26&detailed=true');
    const at = `/variants/season/${row?.barcode}?detailed=true&seasonName=`;
    expect((await rig.call('GET', `${at}AW26`)).body.data.variant).toEqual(row);
    const ofOne = (await rows('/variants/season?seasonName=AW26&detailed=true')).find(
      (other) => !other.details.tags.includes('NOOS'),
    );
    const elsewhere = `/variants/season/${ofOne?.barcode}?seasonName=SS26`;
    expect((await rig.call('GET', elsewhere)).status).toBe(404);
  });

  it('shows pricing to a b2b key with detailed pricing that asks, to nobody else', async () => {
    const path = '/variants/stock?limit=250';
    const priced = async (key: string, more = '') =>
      (await rows(`${path}${more}`, key)).filter((row) => row.pricing !== undefined).length;
    expect(await priced('b2bDetailed')).toBe(0);
    expect(await priced('b2b', '&detailedPricing=true')).toBe(0);
    expect(await priced('plain', '&detailedPricing=true')).toBe(0);
    expect(await priced('readOnly', '&detailedPricing=true')).toBe(0);
    expect(await priced('b2bDetailed', '&detailedPricing=true')).toBe(240);
  });

  it('prices stock and season each by its own list, to two decimals', async () => {
    const query = 'detailed=true&detailedPricing=true';
    const [stock] = await rows(`/variants/stock?${query}`, 'b2bDetailed');
    const { pricing } = stock ?? {};
    expect(Object.keys(pricing ?? {})).toEqual([
      'currency',
      'wspPriceOriginal',
      'discountPercentage',
      'wspPriceWithDiscount',
    ]);
    expect(pricing).toMatchObject({
      currency: stock?.details.currency,
      wspPriceOriginal: stock?.wspPrice,
    });
    const share = 1 - Number(pricing?.discountPercentage) / 100;
    const discounted = Math.round(Number(pricing?.wspPriceOriginal) * share * 100) / 100;
    expect(pricing?.wspPriceWithDiscount).toBe(discounted);
    const [season] = await rows(`/variants/season?seasonName=SS27&${query}`, 'b2bDetailed');
    expect(season?.pricing?.wspPriceOriginal).toBe(season?.wspPrice);
    expect(season?.wspPrice).toBeLessThan(season?.details.wspPrice ?? 0);
    const [plain] = await rows('/variants/stock?detailed=true', 'b2bDetailed');
    expect(plain?.details).toEqual(stock?.details);
  });

  it('adds what is on order and not in stock with quantity 0, when asked', async () => {
    const { world } = rig.reference;
    const [first] = await rows('/variants/stock?limit=1');
    const barcode = first?.barcode ?? '';
    const body = { reference: 'O', orderLineItems: [{ barcode, quantity: 3, price: 1 }] };
    const created = await rig.call('POST', '/orders', { body });
    world.stock.set(world.catalog.variantOf(barcode) ?? 0, 0);
    const barcodes = async (path: string) => (await rows(path)).map((row) => row.barcode);
    expect(await barcodes('/variants/stock')).not.toContain(barcode);
    expect((await rig.call('GET', `/variants/stock/${barcode}`)).status).toBe(404);
    const asked = await rows('/variants/stock?includeVariantsOnOrder=true');
    expect(asked).toHaveLength(240);
    expect(asked[0]).toEqual({ barcode, quantity: 0 });
    const paged = await rows('/variants/stock?includeVariantsOnOrder=true&page=1&limit=100');
    const next = await rows('/variants/stock?includeVariantsOnOrder=true&page=2&limit=100');
    expect([...paged, ...next]).toEqual(asked.slice(0, 200));
    const one = await rig.call('GET', `/variants/stock/${barcode}?includeVariantsOnOrder=true`);
    expect(one.body.data.variant.quantity).toBe(0);
    const at = `/orders/${created.body.data.orderId}`;
    await rig.clock.advance(15_000);
    const { deliveries } = (await rig.call('GET', `${at}/deliveries`)).body.data;
    await rig.call('POST', `${at}/deliveries/${deliveries[0].orderDeliveryId}`, {
      body: { status: 'accepted' },
    });
    await rig.clock.advance(40_000);
    expect(await barcodes('/variants/stock?includeVariantsOnOrder=true')).not.toContain(barcode);
  });

  it('answers at the old addresses with a pointer to the new ones', async () => {
    const old = await rig.call('GET', '/variants?detailed=true&limit=5');
    const current = await rig.call('GET', '/variants/stock?detailed=true&limit=5');
    expect(old.body).toEqual(current.body);
    expect(old.headers.get('deprecation')).toBe('true');
    expect(old.headers.get('link')).toBe('</api/v1/variants/stock>; rel="successor-version"');
    const { barcode } = current.body.data.variants[0];
    const one = await rig.call('GET', `/variants/${barcode}`);
    expect(one.headers.get('link')).toBe(
      `</api/v1/variants/stock/${barcode}>; rel="successor-version"`,
    );
    expect(current.headers.get('deprecation')).toBeNull();
  });

  it('gives a page to a list without limit where the knob says so', async () => {
    rig.reference.knobs.patch({ paging: { variantsDefault: 30 } });
    expect(await rows('/variants/stock')).toHaveLength(30);
    expect((await rows('/variants/stock?page=9')).length).toBe(0);
    rig.reference.knobs.patch({ paging: { variantsDefault: null } });
    expect((await rig.call('GET', '/variants/stock?page=2')).status).toBe(422);
  });
});
