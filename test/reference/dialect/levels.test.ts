import { afterEach, describe, expect, it } from 'vitest';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { type Speaker, startSpeaker } from './support.ts';

let speaker: Speaker;
afterEach(() => speaker?.rig.reference.close());

async function at(level: string, dialect: Record<string, unknown> = {}): Promise<Speaker> {
  speaker = await startSpeaker({ v1: { level }, dialect });
  return speaker;
}

describe('an account of an older level', () => {
  it.each([
    ['1.4.13', '1.4.14', 'detailedPricing', '/variants/stock?limit=1&detailedPricing=true'],
    ['1.4.8', '1.4.9', 'includeVariantsOnOrder', '/variants/stock?includeVariantsOnOrder=true'],
  ])(
    'of %s refuses a parameter that came with %s, or ignores it',
    async (level, since, name, path) => {
      const { get, rig, speak } = await at(level, { unknownParameters: 'refuse' });
      const refused = await get(path);
      expect([refused.status, refused.json.invalid_data]).toEqual([422, [`${name}: is not known`]]);
      expect((await get('/brands?brandName=x')).json.invalid_data).toHaveLength(1);
      speak({ unknownParameters: null });
      expect((await get(path)).status).toBe(200);
      rig.reference.knobs.patch({ v1: { level: since }, dialect: { unknownParameters: 'refuse' } });
      expect((await get(path)).status).toBe(200);
    },
  );

  it.each([
    ['1.4.10', '1.4.11', '/orders/ORDER/pending-refunds'],
    ['1.3.9', '1.4.0', '/variants/stock'],
    ['1.3.9', '1.4.0', '/variants/season?seasonName=SS27'],
    ['1.3.9', '1.4.0', '/seasons'],
    ['1.2.99', '1.3.0', '/orders/ORDER/deliveries'],
    ['1.2.99', '1.3.0', '/orders/ORDER/refunds'],
    ['1.2.6', '1.2.7', '/brands'],
    ['1.2.6', '1.2.7', '/freight'],
  ])('of %s has no endpoint that came with %s: %s', async (level, since, path) => {
    const { get, order, rig } = await at('1.4.14');
    const url = path.replace('ORDER', String(await order()));
    rig.reference.knobs.patch({ v1: { level } });
    const missing = await get(url);
    expect([missing.status, missing.json.message]).toEqual([404, 'There is no such endpoint']);
    rig.reference.knobs.patch({ v1: { level: since } });
    expect((await get(url)).status).toBe(200);
  });

  it('names the order in a create answer since 1.4.4, its deliveries since 1.4.12', async () => {
    const { post, barcode, rig } = await at('1.4.3');
    const line = { barcode: barcode(), quantity: 1, price: 1 };
    const membersAt = async (level: string) => {
      rig.reference.knobs.patch({ v1: { level } });
      const { json } = await post('/orders', { reference: level, orderLineItems: [line] });
      return Object.keys(json.data);
    };
    expect(await membersAt('1.4.3')).toEqual(['orderId', 'orderStatus']);
    expect(await membersAt('1.4.4')).toEqual(['orderId', 'orderStatus', 'salesOrder']);
    expect(await membersAt('1.4.12')).toContain('deliveries');
  });

  it('of 1.3.0 has flat variants, and wants a brand for each request', async () => {
    const { get, barcode, rig } = await at('1.3.0');
    expect((await get('/variants')).json.invalid_data).toEqual(['brandName: is required']);
    expect((await get(`/variants/${barcode()}`)).status).toBe(422);
    const brand = encodeURIComponent((await get('/brands')).json.data.brands[0].brandName);
    const list = await get(`/variants?brandName=${brand}&limit=1`);
    expect(list.headers.get('deprecation')).toBeNull();
    const [row] = list.json.data.variants;
    expect(row).not.toHaveProperty('details');
    expect(row).not.toHaveProperty('b2cSalePrice');
    for (const name of ['styleNo', 'brandName', 'colorName', 'size', 'price', 'currency']) {
      expect(row).toHaveProperty(name);
    }
    const one = await get(`/variants/${row.barcode}?brandName=${brand}`);
    expect(one.json.data.variant).toEqual(row);
    rig.reference.knobs.patch({ v1: { level: '1.4.0' } });
    expect((await get('/variants?limit=1')).json.data.variants).toEqual([
      { barcode: row.barcode, quantity: row.quantity },
    ]);
  });

  it('of 1.3.0 takes a brand for a single variant in strict mode too', async () => {
    speaker = await startSpeaker({ v1: { level: '1.3.0' }, strict: true });
    const brand = encodeURIComponent(speaker.rig.reference.world.catalog.brandName(0));
    const one = `/variants/${speaker.barcode()}?brandName=${brand}`;
    expect((await speaker.get(one)).status).toBe(200);
    speaker.rig.reference.knobs.patch({ v1: null });
    expect((await speaker.get(one)).status).toBe(422);
  });

  it.each([
    ['1.2.55', 'colorCode'],
    ['1.2.49', 'priceOriginal'],
    ['1.2.44', 'designer'],
    ['1.2.37', 'seasonName'],
    ['1.2.36', 'wspPrice'],
    ['1.2.16', 'weight'],
    ['1.2.13', 'variantType'],
    ['1.2.7', 'category'],
  ])('of %s has no %s of a variant', async (level, name) => {
    const { get, rig } = await at(level);
    const brand = encodeURIComponent(rig.reference.world.catalog.brandName(0));
    const rowAt = async (one: string) => {
      rig.reference.knobs.patch({ v1: { level: one } });
      return (await get(`/variants?brandName=${brand}&limit=1`)).json.data.variants[0];
    };
    expect(await rowAt(level)).not.toHaveProperty(name);
    const [first, second, third] = level.split('.').map(Number);
    expect(await rowAt(`${first}.${second}.${(third ?? 0) + 1}`)).toHaveProperty(name);
  });

  it('wants freight below 1.3.3 and an address below 1.2.55, and knows no pre-order', async () => {
    const { post, get, barcode, rig } = await at('1.2.54');
    const line = { barcode: barcode(), quantity: 1, price: 1, DeliveryName: 'SS27 Drop 1' };
    const body = { reference: 'L', orderLineItems: [line], SeasonName: 'SS27' };
    expect((await post('/orders', body)).json.invalid_data).toEqual([
      'freight: is required',
      'shippingAddress: is required',
    ]);
    rig.reference.knobs.patch({ v1: { level: '1.3.3' } });
    const { orderId } = (await post('/orders', body)).json.data;
    const order = (await get(`/orders/${orderId}`)).json.data;
    expect(order).not.toHaveProperty('SeasonName');
    expect(order.orderLineItems[0]).not.toHaveProperty('delivery');
    rig.reference.knobs.patch({ dialect: { unknownParameters: 'refuse' } });
    expect((await post('/orders', body)).json.invalid_data).toEqual([
      'DeliveryName: is not known',
      'SeasonName: is not known',
    ]);
  });

  it('has no portal below 1.3.0, and tells no events', async () => {
    const { post, order, rig } = await at('1.3.0');
    await order('E', { freight: { freightAmount: 1 } });
    const published = rig.events.length;
    expect(published).toBeGreaterThan(0);
    expect((await post('/webhook-portal', {})).status).toBe(200);
    rig.reference.knobs.patch({ v1: { level: '1.2.99' } });
    expect((await post('/webhook-portal', {})).status).toBe(404);
    await rig.clock.advance(60_000);
    expect(rig.events).toHaveLength(published);
  });

  it.each(['1.2.5', '1.4.15', '2.0.0', '1.4', 'new'])('is no account of level %s', (level) => {
    expect(() => parseKnobs({ v1: { level } })).toThrow('no level from 1.2.6 to 1.4.14');
  });
});
