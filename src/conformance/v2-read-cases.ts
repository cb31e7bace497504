/** Cases for section 5 of the wire contract: reading V2. */

import { collectionSchema, errorsSchema, singleSchema } from '../reference/v2/schemas.ts';
import { type Answer, type Api, checkShape, type Row, TOKEN_HEADER } from './api.ts';
import { type Case, define, type Mark } from './case.ts';
import { demand, given } from './findings.ts';

const MEDIA_TYPE = 'application/vnd.api+json';
const COLLECTIONS = [
  ['styles', 'style', 'S'],
  ['colors', 'color', 'S'],
  ['style-colors', 'styleColor', 'C'],
  ['brands', 'brand', 'C'],
  ['types', 'type', 'C'],
  ['genders', 'gender', 'C'],
  ['countries', 'country', 'C'],
] as const;

function read(id: string, mark: Mark, statement: string, run: Case['run']): Case {
  return define(id, mark, statement, run, 'v2');
}

async function get(api: Api, path: string): Promise<Row> {
  const answer = await api.v2(path);
  demand(answer.status === 200, `${path}: status ${answer.status}`);
  return answer.body;
}

async function firstStyle(api: Api, query = ''): Promise<Row> {
  const list = await get(api, `/pdm/styles?page[limit]=1${query && `&${query}`}`);
  return { ...list, style: given(list.data[0], 'no style') };
}

async function refusedParameter(api: Api, query: string): Promise<Answer> {
  const answer = await api.v2(`/pdm/styles?${query}`);
  demand(answer.status === 400, `${query}: status ${answer.status}`);
  return answer;
}

const accessCases: readonly Case[] = [
  read('v2-login', 'S', 'POST /auth/login takes clientId and clientSecret', async (api) => {
    const { status } = given((await api.session('v2')).login, 'no log-in');
    demand(status === 200, `status ${status}`);
  }),
  read('v2-login-token', 'C', 'the log-in answers data.token and data.expiresAt', async (api) => {
    const { pointer, login } = await api.session('v2');
    const answer = given(login, 'no log-in');
    const flat = { 'deviations.v2TokenFlat': pointer === '/token' };
    demand(pointer === '/data/token', `the token stands at ${pointer}`, {
      config: { 'service.dialect.v2.tokenPointers': [pointer] },
      knobs: flat,
    });
    const { expiresAt } = answer.body.data;
    demand(!Number.isNaN(Date.parse(expiresAt)), `expiresAt ${expiresAt}`);
  }),
  read('v2-token-header', 'S', `the token goes in ${TOKEN_HEADER}`, async (api) => {
    const { header, scheme } = await api.session('v2');
    const config = {
      'service.dialect.v2.tokenHeader': header,
      'service.dialect.v2.tokenScheme': scheme,
    };
    const isUsual = header.toLowerCase() === TOKEN_HEADER.toLowerCase() && scheme === 'plain';
    demand(isUsual, `it goes in ${header}`, { config });
  }),
  read('v2-no-token', 'S', 'a request without token is answered 401', async (api) => {
    const { status } = await api.v2('/pdm/styles', { headers: {} });
    demand(status === 401, `status ${status}`);
  }),
  read('v2-media-type', 'C', `answers are ${MEDIA_TYPE}`, async (api) => {
    const type = (await api.v2('/pdm/colors')).headers.get('content-type') ?? '';
    const knobs = { 'deviations.plainMediaType': true };
    demand(type.startsWith(MEDIA_TYPE), `content type ${type}`, { knobs });
  }),
  read('v2-errors', 'C', 'errors are JSON:API errors', async (api) => {
    const { status, body } = await api.v2('/pdm/styles/no-such-style');
    demand(status === 404, `status ${status}`);
    checkShape(errorsSchema, body, api.extras);
  }),
  read('v2-description', 'S', 'V2 is described in OpenAPI 3.1.0, version 2.1.3', async (api) => {
    const { openapi, info } = await get(api, '/openapi.json');
    demand(openapi === '3.1.0' && info.version === '2.1.3', `${openapi}, ${info.version}`);
  }),
];

