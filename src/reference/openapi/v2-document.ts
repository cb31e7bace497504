/** Makes the description of V2 from the table of routes. */
import { z } from 'zod';
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
import { filtersOf, kindOf, type ResourceType, resourceTypes } from '../v2/pdm/resources.ts';
import { V2_MEDIA_TYPE } from '../v2/problem.ts';
import type { V2Route } from '../v2/route.ts';
import { errorsSchema } from '../v2/schemas.ts';
import {
  CONTACT,
  LICENSE,
  operationId,
  type TokenWay,
  templatedPath,
  tokenSecurity,
} from './operation.ts';

const ERRORS = {
  400: 'A parameter is unknown or wrong, or changed while paging',
  401: 'Missing, unknown or expired token',
  403: 'The key may not do this',
  404: 'There is no such resource',
  409: 'The state forbids it',
  422: 'The body is invalid',
  429: 'Too fast; `Retry-After` says how many seconds to wait',
} as const;

function errorAnswers() {
  return Object.fromEntries(
    Object.entries(ERRORS).map(([status, description]) => [
      status,
      { description, content: { [V2_MEDIA_TYPE]: { schema: errorsSchema } } },
    ]),
  );
}

const text = (description: string) => z.string().optional().meta({ description });

function queryOf(type: ResourceType, paged: boolean) {
  const kind = kindOf(type);
  const related = [...Object.keys(kind.toOne), ...Object.keys(kind.toMany)];
  const fields = resourceTypes().map((name) => [
    `fields_${name}`,
    text(`Attributes and relationships of ${name}, separated by commas`),
  ]);
  const filters = filtersOf(type).map((name) => [`filter[${name}]`, text(`Exactly this ${name}`)]);
  const include = text(`Paths of ${related.join(', ') || 'nothing'}, separated by commas`);
  const limit = z.int().min(1).max(250).default(50);
  return z.object({
    include,
    ...Object.fromEntries(fields),
    ...(paged
      ? {
          ...Object.fromEntries(filters),
          'page[limit]': limit.meta({ description: 'Rows of a page' }),
          'page[token]': text('`meta.pageToken` of the first answer'),
          'page[offset]': z.int().min(0).optional().meta({ description: 'Rows before the page' }),
        }
      : {}),
  });
}

function operation(route: V2Route) {
  const { type, body, answer } = route;
  const ids = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, z.string()]);
  const id = ids.length > 0 ? { path: z.object(Object.fromEntries(ids)) } : {};
  const query = type && route.method !== 'DELETE' ? queryOf(type, route.paged ?? false) : undefined;
  return {
    operationId: operationId(route.method, route.path),
    summary: route.summary,
    description: `${route.method} ${route.path}, as in the wire contract.`,
    tags: [route.tag],
    security: route.access === 'open' ? [] : [{ token: [] }],
    requestParams: { ...id, ...(query ? { query } : {}) },
    ...(body
      ? { requestBody: { required: true, content: { [V2_MEDIA_TYPE]: { schema: body } } } }
      : {}),
    responses: {
      [String(route.status)]: {
        description: answer ? 'As asked' : 'Done',
        ...(answer ? { content: { [V2_MEDIA_TYPE]: { schema: answer } } } : {}),
      },
      ...errorAnswers(),
    },
  };
}

export function v2Document(routes: readonly V2Route[], server: string, way: TokenWay) {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    const path = templatedPath(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Style and Product Data Service, V2',
      version: '2.1.3',
      license: LICENSE,
      contact: CONTACT,
      description: 'JSON:API, with `included` as an object keyed by type and then by id.',
    },
    servers: [{ url: server }],
    tags: tags.map((name) => ({ name, description: `Requests about ${name}` })),
    paths,
    components: { securitySchemes: { token: tokenSecurity(way) } },
  });
}
