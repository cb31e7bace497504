/** The description of the local API: served, valid, and what the answers are like. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  errorSchema,
  outcomesSchema,
  receiptSchema,
  refusalSchema,
} from '../../../src/local-api/openapi/schemas.ts';
import { lintOpenApi } from '../../support/openapi-lint.ts';
import { temporaryFolder } from '../../support/store.ts';
import { openDoors } from './house.ts';

const documentSchema = z.looseObject({
  openapi: z.literal('3.1.0'),
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.unknown()) })),
  ),
});

it('is served to anybody, valid for an independent linter, and true of each answer', async () => {
  const house = await openDoors();
  const served = await fetch(`${house.url}/openapi.json`);
  expect(served.status).toBe(200);
  const text = await served.text();
  const { paths } = documentSchema.parse(JSON.parse(text));
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'local.json'), text);
  expect(await lintOpenApi(folder, ['local.json'])).toContain('is valid');

  const seen = new Map<string, Set<string>>();
  const told = (method: string, path: string, status: number): void => {
    const known = Object.keys(paths[path]?.[method]?.responses ?? {});
    expect(known, `${method} ${path}`).toContain(String(status));
    seen.set(path, (seen.get(path) ?? new Set()).add(method));
  };
  const post = async (path: string, payload: unknown, headers?: Record<string, string>) => {
    const answer = await house.post(path, payload, headers);
    told('post', path, answer.status);
    return answer.body;
  };
  const get = async (path: string, query = '', id = '') => {
    const { status, body } = await house.http(`${path.replace('{id}', id)}${query}`);
    told('get', path, status);
    return body;
  };

  const order = { reference: 'SO-1', ...house.order() };
  const taken = receiptSchema.parse(await post('/api/orders', order));
  receiptSchema.parse(await post('/api/orders', { reference: 'SO-1', payload: house.order() }));
  refusalSchema.parse(await post('/api/orders', { ...order, ...house.order(2) }));
  refusalSchema.parse(await post('/api/orders', { reference: 'SO-2' }));
  errorSchema.parse(await post('/api/orders', '{'));
  errorSchema.parse(await post('/api/orders', order, { authorization: 'none' }));
  errorSchema.parse(await post('/api/orders', order, { 'content-type': 'text/plain' }));
  errorSchema.parse(await post('/api/orders', order, { 'idempotency-key': ' ' }));
  refusalSchema.parse(await post('/api/documents', { kind: 'ordr', payload: {} }));
  const refund = { reference: 'RMA-1', orderReference: 'SO-1', lines: order.lines };
  receiptSchema.parse(await post('/api/pending-refunds', refund));
  await house.httpEnd(Number(taken.documentId));
  const byId = await get('/api/documents/{id}', '', String(taken.documentId));
  expect(receiptSchema.parse(byId)).toMatchObject({ state: 'confirmed' });
  errorSchema.parse(await get('/api/documents/{id}', '', '99999'));
  receiptSchema.parse(await get('/api/documents', '?kind=order&reference=SO-1'));
  errorSchema.parse(await get('/api/documents', '?kind=order'));
  outcomesSchema.parse(await get('/api/outcomes', '?after=0'));
  errorSchema.parse(await get('/api/outcomes', '?before=1'));
  for (const path of ['/healthz', '/readyz']) await get(path);
  expect([...seen.keys()].sort()).toEqual(Object.keys(paths).sort());
  const methods = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).filter((method) => !seen.get(path)?.has(method)),
  );
  expect(methods).toEqual([]);
});

it('names the nearest path, the methods that there are and where documents go', async () => {
  const { url } = await openDoors();
  const ask = async (method: string, path: string) => {
    const answer = await fetch(`${url}${path}`, { method });
    const { status, headers } = answer;
    const { hint, nextStep } = z
      .looseObject({ hint: z.string(), nextStep: z.string() })
      .parse(await answer.json());
    expect(nextStep).toBe(hint);
    expect(hint).toMatch(
      /documents are submitted by POST \/api\/orders, .*GET \/api\/documents\/<id>/,
    );
    return [status, headers.get('allow'), hint.split(';')[0]];
  };
  const meant = (text: string) => [404, null, `did you mean ${text}?`];
  expect(await ask('POST', '/api/order')).toEqual(meant('POST /api/orders'));
  expect(await ask('POST', '/api/orders/')).toEqual(meant('POST /api/orders'));
  expect(await ask('POST', '/orders')).toEqual(meant('POST /api/orders'));
  expect(await ask('GET', '/api/v1/salesOrders/17')).toEqual(meant('POST /api/orders'));
  expect(await ask('POST', '/api/refunds')).toEqual(meant('POST /api/pending-refunds'));
  expect(await ask('GET', '/api/document/17')).toEqual(meant('GET /api/documents/<id>'));
  expect(await ask('GET', '/favicon.ico')).toEqual([
    404,
    null,
    expect.stringContaining('submitted'),
  ]);
  expect(await ask('GET', '/api/orders')).toEqual([405, 'POST', 'ask with POST']);
  expect(await ask('PUT', '/api/documents')).toEqual([
    405,
    'GET, HEAD, POST',
    'ask with GET or POST',
  ]);
  expect(await ask('DELETE', '/api/documents/17')).toEqual([405, 'GET, HEAD', 'ask with GET']);
  expect(await ask('POST', '/healthz')).toEqual([405, 'GET, HEAD', 'ask with GET']);
});