const collectionCases: readonly Case[] = COLLECTIONS.map(([path, type, mark]) =>
  read(`v2-${path}`, mark, `GET /pdm/${path} and /pdm/${path}/{id}`, async (api) => {
    const list = await get(api, `/pdm/${path}?page[limit]=5`);
    checkShape(collectionSchema(type).shape.data, list.data, api.extras);
    const { id } = given(list.data[0], `no ${path}`);
    const one = await get(api, `/pdm/${path}/${encodeURIComponent(id)}`);
    checkShape(singleSchema(type), one, api.extras);
    demand(one.data.id === id, `id ${one.data.id}`);
  }),
);

const documentCases: readonly Case[] = [
  read('v2-style', 'S', 'a style has styleNo, styleName, brand and styleColors', async (api) => {
    const { style } = await firstStyle(api);
    demand(typeof style.id === 'string', `id ${JSON.stringify(style.id)}`);
    for (const name of ['styleNo', 'styleName']) {
      demand(name in style.attributes, `attributes ${Object.keys(style.attributes)}`);
    }
    const { brand, styleColors } = style.relationships;
    demand(typeof brand?.data?.id === 'string', 'brand is not to one');
    demand(Array.isArray(styleColors?.data), 'styleColors is not to many');
  }),
  read('v2-style-colors-of', 'S', 'GET /pdm/styles/{id}/style-colors', async (api) => {
    const { style } = await firstStyle(api);
    const { data } = await get(api, `/pdm/styles/${style.id}/style-colors`);
    const wanted = style.relationships.styleColors.data.map((one: Row) => one.id).sort();
    const seen = data.map((one: Row) => one.id).sort();
    demand(JSON.stringify(seen) === JSON.stringify(wanted), `${seen} for ${wanted}`);
    const one = await get(api, `/pdm/styles/${style.id}/style-colors/${wanted[0]}`);
    demand(one.data.id === wanted[0], `${one.data.id} for ${wanted[0]}`);
  }),
  read('v2-included', 'S', 'included is keyed by type and then by id', async (api) => {
    const { style, included } = await firstStyle(api, 'include=brand');
    const knobs = { 'deviations.includedArray': Array.isArray(included) };
    demand(!Array.isArray(included), 'it is an array', { knobs });
    const { id } = style.relationships.brand.data;
    demand(included?.brand?.[id]?.id === id, `members ${Object.keys(included ?? {})}`);
  }),
  read('v2-include-nested', 'S', 'include follows paths: styleColors.color', async (api) => {
    const { included } = await firstStyle(api, 'include=styleColors.color');
    const types = Object.keys(included ?? {})
      .sort()
      .join(', ');
    demand(Array.isArray(included) || types === 'color, styleColor', `included ${types}`);
  }),
  read('v2-not-included', 'S', 'nothing is included unasked', async (api) => {
    demand(!('included' in (await firstStyle(api))), 'included is there');
  }),
  read('v2-fields', 'S', 'fields_<type> picks attributes and relationships', async (api) => {
    const { style } = await firstStyle(api, 'fields_style=styleNo,brand');
    const attributes = Object.keys(style.attributes).join(', ');
    const relationships = Object.keys(style.relationships).join(', ');
    demand(attributes === 'styleNo', `attributes ${attributes}`);
    demand(relationships === 'brand', `relationships ${relationships}`);
  }),
  read('v2-fields-included', 'S', 'fields_<type> holds for included types', async (api) => {
    const query = 'include=styleColors&fields_styleColor=active';
    const { included } = await firstStyle(api, query);
    const rows: Row[] = Array.isArray(included)
      ? included
      : Object.values(included?.styleColor ?? {});
    for (const row of rows) {
      const names = Object.keys(row.attributes).join(', ');
      demand(names === 'active', `attributes ${names}`);
      demand(Object.keys(row.relationships ?? {}).length === 0, 'relationships are there');
    }
  }),
  read('v2-filter-brand', 'S', 'filter[brandId] filters styles', async (api) => {
    const { style } = await firstStyle(api);
    const { id } = style.relationships.brand.data;
    const { data } = await get(api, `/pdm/styles?filter[brandId]=${id}`);
    demand(data.length > 0, `no style of brand ${id}`);
    for (const row of data) {
      demand(row.relationships.brand.data.id === id, `brand ${row.relationships.brand.data.id}`);
    }
  }),
  read('v2-filter-active', 'S', 'filter[active] filters colors', async (api) => {
    for (const active of [true, false]) {
      const { data } = await get(api, `/pdm/colors?filter[active]=${active}`);
      for (const row of data) demand(row.attributes.active === active, `not ${active}: ${row.id}`);
    }
  }),
  read('v2-unknown-include', 'C', 'an unknown include is answered 400', async (api) => {
    await refusedParameter(api, 'include=nothing');
  }),
  read('v2-unknown-field', 'C', 'an unknown field is answered 400', async (api) => {
    await refusedParameter(api, 'fields_style=nothing');
  }),
  read('v2-unknown-filter', 'C', 'an unknown filter is answered 400', async (api) => {
    await refusedParameter(api, 'filter[nothing]=1');
  }),
];

