/**
 * Cases for sections 1 and 2 of the wire contract: log-in, headers, keys, envelope and errors of
 * V1.
 */

import { v1Invalid } from '../reference/openapi/v1-answers.ts';
import { type Api, checkShape, TOKEN_HEADER } from './api.ts';
import { type Case, define } from './case.ts';
import { demand, given } from './findings.ts';

const CATALOG_PATHS = ['/brands', '/freight', '/seasons', '/variants/stock?page=1&limit=1'];
/** Id that no account has given to a record yet. */
const NO_ID = 999_999_999;
const MISSING_PATHS = [
  `/orders/${NO_ID}`,
  `/orders/${NO_ID}/deliveries`,
  `/orders/${NO_ID}/deliveries/${NO_ID}`,
  `/orders/${NO_ID}/refunds`,
  `/orders/${NO_ID}/refunds/${NO_ID}`,
  `/orders/${NO_ID}/pending-refunds`,
  `/orders/${NO_ID}/pending-refunds/${NO_ID}`,
  '/variants/stock/0000000000000',
];

const KEY_ONLY = 'a key in place of a log-in';

function readTokenHeader(api: Api) {
  const { readToken = '', readTokenHeader } = api.account;
  return { headers: { [readTokenHeader]: readToken } };
}

const loginCases: readonly Case[] = [
  define('v1-login', 'P', 'POST /auth/login takes clientID and clientSecret', async (api) => {
    const { status } = given((await api.session('v1')).login, KEY_ONLY);
    const { idMember, secretMember } = api.account.v1;
    const config = {
      'service.dialect.v1.idMember': idMember,
      'service.dialect.v1.secretMember': secretMember,
    };
    const isUsual = idMember === 'clientID' && secretMember === 'clientSecret';
    demand(status === 200, `status ${status}`);
    demand(isUsual, `it takes ${idMember} and ${secretMember}`, { config });
  }),
  define('v1-login-token', 'P', 'the log-in answers data.token', async (api) => {
    const pointer = given((await api.session('v1')).pointer, KEY_ONLY);
    const config = { 'service.dialect.v1.tokenPointer': pointer };
    demand(pointer === '/data/token', `the token stands at ${pointer}`, { config });
  }),
  define('v1-token-header', 'C', `the token goes in ${TOKEN_HEADER}`, async (api) => {
    const { header, scheme } = await api.session('v1');
    const isUsual = header.toLowerCase() === TOKEN_HEADER.toLowerCase() && scheme === 'plain';
    demand(isUsual, `it goes in ${header}${scheme === 'bearer' ? ', as Bearer' : ''}`, {
      config: {
        'service.dialect.v1.tokenHeader': header,
        'service.dialect.v1.tokenScheme': scheme,
      },
      knobs: {
        'deviations.tokenHeader': header.toLowerCase(),
        ...(scheme === 'bearer' ? { 'dialect.bearer': true } : {}),
      },
    });
  }),
  define('v1-no-key', 'P', 'a request without key or token is answered 401', async (api) => {
    const { status } = await api.v1('/brands', { headers: {} });
    demand(status === 401, `status ${status}`);
  }),
  define('v1-wrong-key', 'P', 'an unknown or expired token is answered 401', async (api) => {
    const { header } = await api.session('v1');
    const { status, body } = await api.v1('/brands', { headers: { [header]: 'unknown' } });
    demand(status === 401, `status ${status}`);
    demand(Object.keys(body?.data ?? {}).length === 0, `data ${JSON.stringify(body.data)}`);
  }),
  define(
    'v1-read-token',
    'P',
    'a read-only key opens variants, brands, freight and seasons',
    async (api) => {
      for (const path of CATALOG_PATHS) {
        const { status } = await api.v1(path, readTokenHeader(api));
        demand(status === 200, `${path}: status ${status}`);
      }
    },
    'readToken',
  ),
  define(
    'v1-read-token-only',
    'P',
    'a read-only key opens nothing else',
    async (api) => {
      const { status } = await api.v1('/orders', readTokenHeader(api));
      demand(status === 401 || status === 403, `/orders: status ${status}`);
    },
    'readToken',
  ),
  define(
    'v1-read-token-post',
    'P',
    'a read-only key on a POST is answered 403',
    async (api) => {
      const asked = { ...readTokenHeader(api), method: 'POST', body: {} } as const;
      const { status } = await api.v1('/orders', asked);
      demand(status === 403, `status ${status}`);
    },
    'readToken',
    'writes',
  ),
];

const envelopeCases: readonly Case[] = [
  define('v1-envelope', 'P', 'every answer is {status, message, data}', async (api) => {
    for (const path of CATALOG_PATHS) {
      const { body } = await api.v1(path);
      const members = Object.keys(body ?? {}).join(', ');
      const isAlone = typeof body === 'object' && body !== null && !('data' in body);
      const remedy = isAlone ? { knobs: { 'dialect.envelope': 'none' } } : {};
      demand(typeof body?.message === 'string', `${path}: members ${members}`, remedy);
      demand(typeof body.data === 'object', `${path}: members ${members}`, remedy);
    }
  }),
  define('v1-envelope-status', 'P', 'its status is the HTTP status, a number', async (api) => {
    for (const path of ['/brands', '/orders/0']) {
      const { status, body } = await api.v1(path);
      const seen = JSON.stringify(body?.status);
      // An account without an envelope gets its knob from the case v1-envelope.
      const remedy =
        typeof body?.status === 'string' ? { knobs: { 'dialect.envelope': 'text' } } : {};
      demand(body?.status === status, `${path}: ${seen} with HTTP status ${status}`, remedy);
    }
  }),
  define('v1-not-found', 'P', 'what does not exist is answered 404', async (api) => {
    for (const path of MISSING_PATHS) {
      const { status } = await api.v1(path);
      demand(status === 404, `${path}: status ${status}`);
    }
  }),
  define('v1-not-found-shape', 'P', 'a 404 is an envelope with empty data', async (api) => {
    const { body } = await api.v1(`/orders/${NO_ID}`);
    demand(body?.status === 404 || body?.status === '404', `body ${JSON.stringify(body)}`);
    demand(Object.keys(body.data ?? {}).length === 0, `data ${JSON.stringify(body.data)}`);
  }),
  define('v1-invalid', 'P', 'an invalid parameter is answered 422', async (api) => {
    const { status } = await api.v1('/variants/stock?limit=many');
    demand(status === 422, `status ${status}`);
  }),
  define('v1-invalid-data', 'P', 'a 422 lists invalid_data, path and reason', async (api) => {
    const { body } = await api.v1('/variants/stock?limit=many');
    const lines = body?.invalid_data;
    const knobs = { 'deviations.invalidDataMissing': true };
    demand(Array.isArray(lines) && lines.length > 0, `members ${Object.keys(body ?? {})}`, {
      knobs,
    });
    checkShape(v1Invalid.shape.invalid_data, lines, api.extras);
    demand(/^[^:]+: ./.test(lines[0]), `line ${lines[0]}`);
  }),
  define('v1-description', 'S', 'V1 is described in OpenAPI 3.1', async (api) => {
    const { status, body } = await api.v1('/openapi.json');
    demand(status === 200, `status ${status}`);
    demand(/^3\.1/.test(body?.openapi ?? ''), `openapi ${body?.openapi}`);
  }),
];

export const v1AccessCases: readonly Case[] = [...loginCases, ...envelopeCases];
