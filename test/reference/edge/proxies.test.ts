import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Speaker, startSpeaker, v2Of } from '../dialect/support.ts';

let speaker: Speaker;
beforeEach(async () => {
  speaker = await startSpeaker();
});
afterEach(() => speaker.rig.reference.close());

function strikeWith(fault: object): void {
  speaker.rig.reference.knobs.patch({ faults: [fault] });
}

function someOrder() {
  const line = { barcode: speaker.barcode(), quantity: 1, price: 1 };
  return speaker.post('/orders', { reference: 'P', orderLineItems: [line] });
}

describe('what stands before the service', () => {
  it('answers reads and writes with a maintenance page and status 200', async () => {
    strikeWith({ kind: 'maintenance' });
    for (const { status, headers, text } of [await speaker.get('/brands'), await someOrder()]) {
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html']);
      expect(text).toContain('<h1>Down for maintenance</h1>');
    }
    expect(speaker.rig.reference.world.book.orders.all).toEqual([]);
    strikeWith({ kind: 'maintenance', moment: 'after', body: 'text' });
    expect((await someOrder()).text).toBe('Down for maintenance\n');
    expect(speaker.rig.reference.world.book.orders.all).toHaveLength(1);
  });

  it.each([
    ['html', 'text/html', /<h1>429 Too Many Requests<\/h1>/],
    ['text', 'text/plain', /^Too Many Requests\n$/],
    ['none', 'text/html', /^$/],
  ])('limits requests in its own words: %s', async (body, type, words) => {
    strikeWith({ kind: 'tooMany', body, retryAfter: 9 });
    const { status, headers, text } = await someOrder();
    expect([status, headers.get('content-type')]).toEqual([429, type]);
    expect(headers.get('retry-after')).toBe('9');
    expect(text).toMatch(words);
  });

  it('says as a date when to come back', async () => {
    strikeWith({ kind: 'tooMany', retryAfter: 90, retryAfterAs: 'date' });
    const { headers, json } = await speaker.get('/brands');
    expect(headers.get('retry-after')).toBe('Mon, 05 Jan 2026 08:01:30 GMT');
    expect(json.status).toBe(429);
  });

  it('refuses a token, or fails, without a body that could be read', async () => {
    strikeWith({ kind: 'unauthorized', body: 'html' });
    const refused = await speaker.get('/brands');
    expect([refused.status, refused.headers.get('content-type')]).toEqual([401, 'text/html']);
    strikeWith({ kind: 'serverError', body: 'text' });
    expect((await speaker.get('/brands')).text).toBe('Service Unavailable\n');
  });

  it('counts each include of V2 as requests of its own', async () => {
    const v2 = await v2Of(speaker);
    speaker.rig.reference.knobs.patch({ rates: { perSecond: 10, includeCost: 4 } });
    const status = async (query: string) => (await v2(`/pdm/styles?${query}`)).status;
    expect(await status('include=brand,type')).toBe(200);
    expect(await status('include=brand')).toBe(429);
    expect(await status('')).toBe(200);
    expect(await status('')).toBe(429);
    await speaker.rig.clock.advance(1_000);
    // A request that costs more than a second's worth passes when nothing else was asked.
    expect(await status('include=brand,type,gender')).toBe(200);
    expect(await status('')).toBe(429);
  });
});

describe('an order of 5,000 lines', () => {
  it('is created, packed and told, but for an event that is too large for the relay', async () => {
    const line = { barcode: speaker.barcode(), quantity: 12, price: 199.95 };
    const created = await speaker.post('/orders', {
      reference: 'LARGE',
      SeasonName: 'SS27',
      orderLineItems: Array.from({ length: 5_000 }, () => ({
        ...line,
        DeliveryName: 'SS27 Drop 1',
      })),
    });
    expect(created.status).toBe(200);
    await speaker.rig.clock.advance(20_000);
    const at = `/orders/${created.json.data.orderId}`;
    const [delivery] = (await speaker.get(`${at}/deliveries`)).json.data.deliveries;
    expect(delivery.fulfilledLineItems).toHaveLength(5_000);
    expect(speaker.rig.reference.relay.messages().data).toEqual([]);
    await speaker.order('SMALL');
    expect(speaker.rig.reference.relay.messages().data).toHaveLength(1);
  });
});
