import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inTurns, stockSource, wholeList } from '../../src/reference/v1/lists.ts';
import { createRowWriter } from '../../src/reference/v1/variant-rows.ts';
import { isEan13 } from '../../src/reference/world/catalog/catalog.ts';
import { type Rig, startRig } from './support.ts';

describe('V1 log-in and catalog of the reference service', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.reference.close());

  const login = (clientID: string, clientSecret: string) =>
    rig.call('POST', '/auth/login', { headers: {}, body: { clientID, clientSecret } });

  it('gives a token for 15 minutes, one log-in per 6 s', async () => {
    const { clientId, clientSecret } = rig.reference.credentials.plain ?? {
      clientId: '',
      clientSecret: '',
    };
    const first = await login(clientId, clientSecret);
    expect([first.status, Object.keys(first.body.data)]).toEqual([200, ['token']]);
    const tooFast = await login(clientId, clientSecret);
    expect([tooFast.status, tooFast.headers.get('retry-after')]).toEqual([429, '6']);
    const headers = { 'x-service-authorization': String(first.body.data.token) };
    expect((await rig.call('GET', '/orders', { headers })).status).toBe(200);
    await rig.clock.advance(15 * 60_000);
    expect((await rig.call('GET', '/orders', { headers })).status).toBe(401);
    const again = await login(clientId, clientSecret);
    expect(again.status).toBe(200);
    rig.reference.keys.revokeAll();
    const revoked = { 'x-service-authorization': String(again.body.data.token) };
    expect((await rig.call('GET', '/orders', { headers: revoked })).status).toBe(401);
    expect((await login('nobody', 'x')).status).toBe(401);
    expect((await login('', 'x')).status).toBe(422);
  });

  it('refuses strangers with 401 and a read token outside the catalog with 403', async () => {
    const { status, body } = await rig.call('GET', '/brands', { headers: {} });
    expect([status, body]).toEqual([
      401,
      { status: 401, message: 'Missing, unknown or expired token or key', data: {} },
    ]);
    const headers = rig.headersOf('readOnly');
    for (const path of ['/brands', '/freight', '/seasons', '/variants/stock']) {
      expect((await rig.call('GET', path, { headers })).status).toBe(200);
    }
    expect((await rig.call('GET', '/orders', { headers })).status).toBe(403);
    expect((await rig.call('POST', '/orders', { headers, body: {} })).status).toBe(403);
  });

  it('has brands, freight and seasons with their deliveries', async () => {
    const brands = (await rig.call('GET', '/brands')).body.data;
    expect(brands).toEqual({ count: 3, brands: expect.any(Array) });
    const freight = (await rig.call('GET', '/freight')).body.data;
    expect(freight.count).toBe(freight.freightOptions.length);
    const seasons = (await rig.call('GET', '/seasons')).body.data;
    expect(seasons.seasons.map((one: { seasonName: string }) => one.seasonName)).toEqual([
      'SS25',
      'AW25',
      'SS26',
      'AW26',
      'SS27',
    ]);
    expect(seasons.seasons[4].deliveryNames).toEqual(['SS27 Drop 1', 'SS27 Drop 2', 'SS27 Drop 3']);
    const brandName = encodeURIComponent(brands.brands[0].brandName);
    expect((await rig.call('GET', `/seasons?brandName=${brandName}`)).body.data.count).toBe(5);
    expect((await rig.call('GET', '/seasons?brandName=none')).body.data.count).toBe(0);
  });

  it('gives the whole list in one body and the same rows page by page', async () => {
    const whole = (await rig.call('GET', '/variants/stock')).body.data;
    expect(whole.count).toBe(240);
    expect(whole.variants).toHaveLength(240);
    const paged: unknown[] = [];
    for (let page = 1; page <= 4; page += 1) {
      const { data } = (await rig.call('GET', `/variants/stock?page=${page}&limit=70`)).body;
      expect(data.count).toBe(240);
      paged.push(...data.variants);
    }
    expect(paged).toEqual(whole.variants);
    expect(Object.keys(whole.variants[0])).toEqual(['barcode', 'quantity']);
    expect(whole.variants.every((row: { barcode: string }) => isEan13(row.barcode))).toBe(true);
    const beyond = (await rig.call('GET', '/variants/stock?page=9&limit=70')).body.data;
    expect(beyond).toEqual({ count: 240, variants: [] });
  });

  it('gives each of many pages asked for at once its own rows', async () => {
    const whole = (await rig.call('GET', '/variants/stock?detailed=true')).body.data.variants;
    const asked = Array.from({ length: 60 }, (_, nth) => 1 + (nth % 24));
    const pages = await Promise.all(
      asked.map(async (page) => {
        const path = `/variants/stock?detailed=true&page=${page}&limit=10`;
        return (await rig.call('GET', path)).body.data.variants;
      }),
    );
    for (const [nth, page] of asked.entries()) {
      expect(pages[nth]).toEqual(whole.slice((page - 1) * 10, page * 10));
    }
  });

  it('does not let stock that moves into a list that has begun', async () => {
    const { stock } = rig.reference.world;
    const source = stockSource(stock);
    const kept = stock.of(200);
    const write = createRowWriter(rig.reference.world, {
      ...{ detailed: true, currency: 'EUR', discountPercentage: undefined, season: undefined },
    });
    // All of them twice: more than one piece holds.
    const all = [0, 300] as const;
    const list = wholeList(source, [all, all], write);
    const first = list.next().value ?? Buffer.alloc(0);
    stock.set(200, 0);
    const text = Buffer.concat([first, ...list]).toString();
    stock.set(200, kept);
    const { data } = JSON.parse(text);
    expect(first.length).toBeLessThan(text.length);
    expect(data.variants).toHaveLength(data.count);
    expect(data.count).toBe(480);
  });

  it('answers another request before the next piece of a list that is being sent', async () => {
    // Some 40 pieces, of which the sockets take all at once.
    const pieces = Array.from({ length: 40 }, () => Buffer.alloc(1_024));
    const sent: string[] = [];
    function* list(): Generator<Buffer> {
      for (const [at, piece] of pieces.entries()) {
        sent.push(`piece ${at}`);
        yield piece;
      }
    }
    setImmediate(() => sent.push('another'));
    const body = Readable.from(inTurns(list()), { objectMode: false, highWaterMark: 1_048_576 });
    expect(Buffer.concat(await body.toArray())).toEqual(Buffer.concat(pieces));
    expect(sent.slice(0, 3)).toEqual(['piece 0', 'another', 'piece 1']);
  });

  it('shows details when asked, and the single row is the row of the list', async () => {
    const { variants } = (await rig.call('GET', '/variants/stock?detailed=true')).body.data;
    const [row] = variants;
    expect(row).toMatchObject({ variantType: 'size', details: { size: 'XS', currency: 'EUR' } });
    expect(Object.keys(row.details)).toHaveLength(23);
    const single = await rig.call('GET', `/variants/stock/${row.barcode}?detailed=true`);
    expect(single.body.data).toEqual({ variant: row });
    const kinds = new Set(variants.map((one: { variantType: string }) => one.variantType));
    expect(kinds).toEqual(new Set(['size', 'assortment']));
    expect((await rig.call('GET', '/variants/stock/5701234567890')).status).toBe(404);
  });

  it('filters by brand, style number and text', async () => {
    const get = async (query: string) =>
      (await rig.call('GET', `/variants/stock?detailed=true&${query}`)).body.data;
    const [row] = (await get('')).variants;
    const { brandName, styleNo, colorName } = row.details;
    const ofBrand = await get(`brandName=${encodeURIComponent(brandName)}`);
    expect(ofBrand.count).toBe(80);
    const ofStyle = await get(`styleNo=${styleNo}`);
    expect(ofStyle.variants.map((one: typeof row) => one.details.styleNo)).toEqual(
      Array(10).fill(styleNo),
    );
    expect((await get(`search=${row.barcode}`)).variants).toEqual([row]);
    const ofColor = await get(`search=${encodeURIComponent(colorName.toUpperCase())}`);
    expect(ofColor.variants).toContainEqual(row);
    expect(ofColor.count).toBeLessThan(240);
    expect((await get('brandName=none')).count).toBe(0);
  });

  it('answers 422 for parameters out of range', async () => {
    const { status, body } = await rig.call('GET', '/variants/stock?limit=251&page=0&detailed=1');
    expect(status).toBe(422);
    expect(body.invalid_data.map((line: string) => line.split(':')[0]).sort()).toEqual([
      'detailed',
      'limit',
      'page',
    ]);
  });

  it('is the same world for the same seed, to the byte, and another for another', async () => {
    const list = async (seed: number) => {
      const other = await startRig({ world: { seed } });
      const { text } = await other.call('GET', '/variants/stock?detailed=true');
      await other.reference.close();
      return text;
    };
    const [one, same, another] = await Promise.all([list(11), list(11), list(12)]);
    expect(one).toBe(same);
    expect(one).not.toBe(another);
  });

  it('envelopes what is not there', async () => {
    const { status, body } = await rig.call('GET', '/nothing');
    expect([status, body]).toEqual([
      404,
      { status: 404, message: 'There is no such endpoint', data: {} },
    ]);
  });
});
