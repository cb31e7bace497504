import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Speaker, startSpeaker, v2Of } from './support.ts';

let speaker: Speaker;
beforeAll(async () => {
  speaker = await startSpeaker({ auth: { loginSpacing: '6s' } });
});
afterAll(() => speaker.rig.reference.close());
beforeEach(() => {
  const every = Object.keys(speaker.rig.reference.knobs.current().dialect);
  speaker.speak(Object.fromEntries(every.map((name) => [name, null])));
  speaker.rig.reference.knobs.patch({ faults: [], deviations: { tokenHeader: null } });
});

/** The bytes as they came: `fetch` would unpack them. */
async function rawBytes(path: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const headers = speaker.rig.headersOf('plain');
  return new Promise((resolve, reject) => {
    request(speaker.rig.reference.v1Url + path, { headers }, (answer) => {
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('end', () => resolve(Buffer.concat(pieces)));
    })
      .on('error', reject)
      .end();
  });
}

describe('answers in a dialect', () => {
  it('have a status of text, or no envelope at all', async () => {
    speaker.speak({ envelope: 'text' });
    expect((await speaker.get('/brands')).json.status).toBe('200');
    expect((await speaker.get('/orders/1')).json.status).toBe('404');
    speaker.speak({ envelope: 'none' });
    expect((await speaker.get('/brands')).json.count).toBe(3);
    expect((await speaker.get('/orders/1')).json).toEqual({ message: 'Order 1 not found' });
    expect(Object.keys((await speaker.post('/orders', {})).json)).toEqual([
      'message',
      'invalid_data',
    ]);
  });

  it.each([
    ['plain', 'text/plain; charset=utf-8', /^Order 1 not found$/],
    ['html', 'text/html; charset=utf-8', /^<!doctype html>.*404 Not Found/s],
    ['empty', null, /^$/],
  ])('have errors whose body is %s', async (errorBody, type, body) => {
    speaker.speak({ errorBody });
    const { status, headers, text } = await speaker.get('/orders/1');
    expect([status, headers.get('content-type')]).toEqual([404, type]);
    expect(text).toMatch(body);
    expect((await speaker.get('/brands')).json.status).toBe(200);
  });

  it('have errors with a list for data, and invalid data by field', async () => {
    speaker.speak({ errorData: 'array', invalidDataAsObject: true });
    expect((await speaker.get('/orders/1')).json.data).toEqual([]);
    const { invalid_data } = (await speaker.post('/orders', { reference: '' })).json;
    expect(Object.keys(invalid_data)).toEqual(['reference', 'orderLineItems']);
    expect(invalid_data.reference).toEqual([expect.any(String)]);
  });

  it('say when to come back as a date of the service, or not at all', async () => {
    const login = () => speaker.post('/auth/login', { clientID: 'client-b2b', clientSecret: 'x' });
    await login();
    speaker.speak({ retryAfter: 'date' });
    const { status, headers } = await login();
    const until = Date.parse(headers.get('retry-after') ?? '');
    expect([status, until - Date.parse(headers.get('date') ?? '')]).toEqual([429, 6_000]);
    expect(until).toBe(speaker.rig.clock.now() + 6_000);
    speaker.speak({ retryAfter: 'none' });
    expect((await login()).headers.get('retry-after')).toBeNull();
  });

  it('are packed, whole lists and errors too', async () => {
    const plain = await rawBytes('/variants/stock');
    speaker.speak({ contentEncoding: 'gzip' });
    expect(gunzipSync(await rawBytes('/variants/stock'))).toEqual(plain);
    expect((await speaker.get('/orders/1')).json.status).toBe(404);
    speaker.speak({ contentEncoding: 'br' });
    expect(brotliDecompressSync(await rawBytes('/variants/stock'))).toEqual(plain);
    const v2 = await v2Of(speaker);
    expect((await v2('/pdm/colors')).headers.get('content-encoding')).toBe('br');
  });

  it.each([
    ['utf8', 'UTF-8'],
    ['empty', ''],
    ['identity', 'Identity'],
  ])('name a content coding that is none: %s', async (contentEncoding, header) => {
    speaker.speak({ contentEncoding });
    const { headers, json } = await speaker.get('/brands');
    expect([headers.get('content-encoding'), json.status]).toEqual([header, 200]);
  });

  it.each(['iso-8859-1', 'windows-1252'])('are written in %s', async (charset) => {
    speaker.speak({ charset });
    const { headers } = await speaker.get('/brands');
    expect(headers.get('content-type')).toBe(`application/json; charset=${charset}`);
    const bytes = await rawBytes('/brands');
    expect(bytes.includes(Buffer.from([0xf8]))).toBe(true);
    const { brandName } = JSON.parse(new TextDecoder(charset).decode(bytes)).data.brands[0];
    expect(brandName).toBe('Søholm Atelier');
    const comment = '“€ 5” ✓';
    const orderId = await speaker.order('C', { comment });
    const order = new TextDecoder(charset).decode(await rawBytes(`/orders/${orderId}`));
    expect(JSON.parse(order).data.comment).toBe(comment);
  });

  it('come from a cache with their age, unless fresh ones are asked for', async () => {
    speaker.speak({ cacheAge: '2h' });
    const age = async (path: string, headers = {}) =>
      (await speaker.get(path, headers)).headers.get('age');
    expect(await age('/variants/stock?limit=1')).toBe('7200');
    expect(await age('/orders')).toBe('7200');
    expect(await age('/orders/1')).toBeNull();
    const fresh = { 'cache-control': 'no-cache' };
    expect(await age('/variants/stock?limit=1', fresh)).toBeNull();
    speaker.speak({ cacheStubborn: true });
    expect(await age('/variants/stock?limit=1', fresh)).toBe('7200');
  });

  it('are given to a bearer of a token, in any header', async () => {
    const token = speaker.rig.headersOf('plain')['x-service-authorization'] ?? '';
    speaker.speak({ bearer: true });
    expect((await speaker.get('/brands')).status).toBe(401);
    const own = { 'x-service-authorization': `Bearer ${token}` };
    expect((await speaker.get('/brands', own)).status).toBe(200);
    speaker.rig.reference.knobs.patch({ deviations: { tokenHeader: 'authorization' } });
    expect((await speaker.get('/brands', own)).status).toBe(401);
    expect((await speaker.get('/brands', { authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await speaker.get('/brands', { authorization: token })).status).toBe(401);
  });

  it('need a brand for each list where the account wants one', async () => {
    speaker.speak({ brandRequired: true });
    for (const path of ['/variants/stock', '/variants/season?seasonName=SS27', '/seasons']) {
      const refused = await speaker.get(path);
      expect([refused.status, refused.json.invalid_data]).toEqual([
        422,
        ['brandName: is required'],
      ]);
    }
    const { brands } = (await speaker.get('/brands')).json.data;
    const counts = await Promise.all(
      brands.map(async ({ brandName }: { brandName: string }) => {
        const query = `brandName=${encodeURIComponent(brandName)}`;
        return (await speaker.get(`/variants/stock?${query}`)).json.data.count;
      }),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(240);
    expect((await speaker.get(`/variants/stock/${speaker.barcode()}`)).status).toBe(200);
  });
});
