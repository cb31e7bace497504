import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Rig, startRig } from '../support.ts';
import { type V2Client, v2Client } from './support.ts';

let rig: Rig;
let v2: V2Client;
beforeAll(async () => {
  rig = await startRig();
  v2 = await v2Client(rig);
});
afterAll(() => rig.reference.close());

function newStyle(styleNo: string, more: object = {}) {
  return {
    data: {
      type: 'style',
      attributes: { styleNo, styleName: 'Made up', ...more },
      relationships: { brand: { data: { type: 'brand', id: '2' } } },
    },
  };
}

describe('V2 writes', () => {
  it('adds a style and shows it in the list, by filter and by its address', async () => {
    const { status, headers, body } = await v2.send('POST', '/pdm/styles', newStyle('N1'));
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      type: 'style',
      attributes: { styleNo: 'N1', styleName: 'Made up', updatedAt: '2026-01-05T08:00:00.000Z' },
      relationships: { brand: { data: { id: '2' } }, styleColors: { data: [] } },
    });
    expect((await v2.follow(headers.get('location') ?? '')).body).toEqual(body);
    const found = await v2.get('/pdm/styles?filter[styleNo]=N1');
    expect(found.body.data).toEqual([body.data]);
  });

  it('changes a style, and V1 shows the change', async () => {
    const before = (await v2.get('/pdm/styles/7')).body.data;
    await rig.clock.advance(1_000);
    const changed = await v2.send('PATCH', '/pdm/styles/7', {
      data: { type: 'style', id: '7', attributes: { styleName: 'Renamed' } },
    });
    expect(changed.status).toBe(200);
    expect(changed.body.data.attributes).toEqual({
      ...before.attributes,
      styleName: 'Renamed',
      updatedAt: '2026-01-05T08:00:01.000Z',
    });
    const { styleNo } = before.attributes;
    const list = await rig.call('GET', `/variants/stock?styleNo=${styleNo}&detailed=true`);
    expect(list.body.data.variants[0].details.styleName).toBe('Renamed');
  });

  it('shows in V1 what a style was made to be: type, gender, origin, hidden', async () => {
    const to = (type: string, id: string) => ({ data: { type, id } });
    const { relationships, attributes } = (await v2.get('/pdm/styles/8')).body.data;
    const other = (name: string, ...ids: [string, string]) =>
      ids[Number(relationships[name].data.id === ids[0])] ?? '';
    const type = other('type', '2', '5');
    const gender = other('gender', '1', '4');
    const origin = other('countryOfOrigin', 'IT', 'CN');
    const changed = await v2.send('PATCH', '/pdm/styles/8', {
      data: {
        type: 'style',
        id: '8',
        attributes: { active: !attributes.active },
        relationships: {
          type: to('type', type),
          gender: to('gender', gender),
          countryOfOrigin: to('country', origin),
        },
      },
    });
    expect(changed.status).toBe(200);
    const path = `/variants/stock?styleNo=${attributes.styleNo}&detailed=true`;
    const [variant] = (await rig.call('GET', path)).body.data.variants;
    const nameOf = async (at: string) => (await v2.get(`/pdm/${at}`)).body.data.attributes.name;
    expect(variant.details).toMatchObject({
      type: await nameOf(`types/${type}`),
      gender: await nameOf(`genders/${gender}`),
      countryOfOrigin: origin,
      b2bHidden: attributes.active,
    });
  });

  it('points at each member that is wrong', async () => {
    const { status, body } = await v2.send('POST', '/pdm/styles', {
      data: { type: 'style', attributes: { styleName: 5, weight: 3 } },
    });
    expect(status).toBe(422);
    const pointers = body.errors.map((e: { source: { pointer: string } }) => e.source.pointer);
    expect(pointers).toContain('/data/attributes/styleNo');
    expect(pointers).toContain('/data/attributes/styleName');
    expect(pointers).toContain('/data/relationships');
    const missing = newStyle('N2');
    missing.data.relationships.brand.data.id = '999';
    const unknown = await v2.send('POST', '/pdm/styles', missing);
    expect(unknown.body.errors[0].source.pointer).toBe('/data/relationships/brand');
  });

  it('refuses a number that is taken, another id in the body and an unknown style', async () => {
    const { styleNo } = (await v2.get('/pdm/styles/3')).body.data.attributes;
    expect((await v2.send('POST', '/pdm/styles', newStyle(styleNo))).status).toBe(409);
    const patch = (id: string, attributes: object) => ({ data: { type: 'style', id, attributes } });
    expect((await v2.send('PATCH', '/pdm/styles/4', patch('4', { styleNo }))).status).toBe(409);
    expect((await v2.send('PATCH', '/pdm/styles/3', patch('3', { styleNo }))).status).toBe(200);
    expect((await v2.send('PATCH', '/pdm/styles/4', patch('5', {}))).status).toBe(409);
    expect((await v2.send('PATCH', '/pdm/styles/999', patch('999', {}))).status).toBe(404);
  });

  it.each(['brand', 'type'])('adds, renames and removes a %s that nobody uses', async (type) => {
    const path = `/pdm/${type}s`;
    const added = await v2.send('POST', path, { data: { type, attributes: { name: 'New' } } });
    expect(added.status).toBe(201);
    const { id } = added.body.data;
    const renamed = await v2.send('PATCH', `${path}/${id}`, {
      data: { type, id, attributes: { name: 'Newer' } },
    });
    expect(renamed.body.data.attributes).toEqual({ name: 'Newer' });
    const removed = await v2.send('DELETE', `${path}/${id}`);
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect((await v2.get(`${path}/${id}`)).status).toBe(404);
    const used = await v2.get('/pdm/styles/1');
    const inUse = used.body.data.relationships[type].data.id;
    expect((await v2.send('DELETE', `${path}/${inUse}`)).status).toBe(409);
  });

  it('renames a brand in V1 as well', async () => {
    const data = { type: 'brand', id: '1', attributes: { name: 'Renamed & Co' } };
    expect((await v2.send('PATCH', '/pdm/brands/1', { data })).status).toBe(200);
    const { brands } = (await rig.call('GET', '/brands')).body.data;
    expect(brands[0]).toEqual({ brandName: 'Renamed & Co' });
    const query = '/variants/stock?limit=1&detailed=true&brandName=Renamed%20%26%20Co';
    const { variants } = (await rig.call('GET', query)).body.data;
    expect(variants[0].details.brandName).toBe('Renamed & Co');
  });

  it('writes nothing for a read-only key, nor where the contract has no method', async () => {
    const reader = await v2Client(rig, 'readOnly');
    expect((await reader.get('/pdm/brands')).status).toBe(200);
    const body = { data: { type: 'brand', attributes: { name: 'x' } } };
    expect((await reader.send('POST', '/pdm/brands', body)).status).toBe(403);
    expect((await v2.send('DELETE', '/pdm/styles/1')).status).toBe(404);
    expect((await v2.send('POST', '/pdm/colors', body)).status).toBe(404);
  });

  it('answers unreadable bodies and other media types as JSON:API errors', async () => {
    const post = (type: string, text: string) =>
      fetch(`${rig.reference.v2Url}/auth/login`, {
        method: 'POST',
        headers: { 'content-type': type },
        body: text,
      });
    const unreadable = await post('application/vnd.api+json', '{');
    expect([unreadable.status, await unreadable.text()]).toEqual([
      400,
      expect.stringContaining('"errors"'),
    ]);
    expect((await post('text/csv', 'a,b')).status).toBe(415);
  });
});
