/** The description of V1, made from the table of routes and the schemas of answers. */
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
import type { Access, Route } from '../v1/route.ts';
import { LICENSE, operationId, TOKEN_SECURITY, templatedPath } from './operation.ts';
import { V1_ANSWERS, v1Envelope, v1Error, v1Invalid } from './v1-answers.ts';

const JSON_TYPE = 'application/json';
const ERRORS = {
  401: 'Missing, unknown or expired token or key',
  403: 'The key may not do this',
  404: 'There is no such record',
  409: 'The state forbids it',
  422: 'Body or parameter is invalid',
  429: 'Too fast; `Retry-After` says how many seconds to wait',
} as const;

function errorAnswers() {
  return Object.fromEntries(
    Object.entries(ERRORS).map(([status, description]) => {
      const schema = status === '422' ? v1Invalid : v1Error;
      return [status, { description, content: { [JSON_TYPE]: { schema } } }];
    }),
  );
}

const SECURITY: Readonly<Record<Access, readonly Record<string, string[]>[]>> = {
  open: [],
  catalog: [{ token: [] }, { readToken: [] }],
  full: [{ token: [] }],
  webhooks: [{ token: [] }],
};

function operation(route: Route) {
  const answer = V1_ANSWERS[`${route.method} ${route.path}`];
  return {
    operationId: operationId(route.method, route.path),
    summary: route.summary,
    tags: [route.path.split('/')[1] ?? 'other'],
    ...(route.successor === undefined ? {} : { deprecated: true }),
    security: [...SECURITY[route.access]],
    requestParams: { path: route.params, query: route.query },
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: true, content: { [JSON_TYPE]: { schema: route.body } } } }),
    responses: {
      200: {
        description: 'As asked',
        ...(answer ? { content: { [JSON_TYPE]: { schema: v1Envelope(answer) } } } : {}),
      },
      ...errorAnswers(),
    },
  };
}

export function v1Document(routes: readonly Route[], server: string) {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    const path = templatedPath(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  const tags = [...new Set(routes.map((route) => route.path.split('/')[1] ?? 'other'))];
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Sales and Purchase Data Service, V1',
      version: '1.4.12',
      license: LICENSE,
      description: 'As the reference service serves it.',
    },
    servers: [{ url: server }],
    tags: tags.map((name) => ({ name, description: `Requests below /${name}` })),
    paths,
    components: {
      securitySchemes: {
        token: TOKEN_SECURITY,
        readToken: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Service-ReadToken',
          description: 'Good for variants, brands, freight and seasons, GET only.',
        },
      },
    },
  });
}