/** Reads the first page of styles; with fewer than `limit` of them the case is not tried. */
async function paged(api: Api, limit: number): Promise<Row> {
  const list = await get(api, `/pdm/styles?page[limit]=${limit}`);
  given(list.data[limit - 1], 'too few styles to page');
  return list;
}

const pageCases: readonly Case[] = [
  read('v2-page-default', 'C', 'a page has 50 rows, and at most 250', async (api) => {
    const { data, links } = await get(api, '/pdm/style-colors');
    demand(data.length === 50 || links.next === null, `it has ${data.length}`);
    for (const limit of [0, 251]) await refusedParameter(api, `page[limit]=${limit}`);
  }),
  read('v2-links', 'S', 'collections have links first, last, prev and next', async (api) => {
    const { links } = await paged(api, 5);
    for (const name of ['first', 'last', 'prev', 'next']) {
      demand(name in (links ?? {}), `links ${Object.keys(links ?? {})}`);
    }
  }),
  read('v2-prev-first', 'S', 'links.prev is null on the first page', async (api) => {
    const { links } = await paged(api, 5);
    const knobs = { 'deviations.prevOnFirstPage': true };
    demand(links.prev === null, `prev ${links.prev}`, { knobs });
  }),
  read('v2-links-walk', 'S', 'following next visits every row once', async (api) => {
    const ids: string[] = [];
    let list = await paged(api, 5);
    given(list.links.next ?? undefined, 'one page of styles only');
    for (let turn = 0; turn < 3; turn += 1) {
      ids.push(...list.data.map((row: Row) => row.id));
      if (list.links.next === null) break;
      list = (await api.follow(list.links.next)).body;
    }
    demand(new Set(ids).size === ids.length, 'a row came twice');
    demand(ids.length > 5, `only ${ids.length} rows`);
  }),
  read('v2-page-token', 'S', 'meta.pageToken comes with the first answer', async (api) => {
    const { meta } = await paged(api, 5);
    const knobs = { 'deviations.pageTokenMissing': true };
    demand(typeof meta?.pageToken === 'string', `meta ${JSON.stringify(meta)}`, { knobs });
  }),
  read('v2-page-offset', 'S', 'page[token] and page[offset] give the next page', async (api) => {
    const { data, links } = await paged(api, 5);
    const params = new URL(given(links.next ?? undefined, 'one page only')).searchParams;
    const token = given(params.get('page[token]') ?? undefined, 'no token in its links');
    const path = `/pdm/styles?page[limit]=5&page[token]=${encodeURIComponent(token)}`;
    const next = await get(api, `${path}&page[offset]=5`);
    demand(next.data[0]?.id !== data[0].id, 'it is the first page again');
    const again = await get(api, `${path}&page[offset]=0`);
    demand(again.data[0]?.id === data[0].id, 'offset 0 is not the first page');
  }),
  read('v2-page-frozen', 'C', 'no other parameter may change while paging', async (api) => {
    const { links } = await paged(api, 5);
    const next = new URL(given(links.next ?? undefined, 'one page only'));
    next.searchParams.set('page[limit]', '6');
    const { status } = await api.follow(next.href);
    demand(status === 400, `status ${status}`);
  }),
  read('v2-page-expired', 'C', 'an expired or unknown token is answered 400', async (api) => {
    await refusedParameter(api, 'page[token]=unknown&page[offset]=5');
  }),
];

export const v2ReadCases: readonly Case[] = [
  ...accessCases,
  ...collectionCases,
  ...documentCases,
  ...pageCases,
];
