import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Rig, startRig } from '../support.ts';
import { type V2Client, v2Client } from './support.ts';

let rig: Rig;
let v2: V2Client;
beforeAll(async () => {
  rig = await startRig();
  v2 = await v2Client(rig);
});
afterAll(() => rig.reference.close());

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

describe('V2 log-in', () => {
  it('gives a token with its end, refuses wrong secrets and haste', async () => {
    const { v2Url, credentials } = rig.reference;
    const login = (body: object) =>
      fetch(`${v2Url}/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const { clientId, clientSecret } = credentials.b2b ?? {};
    const good = await login({ clientId, clientSecret });
    expect(good.status).toBe(200);
    expect(await good.json()).toEqual({
      data: { token: expect.any(String), expiresAt: '2026-01-05T08:15:00.000Z' },
    });
    const hasty = await login({ clientId, clientSecret });
    expect([hasty.status, hasty.headers.get('retry-after')]).toEqual([429, '6']);
    expect((await login({ clientId: 'nobody', clientSecret: 'x' })).status).toBe(401);
    const incomplete = await login({ clientID: 'V1 spelling' });
    expect(incomplete.status).toBe(422);
    expect(await incomplete.text()).toContain('/clientSecret');
  });

  it('wants a living token everywhere else', async () => {
    const without = await v2.raw('GET', '/pdm/styles', {});
    expect(without.status).toBe(401);
    expect(without.body.errors[0]).toMatchObject({ status: '401', code: 'unauthorized' });
    const wrong = await v2.raw('GET', '/pdm/styles', { 'x-service-authorization': 'x' });
    expect(wrong.status).toBe(401);
  });
});

describe('a request to no address', () => {
  it.each(['', 'a b'])('is the mistake of who sent it: "%s"', async (host) => {
    const { statusCode, body } = await request(`${rig.reference.v2Url}/auth/login`, {
      method: 'POST',
      headers: { host, 'content-type': 'application/json' },
      body: '{"clientId":"nobody","clientSecret":"x"}',
    });
    expect([statusCode, await body.text()]).toEqual([400, expect.stringContaining('Host')]);
  });
});

describe('V2 resources', () => {
  it('shows a style with attributes and relationships, in the media type of JSON:API', async () => {
    const { status, headers, body } = await v2.get('/pdm/styles/1');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/vnd.api+json']);
    expect(body).toEqual({
      data: {
        type: 'style',
        id: '1',
        attributes: {
          styleNo: expect.stringMatching(/^S\d+$/),
          styleName: expect.any(String),
          description: expect.any(String),
          designer: expect.any(String),
          active: expect.any(Boolean),
          updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        },
        relationships: {
          brand: { data: { type: 'brand', id: '1' } },
          type: { data: { type: 'type', id: expect.any(String) } },
          gender: { data: { type: 'gender', id: expect.any(String) } },
          countryOfOrigin: { data: { type: 'country', id: expect.stringMatching(/^[A-Z]{2}$/) } },
          styleColors: {
            data: [
              { type: 'styleColor', id: '1' },
              { type: 'styleColor', id: '2' },
            ],
          },
        },
      },
    });
  });

  it.each([
    ['styles', 'style', 30],
    ['style-colors', 'styleColor', 60],
    ['colors', 'color', 48],
    ['brands', 'brand', 3],
    ['types', 'type', 10],
    ['genders', 'gender', 4],
    ['countries', 'country', 7],
  ])('lists %s and shows one of them', async (path, type, total) => {
    const list = await v2.get(`/pdm/${path}?page[limit]=250`);
    expect(list.status).toBe(200);
    expect(list.body.data).toHaveLength(total);
    expect(list.body.links).toMatchObject({ prev: null, next: null });
    const first = list.body.data[0];
    expect(first.type).toBe(type);
    const one = await v2.get(`/pdm/${path}/${first.id}`);
    expect(one.body).toEqual({ data: first });
    expect((await v2.get(`/pdm/${path}/0`)).status).toBe(404);
  });

  it('shows the colors of one style', async () => {
    const { body } = await v2.get('/pdm/styles/2/style-colors?include=color');
    expect(idsOf(body.data)).toEqual(['3', '4']);
    expect(Object.keys(body.included.color)).toHaveLength(2);
    expect((await v2.get('/pdm/styles/999/style-colors')).status).toBe(404);
    const [{ id }] = body.data;
    const one = await v2.get(`/pdm/styles/2/style-colors/${id}?include=color`);
    expect(one).toMatchObject({ status: 200, body: { data: { type: 'styleColor', id } } });
    expect(one.body.data).toEqual((await v2.get(`/pdm/style-colors/${id}`)).body.data);
    for (const path of [`3/style-colors/${id}`, '2/style-colors/x', `999/style-colors/${id}`]) {
      expect((await v2.get(`/pdm/styles/${path}`)).status).toBe(404);
    }
  });

  it('agrees with V1 on style numbers and color codes', async () => {
    const { styleNo } = (await v2.get('/pdm/styles/3')).body.data.attributes;
    const list = await rig.call('GET', `/variants/stock?styleNo=${styleNo}&detailed=true`);
    const included = (await v2.get('/pdm/styles/3?include=styleColors.color')).body.included;
    const codes = new Set(
      Object.values<{ attributes: { code: string } }>(included.color).map((c) => c.attributes.code),
    );
    const seen = new Set(list.body.data.variants.map((v: { colorCode: string }) => v.colorCode));
    expect(seen).toEqual(codes);
  });
});

describe('V2 include and fields', () => {
  it('includes by type and then by id, the steps of a nested path as well', async () => {
    const { body } = await v2.get('/pdm/styles/1?include=brand,styleColors.color');
    expect(Object.keys(body.included).sort()).toEqual(['brand', 'color', 'styleColor']);
    expect(body.included.brand['1']).toMatchObject({ type: 'brand', id: '1' });
    expect(Object.keys(body.included.styleColor)).toEqual(['1', '2']);
    const color = body.included.styleColor['1'].relationships.color.data;
    expect(body.included.color[color.id]).toMatchObject(color);
  });

  it('has no included when none was asked for', async () => {
    expect((await v2.get('/pdm/styles')).body).not.toHaveProperty('included');
  });

  it('leaves out what fields_<type> does not name, in included types too', async () => {
    const query = 'include=brand,styleColors&fields_style=styleNo,brand&fields_styleColor=active';
    const { body } = await v2.get(`/pdm/styles/1?${query}`);
    expect(Object.keys(body.data.attributes)).toEqual(['styleNo']);
    expect(Object.keys(body.data.relationships)).toEqual(['brand']);
    expect(body.included.styleColor['1'].relationships).toEqual({});
    expect(body.included.styleColor['1'].attributes).toEqual({ active: expect.any(Boolean) });
    expect(body.included.brand['1'].attributes).toHaveProperty('name');
  });

  it.each([
    ['include=nothing', 'unknown_include'],
    ['include=brand.color', 'unknown_include'],
    ['fields_style=size', 'unknown_field'],
    ['fields_shoe=size', 'unknown_type'],
    ['filter[size]=1', 'unknown_filter'],
  ])('refuses %s', async (query, code) => {
    const { status, headers, body } = await v2.get(`/pdm/styles?${query}`);
    expect([status, headers.get('content-type')]).toEqual([400, 'application/vnd.api+json']);
    const parameter = query.split('=')[0];
    expect(body.errors[0]).toMatchObject({ status: '400', code, source: { parameter } });
    expect(body.errors[0].title).toBe('Bad Request');
  });
});

describe('V2 filters', () => {
  it('filters styles by brand and colors by active', async () => {
    const styles = (await v2.get('/pdm/styles?filter[brandId]=2&page[limit]=250')).body.data;
    expect(styles).toHaveLength(10);
    for (const style of styles) expect(style.relationships.brand.data.id).toBe('2');
    const inactive = (await v2.get('/pdm/colors?filter[active]=false')).body.data;
    expect(inactive.length).toBeGreaterThan(0);
    for (const color of inactive) expect(color.attributes.active).toBe(false);
    expect((await v2.get('/pdm/styles?filter[brandId]=77')).body.data).toEqual([]);
  });

  it.each(['filter[brand.id]', 'filter[]'])('knows no %s, strict or not', async (name) => {
    onTestFinished(() => void rig.reference.knobs.patch({ strict: true }));
    rig.reference.knobs.patch({ strict: false });
    const { status, body } = await v2.get(`/pdm/styles?${name}=1`);
    expect(status).toBe(400);
    expect(body.errors[0]).toMatchObject({ code: 'unknown_filter', source: { parameter: name } });
  });
});

describe('V2 paging', () => {
  it('has 50 rows a page unless asked otherwise, and at most 250', async () => {
    expect((await v2.get('/pdm/style-colors')).body.data).toHaveLength(50);
    for (const limit of ['0', '251', 'x']) {
      expect((await v2.get(`/pdm/style-colors?page[limit]=${limit}`)).status).toBe(400);
    }
  });

  it('goes through links from the first page to the last, and back', async () => {
    const ids: string[] = [];
    let page = await v2.get('/pdm/style-colors?page[limit]=25&fields_styleColor=active');
    expect(page.body.links.prev).toBeNull();
    for (;;) {
      ids.push(...idsOf(page.body.data));
      expect(page.body.data[0].relationships).toEqual({});
      if (page.body.links.next === null) break;
      page = await v2.follow(page.body.links.next);
    }
    expect(ids).toEqual(Array.from({ length: 60 }, (_, index) => String(index + 1)));
    const first = await v2.follow(page.body.links.first);
    expect(first.body.data[0].id).toBe('1');
    const last = await v2.follow(first.body.links.last);
    expect(idsOf(last.body.data)).toEqual(ids.slice(50));
    const before = await v2.follow(last.body.links.prev);
    expect(before.body.data[0].id).toBe('26');
  });

  it('goes on by token and offset', async () => {
    const { meta } = (await v2.get('/pdm/style-colors?page[limit]=10')).body;
    const token = `page[token]=${meta.pageToken}`;
    const next = await v2.get(`/pdm/style-colors?page[limit]=10&${token}&page[offset]=10`);
    expect(next.body.data[0].id).toBe('11');
  });

  it('refuses changed parameters, a token of elsewhere and an offset without token', async () => {
    const { meta } = (await v2.get('/pdm/style-colors?page[limit]=10')).body;
    const token = `page[token]=${meta.pageToken}&page[offset]=10`;
    const changed = [
      `/pdm/style-colors?page[limit]=20&${token}`,
      `/pdm/style-colors?${token}`,
      `/pdm/style-colors?page[limit]=10&filter[active]=true&${token}`,
      `/pdm/colors?page[limit]=10&${token}`,
    ];
    for (const path of changed) {
      const { status, body } = await v2.get(path);
      expect([status, body.errors[0].code]).toEqual([400, 'parameter_changed']);
    }
    expect((await v2.get('/pdm/colors?page[offset]=10')).status).toBe(400);
  });

  it('keeps rows in place while others come and go', async () => {
    const first = await v2.get('/pdm/brands?page[limit]=2');
    const added = await v2.send('POST', '/pdm/brands', {
      data: { type: 'brand', attributes: { name: 'Later' } },
    });
    const second = await v2.follow(first.body.links.next);
    expect(idsOf(second.body.data)).toEqual(['3']);
    await v2.send('DELETE', `/pdm/brands/${added.body.data.id}`);
  });

  it('lets a token expire', async () => {
    const { links } = (await v2.get('/pdm/style-colors?page[limit]=10')).body;
    await rig.clock.advance(600_000);
    const { status, body } = await v2.follow(links.next);
    expect([status, body.errors[0].code]).toEqual([400, 'page_token_expired']);
  });
});
