import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Transport } from '../../src/client/transport.ts';
import { createV2Client, type V2Client } from '../../src/client/v2/client.ts';
import type { V2Page, V2Pages, V2Paging } from '../../src/client/v2/pages.ts';
import { modelledFields, type ResourceType } from '../../src/client/v2/resources.ts';
import { PDM } from '../../src/mirror/catalog/pdm.ts';
import { type Rig, startRig } from '../reference/support.ts';
import { answerJson, impatient, rejection, startFaulty } from './support.ts';
import { loggedIn } from './v1-support.ts';

async function pagesOf<R>(pull: V2Pages<R>): Promise<V2Page<R>[]> {
  const pages: V2Page<R>[] = [];
  for await (const page of pull) pages.push(page);
  return pages;
}

const TYPES = ['style', 'styleColor', 'color', 'brand', 'type', 'gender', 'country'] as const;

describe('V2 against the reference service', () => {
  let rig: Rig;
  let transport: Transport;

  const clientWith = (paging: Partial<V2Paging> = {}): V2Client =>
    createV2Client(
      { baseUrl: rig.reference.v2Url, paging: { pageRows: 7, follow: 'token', ...paging } },
      loggedIn(rig, transport, 'v2'),
    );

  beforeEach(async () => {
    rig = await startRig({ auth: { loginSpacing: '0s' }, strict: true });
    transport = impatient();
  });
  afterEach(async () => {
    await transport[Symbol.asyncDispose]();
    await rig.reference.close();
  });

  it.each(TYPES)('reads the collection of every %s, page by page', async (type) => {
    const pages = await pagesOf(clientWith().collection(type));
    const rows = pages.flatMap((page) => page.rows);
    expect(rows.length).toBeGreaterThan(0);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    expect(pages.flatMap(({ rejects }) => rejects)).toEqual([]);
    const whole = await pagesOf(clientWith({ pageRows: 250, follow: 'links' }).collection(type));
    expect(whole.flatMap((page) => page.rows)).toEqual(rows);
  });

  it('gives the same pages by token and by links, rows pinned while others write', async () => {
    const read = async (follow: 'token' | 'links') => {
      const client = clientWith({ follow });
      const ids: string[] = [];
      for await (const page of client.collection('brand')) {
        ids.push(...page.rows.map(({ id }) => id));
        const name = `New ${follow} ${ids.length}`;
        await client.create('brand', { attributes: { name } });
      }
      return ids;
    };
    const byToken = await read('token');
    const byLinks = await read('links');
    expect(byToken).toHaveLength(3);
    expect(byLinks.slice(0, 3)).toEqual(byToken);
  });

  it('asks for the modelled fields only, and finds what is included by type and id', async () => {
    const query = {
      include: ['brand', 'styleColors.color'],
      fields: { style: modelledFields('style'), color: ['name'] },
    };
    const [page] = await pagesOf(clientWith({ pageRows: 250 }).collection('style', query));
    const [style] = page?.rows ?? [];
    expect(style?.attributes.styleNo).toMatch(/./);
    const brandId = style?.relationships.brand?.data?.id ?? '';
    expect(page?.included.of('brand').byId.get(brandId)?.attributes.name).toMatch(/./);
    const colors = page?.included.of('color');
    const colorId = page?.included.of('styleColor').byId.values().next().value;
    const color = colors?.byId.get(colorId?.relationships.color?.data?.id ?? '');
    expect(color?.attributes).toEqual({ name: expect.any(String) });
    expect(page?.included.wasArray).toBe(false);
    expect(page?.included.unknownTypes.size).toBe(0);
    for (const type of TYPES) expect(modelledFields(type).length).toBeGreaterThan(0);
  });

  it('filters, and says which filter the service does not know', async () => {
    const client = clientWith({ pageRows: 250 });
    const [styles] = await pagesOf(client.collection('style'));
    const brandId = styles?.rows[0]?.relationships.brand?.data?.id ?? '';
    const ofBrand = await pagesOf(client.collection('style', { filter: { brandId } }));
    const others = ofBrand[0]?.rows.filter((row) => row.relationships.brand?.data?.id !== brandId);
    expect(others).toEqual([]);
    const error = await rejection(pagesOf(client.collection('style', { filter: { nope: true } })));
    expect(error).toMatchObject({ name: 'RefusedError', code: 'service.bad_request' });
  });

  it('goes on behind any kept page while its token lives, and starts over after', async () => {
    const client = clientWith();
    const query = { fields: { style: ['styleNo'] } };
    const whole = await pagesOf(client.collection('style', query));
    expect(whole.length).toBeGreaterThan(3);
    for (const [index, page] of whole.entries()) {
      if (page.next === undefined) continue;
      const rest = await pagesOf(client.collection('style', query, { from: page.next }));
      expect(rest.map(({ rows }) => rows)).toEqual(whole.slice(index + 1).map(({ rows }) => rows));
    }
    const from = whole[0]?.next;
    const changed = await rejection(pagesOf(client.collection('style', {}, { from })));
    expect(changed).toMatchObject({ name: 'RetryLaterError', code: 'v2.page_token_expired' });
    await rig.clock.advance(700_000);
    const expired = await rejection(pagesOf(client.collection('style', query, { from })));
    expect(expired).toMatchObject({ name: 'RetryLaterError', code: 'v2.page_token_expired' });
  });

  it('reads one resource', async () => {
    const client = clientWith();
    const [page] = await pagesOf(client.collection('style'));
    const id = page?.rows[0]?.id ?? '';
    const { value, included } = await client.resource('style', id, { include: ['brand'] });
    expect(value).toEqual(page?.rows[0]);
    expect(included.of('brand').byId.size).toBe(1);
    const error = await rejection(client.resource('style', 'no/such'));
    expect(error).toMatchObject({ name: 'RefusedError', code: 'service.not_found' });
  });

  it('creates and changes where that is allowed', async () => {
    const client = clientWith();
    const { value: brand } = await client.create('brand', { attributes: { name: 'Fresh' } });
    const { value: style } = await client.create('style', {
      attributes: { styleNo: 'N-1', styleName: 'New' },
      relationships: { brand: { data: { type: 'brand', id: brand.id } } },
    });
    expect(style.relationships.brand?.data?.id).toBe(brand.id);
    const attributes = { styleName: 'Newer' };
    const changed = await client.update('style', style.id, { attributes });
    expect(changed.value.attributes.styleName).toBe('Newer');
    const refused = await rejection(client.create('brand', { attributes: {} }));
    expect(refused).toMatchObject({ name: 'RefusedError', lines: [expect.any(String)] });
  });
});

