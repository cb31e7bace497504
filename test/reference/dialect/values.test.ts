import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Speaker, startSpeaker, v2Of } from './support.ts';

let speaker: Speaker;
let at: string;
beforeAll(async () => {
  speaker = await startSpeaker({ auth: { loginSpacing: 0 } });
  at = `/orders/${await speaker.order()}`;
});
afterAll(() => speaker.rig.reference.close());
beforeEach(() => {
  const every = Object.keys(speaker.rig.reference.knobs.current().dialect);
  speaker.speak(Object.fromEntries(every.map((name) => [name, null])));
});

const row = async () => {
  const { json } = await speaker.get('/variants/stock?detailed=true&limit=1');
  return json.data.variants[0];
};

describe('values in a dialect', () => {
  it('are numbers as text: amounts with two decimals, quantities, weights and counts', async () => {
    const plain = await row();
    speaker.speak({ numbers: 'text' });
    const text = await row();
    expect(text.quantity).toBe(String(plain.quantity));
    expect(text.wspPrice).toBe(plain.wspPrice.toFixed(2));
    expect([text.details.weight, text.details.price]).toEqual([
      String(plain.details.weight),
      plain.details.price.toFixed(2),
    ]);
    expect((await speaker.get('/brands')).json.data.count).toBe('3');
    const order = (await speaker.get(at)).json;
    expect([order.status, order.data.orderLineItems[0].price]).toEqual([200, '19.95']);
    expect(typeof order.data.orderId).toBe('number');
  });

  it('are rewritten in a whole list and in the answer for one variant as well', async () => {
    speaker.speak({ numbers: 'text' });
    const whole = await speaker.get('/variants/stock?detailed=true');
    expect(whole.json.data.count).toBe('240');
    expect(whole.json.data.variants.at(-1).quantity).toMatch(/^\d+$/);
    const one = await speaker.get(`/variants/stock/${speaker.barcode()}`);
    expect(one.json.data.variant.quantity).toMatch(/^\d+$/);
  });

  it('are ids as text, flags as numbers or text, barcodes as numbers', async () => {
    speaker.speak({ ids: 'text', flags: 'number', barcodes: 'number' });
    const order = (await speaker.get(at)).json.data;
    expect(order.orderId).toBe(at.split('/').at(-1));
    expect(order.completed).toBe(0);
    expect(order.orderLineItems[0].barcode).toBe(Number(speaker.barcode()));
    expect((await row()).details.b2bHidden).toBe(0);
    speaker.speak({ flags: 'text' });
    expect((await speaker.get(at)).json.data.completed).toBe('0');
    const line = { barcode: Number(speaker.barcode()), quantity: 1, price: 1 };
    const created = await speaker.post('/orders', { reference: 'N', orderLineItems: [line] });
    expect(created.status).toBe(200);
  });

  it('are V2 ids as numbers, its flags as numbers and its empty objects as arrays', async () => {
    const v2 = await v2Of(speaker);
    speaker.speak({ v2Ids: 'number', flags: 'number', emptyObject: 'array' });
    const { data } = (await v2('/pdm/colors?page[limit]=1')).json;
    expect(data[0]).toMatchObject({ id: 1, attributes: { active: 1 }, relationships: [] });
    const style = (await v2('/pdm/styles/1')).json.data;
    expect(style.relationships.brand.data).toEqual({ type: 'brand', id: 1 });
    expect(style.relationships.countryOfOrigin.data.id).toMatch(/^[A-Z]{2}$/);
  });

  it('are empty objects as arrays: errors, tracking, and an order without address', async () => {
    speaker.speak({ emptyObject: 'array' });
    const orderId = await speaker.order('BARE');
    const order = (await speaker.get(`/orders/${orderId}`)).json.data;
    expect([order.shippingAddress, order.freight]).toEqual([[], []]);
    speaker.rig.reference.world.trade.packAll(
      speaker.rig.reference.world.book.orders.get(orderId) ?? expect.fail('no order'),
    );
    const { deliveries } = (await speaker.get(`/orders/${orderId}/deliveries`)).json.data;
    expect(deliveries[0].trackAndTrace).toEqual([]);
    expect((await speaker.get('/orders/1')).json.data).toEqual([]);
    expect((await row()).details).toHaveProperty('styleNo');
  });

  it.each([
    ['object', {}],
    ['null', null],
    ['absent', undefined],
  ])('are empty lists as %s', async (emptyList, expected) => {
    speaker.speak({ emptyList });
    expect((await speaker.get(`${at}/refunds`)).json.data.refunds).toEqual(expected);
    const { data } = (await speaker.get('/variants/stock?page=99&limit=5')).json;
    expect([data.count, data.variants]).toEqual([240, expected]);
  });

  it('are 404 or 204 in the place of an empty list below an order, and of no other', async () => {
    speaker.speak({ emptyList: 'notFound' });
    const missing = await speaker.get(`${at}/refunds`);
    expect([missing.status, missing.json.status]).toEqual([404, 404]);
    speaker.speak({ emptyList: 'noContent' });
    const nothing = await speaker.get(`${at}/refunds`);
    expect([nothing.status, nothing.text]).toEqual([204, '']);
    expect(nothing.headers.get('content-type')).toBeNull();
    expect((await speaker.get('/variants/stock?page=99&limit=5')).json.data.variants).toEqual([]);
    expect((await speaker.get(at)).status).toBe(200);
  });

  it('are lists as objects with numbers for names', async () => {
    speaker.speak({ lists: 'indexed' });
    const { data } = (await speaker.get('/brands')).json;
    expect(Object.keys(data.brands)).toEqual(['0', '1', '2']);
    expect((await speaker.get('/seasons')).json.data.seasons[4].deliveryNames[0]).toBe(
      'SS27 Drop 1',
    );
    expect(Object.keys((await speaker.get(at)).json.data.orderLineItems)).toEqual(['0']);
  });

  it('are null or an empty text where a member is absent', async () => {
    expect((await speaker.get(at)).json.data).not.toHaveProperty('SeasonName');
    speaker.speak({ absent: 'null' });
    const order = (await speaker.get(at)).json.data;
    expect(order).toMatchObject({ SeasonName: null, freight: { freightType: null } });
    expect(order.shippingAddress.address2).toBeNull();
    expect(order.orderLineItems[0]).toMatchObject({ season: null, delivery: null });
    speaker.speak({ absent: 'emptyText' });
    expect((await speaker.get(at)).json.data.SeasonName).toBe('');
  });

  it('come twice, or with a character that is none', async () => {
    speaker.speak({ repeatedMember: true });
    const { text } = await speaker.get('/variants/stock?limit=2');
    expect(text.match(/"quantity":/g)).toHaveLength(3);
    const [, first, second] = /"quantity":(\d+),.*?"quantity":(\d+)/.exec(text) ?? [];
    expect(Number(first)).toBe(Number(second) + 1);
    speaker.speak({ repeatedMember: null, nulCharacters: true });
    expect((await row()).details.styleDescription.at(-1)).toBe('\u0000');
  });

  it('are told the same in events', async () => {
    speaker.speak({ ids: 'text', numbers: 'text', statusCase: 'upper' });
    await speaker.order('EVENT');
    expect(speaker.rig.events.at(-1)?.data).toMatchObject({
      salesOrder: { orderId: expect.any(String), status: 'PENDING' },
    });
  });

  it('leave the description alone', async () => {
    const plain = (await speaker.get('/openapi.json')).text;
    speaker.speak({ numbers: 'text', emptyObject: 'array', envelope: 'none' });
    expect((await speaker.get('/openapi.json')).text).toBe(plain);
  });
});

describe('a dialect that changes something else', () => {
  it('leaves an answer as it is, byte for byte', async () => {
    const { knobs } = speaker.rig.reference;
    const paths = ['/brands', '/seasons', '/orders', at, `${at}/deliveries`, '/orders/1'];
    const lists = ['/variants/stock?detailed=true', '/variants/season?seasonName=SS27&limit=3'];
    for (const path of [...paths, ...lists]) {
      const usual = (await speaker.get(path)).text;
      // Nothing of these answers is newer, and yet they are read and written again.
      knobs.patch({ v1: { level: '1.4.13' } });
      const rewritten = (await speaker.get(path)).text;
      knobs.patch({ v1: null });
      expect(rewritten).toBe(usual);
    }
  });
});
