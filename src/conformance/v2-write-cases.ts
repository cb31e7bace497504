/** Cases for section 5 of the wire contract: writing through V2. */

import { errorsSchema, portalAnswer, singleSchema } from '../reference/v2/schemas.ts';
import { type Answer, type Api, checkShape, type Row } from './api.ts';
import { type Case, define } from './case.ts';
import { demand, given } from './findings.ts';

function send(
  api: Api,
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Answer> {
  return api.v2(path, { method, ...(body === undefined ? {} : { body }) });
}

async function brandId(api: Api): Promise<string> {
  const { body } = await api.v2('/pdm/brands?page[limit]=1');
  return given(body?.data?.[0]?.id, 'no brand');
}

async function newStyle(api: Api): Promise<Row> {
  const styleNo = `CONFORMANCE-${api.now()}`;
  const brand = { data: { type: 'brand', id: await brandId(api) } };
  const attributes = { styleNo, styleName: 'Conformance' };
  const data = { type: 'style', attributes, relationships: { brand } };
  const { status, body } = await send(api, 'POST', '/pdm/styles', { data });
  demand(status === 201 || status === 200, `status ${status}`);
  checkShape(singleSchema('style'), body, api.extras);
  return body.data;
}

/** Case for brands or types: they may be added, renamed and removed. */
function nameCase(type: 'brand' | 'type'): Case {
  const path = `/pdm/${type}s`;
  const run = async (api: Api): Promise<void> => {
    const added = await send(api, 'POST', path, {
      data: { type, attributes: { name: 'Conformance' } },
    });
    demand(added.status === 201 || added.status === 200, `POST: status ${added.status}`);
    const { id } = added.body.data;
    const data = { type, id, attributes: { name: 'Conformance 2' } };
    const renamed = await send(api, 'PATCH', `${path}/${id}`, { data });
    demand(renamed.status === 200, `PATCH: status ${renamed.status}`);
    demand(renamed.body.data.attributes.name === 'Conformance 2', 'the name is the old one');
    const removed = await send(api, 'DELETE', `${path}/${id}`);
    demand(removed.status === 204 || removed.status === 200, `DELETE: status ${removed.status}`);
    const { status } = await api.v2(`${path}/${id}`);
    demand(status === 404, `afterwards: status ${status}`);
  };
  return define(`v2-${type}-write`, 'C', `POST, PATCH and DELETE of ${path}`, run, 'v2', 'writes');
}

export const v2WriteCases: readonly Case[] = [
  define(
    'v2-style-create',
    'S',
    'POST /pdm/styles adds a style',
    async (api) => {
      const { id, attributes } = await newStyle(api);
      const { body } = await api.v2(`/pdm/styles/${id}`);
      const seen = body?.data?.attributes?.styleNo;
      demand(seen === attributes.styleNo, `styleNo ${seen}`);
    },
    'v2',
    'writes',
  ),
  define(
    'v2-style-patch',
    'S',
    'PATCH /pdm/styles/{id} changes what it names and nothing else',
    async (api) => {
      const { id, attributes } = await newStyle(api);
      const data = { type: 'style', id, attributes: { styleName: 'Changed' } };
      const { status, body } = await send(api, 'PATCH', `/pdm/styles/${id}`, { data });
      demand(status === 200, `status ${status}`);
      const now = body.data.attributes;
      demand(now.styleName === 'Changed', `styleName ${now.styleName}`);
      demand(now.styleNo === attributes.styleNo, `styleNo ${now.styleNo}`);
    },
    'v2',
    'writes',
  ),
  define(
    'v2-invalid-body',
    'C',
    'an invalid body is answered 422 with JSON:API errors',
    async (api) => {
      const { status, body } = await send(api, 'POST', '/pdm/styles', { data: { type: 'style' } });
      demand(status === 422, `status ${status}`);
      checkShape(errorsSchema, body, api.extras);
    },
    'v2',
    'writes',
  ),
  nameCase('brand'),
  nameCase('type'),
  define(
    'v2-portal',
    'S',
    'POST /webhook-portal answers data.url and data.expiresAt',
    async (api) => {
      const { status, body } = await send(api, 'POST', '/webhook-portal', undefined);
      demand(status === 200, `status ${status}`);
      checkShape(portalAnswer, body, api.extras);
    },
    'v2',
    'writes',
  ),
];