describe('V2 answers', () => {
  const serve = async (
    documents: (path: string) => unknown,
    use: (client: V2Client, seen: readonly string[]) => Promise<void>,
    follow: V2Paging['follow'] = 'token',
  ): Promise<void> => {
    await using server = await startFaulty((request, response) => {
      answerJson(response, 200, documents(request.url ?? ''));
    });
    await using transport = impatient();
    const options = { baseUrl: server.url, paging: { pageRows: 2, follow } };
    await use(createV2Client(options, transport), server.seen);
  };
  const brand = (id: string) => ({ type: 'brand', id, attributes: { name: id }, novelty: 1 });

  it('reads included as an array too, and tells', async () => {
    const included = [
      brand('1'),
      { type: 'planet', id: '9' },
      { type: 'brand', id: 2 },
      { type: 'brand' },
    ];
    await serve(
      () => ({ data: [{ type: 'style', id: '7' }], links: { next: null }, included }),
      async (client) => {
        const [page] = await pagesOf(client.collection('style'));
        expect(page?.rows[0]).toMatchObject({ attributes: {}, relationships: {} });
        expect(page?.included.wasArray).toBe(true);
        expect(page?.included.of('brand').byId.get('1')).toMatchObject({ novelty: 1 });
        expect(page?.included.of('brand').byId.get('2')).toMatchObject({ attributes: {} });
        expect(page?.included.of('brand').rejects).toMatchObject([{ path: 'id' }]);
        expect([...(page?.included.unknownTypes ?? [])]).toEqual([['planet', 1]]);
      },
    );
  });

  it('puts bad rows aside', async () => {
    const data = [
      brand('1'),
      { type: 'color', id: '2' },
      { type: 'brand', id: '3', attributes: 4 },
      { type: 'Brands', id: 4, attributes: [], relationships: [] },
      { type: 'brand', id: { of: 5 } },
    ];
    await serve(
      () => ({ data, links: { next: null } }),
      async (client) => {
        const [page] = await pagesOf(client.collection('brand'));
        expect(page?.rows.map(({ id }) => id)).toEqual(['1', '3', '4']);
        expect(page?.rows[1]).toMatchObject({ attributes: {} });
        expect(page?.rejects.map(({ path }) => path)).toEqual(['type', 'id']);
      },
    );
  });

  it.each(['token', 'links'] as const)('does not go round in circles by %s', async (follow) => {
    await serve(
      () => ({ data: [], links: { next: '/pdm/brands?page[limit]=2' }, meta: { pageToken: 't' } }),
      async (client, seen) => {
        const error = await rejection(pagesOf(client.collection('brand')));
        expect(error).toMatchObject({ name: 'RetryLaterError', code: 'v2.page_loop' });
        expect(seen.length).toBeLessThanOrEqual(3);
      },
      follow,
    );
  });

  it('uses only the query of a link, never its host', async () => {
    const next = 'https://elsewhere.example/x?page[limit]=2&page[offset]=2';
    await serve(
      (path) =>
        path.includes('offset')
          ? { data: [brand('3')], links: { next: null } }
          : { data: [brand('1'), brand('2')], links: { next } },
      async (client, seen) => {
        const pages = await pagesOf(client.collection('brand'));
        expect(pages.flatMap(({ rows }) => rows)).toHaveLength(3);
        expect(seen[1]).toContain('GET /pdm/brands?');
      },
      'links',
    );
  });

  it('does not follow a link that changes the question', async () => {
    await serve(
      () => ({ data: [brand('1')], links: { next: '?page[offset]=1&filter[active]=true' } }),
      async (client) => {
        const error = await rejection(pagesOf(client.collection('brand')));
        expect(error).toMatchObject({ code: 'transport.broken_answer' });
      },
      'links',
    );
  });

  it('does not follow a link that is no address', async () => {
    await serve(
      () => ({ data: [brand('1')], links: { next: 'http://[' } }),
      async (client) => {
        const error = await rejection(pagesOf(client.collection('brand')));
        expect(error).toMatchObject({ code: 'transport.broken_answer' });
      },
      'links',
    );
  });

  it.each(['token', 'links'] as const)(
    'sees by %s that the same page comes again',
    async (follow) => {
      let asked = 0;
      await serve(
        () => {
          asked += 1;
          const next = asked < 9 ? `?page[limit]=2&page[offset]=${asked * 2}` : null;
          return { data: [brand('1'), brand('2')], links: { next }, meta: { pageToken: 't' } };
        },
        async (client) => {
          const error = await rejection(pagesOf(client.collection('brand')));
          expect(error).toMatchObject({ name: 'RetryLaterError', code: 'v2.page_loop' });
          expect(asked).toBeLessThanOrEqual(3);
        },
        follow,
      );
    },
  );

  it('asks for whole resources where the account refuses a field', async () => {
    await using server = await startFaulty((request, response) => {
      const detail = 'fields_style: designer is unknown';
      if (request.url?.includes('fields_')) answerJson(response, 400, { errors: [{ detail }] });
      else answerJson(response, 200, { data: [{ type: 'style', id: '7' }], links: { next: null } });
    });
    await using transport = impatient();
    const options = { baseUrl: server.url, paging: { pageRows: 2, follow: 'token' } } as const;
    const query = { fields: { style: modelledFields('style') } };
    const sparse = createV2Client(options, transport);
    expect(await rejection(pagesOf(sparse.collection('style', query)))).toMatchObject({
      code: 'service.bad_request',
      hint: expect.stringContaining('service.dialect.v2.sparseFields'),
    });
    const whole = createV2Client({ ...options, sparseFields: false }, transport);
    const [page] = await pagesOf(whole.collection('style', query));
    expect(page?.rows).toMatchObject([{ id: '7' }]);
  });

  it('asks where the configuration says that a collection stands', async () => {
    const asked: string[] = [];
    await using server = await startFaulty((request, response) => {
      asked.push(`${request.method} ${request.url?.split('?')[0]}`);
      const isOne = request.method !== 'GET' || request.url?.endsWith('/1');
      answerJson(response, 200, { data: isOne ? brand('1') : [brand('1')] });
    });
    await using transport = impatient();
    const paging = { pageRows: 2, follow: 'token' } as const;
    const paths = { brand: 'catalog/labels' };
    const client = createV2Client({ baseUrl: server.url, paging, paths }, transport);
    await pagesOf(client.collection('brand'));
    await client.resource('brand', '1');
    await client.update('brand', '1', { attributes: { name: 'N' } });
    const at = '/pdm/catalog/labels';
    expect([...new Set(asked)]).toEqual([`GET ${at}`, `GET ${at}/1`, `PATCH ${at}/1`]);
  });

  it('ends behind a page that is not full when there are no links', async () => {
    await serve(
      (path) =>
        path.includes('offset')
          ? { data: [brand('3')] }
          : { data: [brand('1'), brand('2')], meta: { pageToken: 't' } },
      async (client, seen) => {
        const pages = await pagesOf(client.collection('brand'));
        expect(pages).toHaveLength(2);
        // Whether offsets count rows is looked at once, and once what is behind the short page.
        expect(seen).toHaveLength(4);
      },
    );
  });

  it('asks no further when it is called off, or nobody reads on', async () => {
    await using server = await startFaulty((request, response) => {
      // The second page never comes.
      if (request.url?.includes('offset')) return;
      answerJson(response, 200, { data: [brand('1')], links: { next: '?page[offset]=1' } });
    });
    await using transport = impatient({ retryWaitsMs: [] });
    const paging = { pageRows: 1, follow: 'links' } as const;
    const client = createV2Client({ baseUrl: server.url, paging }, transport);
    const outer = new AbortController();
    const calledOff = rejection(pagesOf(client.collection('brand', {}, { signal: outer.signal })));
    await expect.poll(() => server.seen.length).toBe(2);
    outer.abort(new Error('stopped'));
    expect(await calledOff).toMatchObject({ message: 'stopped' });
    for await (const _ of client.collection('brand')) break;
    await expect.poll(() => transport.limiter.active()).toBe(0);
  });

  it('is in doubt about an odd answer to a write', async () => {
    const link = { url: 'https://portal/#t=1', expiresAt: '2026-01-01T00:00:00Z' };
    await serve(
      () => ({ data: link }),
      async (client, seen) => {
        const error = await rejection(client.create('brand', { attributes: { name: 'x' } }));
        expect(error).toMatchObject({ name: 'InDoubtError' });
        expect(seen).toHaveLength(1);
      },
    );
  });

  it('reads attributes by their meaning, and keeps what cannot be read as it came', async () => {
    const odd = { a: 1 };
    const style = { styleNo: 'S', description: 1, designer: odd, active: 'yes', updatedAt: 7 };
    const named = { name: odd, code: 45 };
    const rowsOf = { style: PDM.styles, gender: PDM.genders, country: PDM.countries };
    const attributes = { style, gender: named, country: named };
    const rows: { readonly values: unknown; readonly extra: unknown }[] = [];
    for (const type of ['style', 'gender', 'country'] as const) {
      await serve(
        () => ({ data: [{ type, id: '1', attributes: attributes[type] }], links: { next: null } }),
        async (client) => {
          const [page] = await pagesOf(client.collection(type));
          const { values, extra } = rowsOf[type].toRow(page?.rows[0] ?? {});
          rows.push({ values, extra: JSON.parse(JSON.stringify(extra)) });
        },
      );
    }
    expect(rows).toMatchObject([
      {
        values: { description: '1', designer: null, active: 1 },
        extra: { attributes: { designer: odd } },
      },
      { values: { name: null }, extra: { attributes: { name: odd } } },
      { values: { name: null, code: '45' }, extra: { attributes: { name: odd } } },
    ]);
  });

  it('puts no style aside for relationships whose form nobody knows', async () => {
    const type = { data: [{ type: 'type', id: '3' }] };
    const relationships = { type, gender: { data: { type: 'gender', id: 2 } }, countryOfOrigin: 7 };
    const style = { type: 'style', id: '1', attributes: { styleNo: 'S' }, relationships };
    await serve(
      () => ({ data: [style], links: { next: null } }),
      async (client) => {
        const [page] = await pagesOf(client.collection('style'));
        const row = PDM.styles.toRow(page?.rows[0] ?? {});
        expect(row.values).toMatchObject({ type_id: null, gender_id: '2', country_id: null });
        // Nothing of them is lost.
        expect(JSON.parse(JSON.stringify(row.extra))).toEqual({
          relationships: { type, countryOfOrigin: 7 },
        });
      },
    );
  });

  it('takes a list that is none for a failed read', async () => {
    const types: readonly ResourceType[] = ['style', 'color'];
    for (const type of types) {
      await serve(
        () => ({ data: { id: '1' }, links: { next: null } }),
        async (client) => {
          const error = await rejection(pagesOf(client.collection(type)));
          expect(error).toMatchObject({ name: 'RetryLaterError' });
        },
      );
    }
  });
});
