/** All routes of V2 in the wire contract, section 5. */
import { isoTime } from '../../lib/units.ts';
import type { KeyRing } from '../keys.ts';
import type { Portal } from '../portal/portal.ts';
import type { NamedType } from './pdm/pdm.ts';
import { kindOf, type ResourceType, resourceTypes } from './pdm/resources.ts';
import { ProblemError } from './problem.ts';
import {
  colorsOfStyle,
  notFound,
  type ReadDeps,
  readCollection,
  readSingle,
  readStyleColors,
} from './reads.ts';
import type { V2Call, V2Route } from './route.ts';
import {
  collectionSchema,
  loginAnswer,
  loginBody,
  nameCreateBody,
  namePatchBody,
  portalAnswer,
  singleSchema,
  styleCreateBody,
  stylePatchBody,
} from './schemas.ts';
import { createName, createStyle, parseBody, patchName, patchStyle, removeName } from './writes.ts';

export interface RouteDeps extends ReadDeps {
  readonly keys: KeyRing;
  readonly portalLink: Portal['mintLink'];
}

function loginRoute(keys: KeyRing): V2Route {
  return {
    method: 'POST',
    path: '/auth/login',
    access: 'open',
    summary: 'Log in: a token for id and secret, at most once per 6 s',
    tag: 'Access',
    body: loginBody,
    status: 200,
    answer: loginAnswer,
    run({ body }) {
      const { clientId, clientSecret } = parseBody(loginBody, body);
      const answer = keys.login(clientId, clientSecret);
      if (answer.kind === 'token') {
        const { token, expiresAt } = answer;
        return { status: 200, document: { data: { token, expiresAt: isoTime(expiresAt) } } };
      }
      if (answer.kind === 'refused') {
        const detail = 'Unknown clientId or clientSecret';
        throw new ProblemError({ status: 401, code: 'login_refused', detail });
      }
      const retryAfter = String(Math.ceil(answer.retryAfterMs / 1_000));
      const detail = 'Log-in is limited to one request per 6 seconds';
      throw new ProblemError({ status: 429, code: 'login_too_fast', detail, retryAfter });
    },
  };
}

function portalRoute(portalLink: Portal['mintLink']): V2Route {
  return {
    method: 'POST',
    path: '/webhook-portal',
    access: 'webhooks',
    summary: 'A new single-use link into the webhook portal',
    tag: 'Access',
    status: 200,
    answer: portalAnswer,
    run: ({ account }) => ({ status: 200, document: { data: { ...portalLink(account) } } }),
  };
}

function readRoutes(deps: RouteDeps, type: ResourceType): V2Route[] {
  const path = `/pdm/${kindOf(type).path}`;
  return [
    {
      method: 'GET',
      path,
      access: 'read',
      summary: `List: ${kindOf(type).path}`,
      tag: type,
      type,
      paged: true,
      status: 200,
      answer: collectionSchema(type),
      run: ({ address }) => ({ status: 200, document: readCollection(deps, type, address) }),
    },
    {
      method: 'GET',
      path: `${path}/:id`,
      access: 'read',
      summary: `One of: ${kindOf(type).path}`,
      tag: type,
      type,
      status: 200,
      answer: singleSchema(type),
      run: ({ id, address }) => single(deps, type, id, address.params, 200),
    },
  ];
}

function single(
  deps: RouteDeps,
  type: ResourceType,
  id: string,
  params: URLSearchParams,
  status: number,
) {
  return { status, document: readSingle(deps, type, id, params) };
}

function styleWriteRoutes(deps: RouteDeps): V2Route[] {
  const common = { access: 'write', tag: 'style', type: 'style' } as const;
  const answer = singleSchema('style');
  return [
    {
      ...common,
      method: 'POST',
      path: '/pdm/styles',
      summary: 'Add a style',
      body: styleCreateBody,
      status: 201,
      answer,
      run: ({ body, address }) =>
        created(deps, 'style', address, () => createStyle(deps.pdm, body)),
    },
    {
      ...common,
      method: 'PATCH',
      path: '/pdm/styles/:id',
      summary: 'Change a style',
      body: stylePatchBody,
      status: 200,
      answer,
      run({ id, body, address }) {
        patchStyle(deps.pdm, id, body);
        return single(deps, 'style', id, address.params, 200);
      },
    },
  ];
}

function created(
  deps: RouteDeps,
  type: ResourceType,
  address: V2Call['address'],
  create: () => string,
) {
  const id = create();
  const headers = { location: `${address.base}/${id}` };
  return { ...single(deps, type, id, address.params, 201), headers };
}

function nameWriteRoutes(deps: RouteDeps, type: NamedType): V2Route[] {
  const path = `/pdm/${kindOf(type).path}`;
  const answer = singleSchema(type);
  const common = { access: 'write', tag: type, type } as const;
  return [
    {
      ...common,
      method: 'POST',
      path,
      summary: `Add a ${type}`,
      body: nameCreateBody(type),
      status: 201,
      answer,
      run: ({ body, address }) =>
        created(deps, type, address, () => createName(deps.pdm, type, body)),
    },
    {
      ...common,
      method: 'PATCH',
      path: `${path}/:id`,
      summary: `Rename a ${type}`,
      body: namePatchBody(type),
      status: 200,
      answer,
      run({ id, body, address }) {
        patchName(deps.pdm, type, id, body);
        return single(deps, type, id, address.params, 200);
      },
    },
    {
      ...common,
      method: 'DELETE',
      path: `${path}/:id`,
      summary: `Remove a ${type} that no style refers to`,
      status: 204,
      run({ id }) {
        removeName(deps.pdm, type, id);
        return { status: 204 };
      },
    },
  ];
}

export function v2Routes(deps: RouteDeps): V2Route[] {
  return [
    loginRoute(deps.keys),
    portalRoute(deps.portalLink),
    ...resourceTypes().flatMap((type) => readRoutes(deps, type)),
    {
      method: 'GET',
      path: '/pdm/styles/:id/style-colors',
      access: 'read',
      summary: 'The colors of one style',
      tag: 'style',
      type: 'styleColor',
      paged: true,
      status: 200,
      answer: collectionSchema('styleColor'),
      run: ({ id, address }) => ({ status: 200, document: readStyleColors(deps, id, address) }),
    },
    {
      method: 'GET',
      path: '/pdm/styles/:id/style-colors/:subId',
      access: 'read',
      summary: 'One color of one style',
      tag: 'style',
      type: 'styleColor',
      status: 200,
      answer: singleSchema('styleColor'),
      run({ id, subId, address }) {
        if (!colorsOfStyle(deps.pdm, id).includes(subId)) throw notFound('styleColor', subId);
        return single(deps, 'styleColor', subId, address.params, 200);
      },
    },
    ...styleWriteRoutes(deps),
    ...nameWriteRoutes(deps, 'brand'),
    ...nameWriteRoutes(deps, 'type'),
  ];
}
