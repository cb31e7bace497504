/** Makes the description of V1 from the table of routes and the schemas of answers. */
import { z } from 'zod';
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
import { hasDetails, hasEndpoint, hasEvents } from '../dialect/levels.ts';
import { demandsBrand, takesParameter } from '../dialect/requests.ts';
import type { Account } from '../dialect/variants.ts';
import { EVENT_TYPES } from '../relay/event-types.ts';
import type { Access, Route } from '../v1/route.ts';
import { cutToAccount } from './levelled.ts';
import {
  CONTACT,
  LICENSE,
  operationId,
  type TokenWay,
  templatedPath,
  tokenSecurity,
} from './operation.ts';
import { V1_ANSWERS, v1Envelope, v1Error, v1Event, v1Invalid } from './v1-answers.ts';

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

/** The route's query parameters that this account has. */
function queryOf(route: Route, account: Account) {
  const known = Object.entries(route.query.shape).filter(([name]) =>
    takesParameter(route, name, account),
  );
  const isDemanded = demandsBrand(route, account);
  return z.object({
    ...Object.fromEntries(known),
    ...(isDemanded ? { brandName: z.string() } : {}),
  });
}

function operation(route: Route, account: Account) {
  const answer = V1_ANSWERS[`${route.method} ${route.path}`];
  return {
    operationId: operationId(route.method, route.path),
    summary: route.summary,
    description: `${route.method} ${route.path}, as in the wire contract.`,
    tags: [route.path.split('/')[1] ?? 'other'],
    ...(route.successor && hasDetails(account.level) ? { deprecated: true } : {}),
    security: [...SECURITY[route.access]],
    requestParams: { path: route.params, query: queryOf(route, account) },
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

/** Describes the events that the relay sends to an endpoint of the customer. */
function webhooks(): ZodOpenApiPathsObject {
  const all: ZodOpenApiPathsObject = {};
  for (const { name, description } of EVENT_TYPES) {
    all[name] = {
      post: {
        operationId: operationId('on', name.replaceAll(/[._]/g, '/')),
        summary: description,
        description: `The event ${name}.`,
        tags: ['events'],
        security: [],
        requestBody: { required: true, content: { [JSON_TYPE]: { schema: v1Event(name) } } },
        responses: { '2XX': { description: 'Taken' }, '4XX': { description: 'Sent again later' } },
      },
    };
  }
  return all;
}

/** Makes the description of V1 as this account has it. */
export function v1Document(
  all: readonly Route[],
  server: string,
  account: Account,
  way: TokenWay,
): object {
  const routes = all.filter(({ method, path }) => hasEndpoint(account.level, method, path));
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    const path = templatedPath(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, account) };
  }
  const withEvents = hasEvents(account.level);
  const first = routes.map((route) => route.path.split('/')[1] ?? 'other');
  const tags = [...new Set(first)].map((name) => ({
    name,
    description: `Requests below /${name}`,
  }));
  const events = { name: 'events', description: 'What the relay sends to the customer' };
  const document = createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Sales and Purchase Data Service, V1',
      version: account.level,
      license: LICENSE,
      contact: CONTACT,
      description: 'As the reference service serves it.',
    },
    servers: [{ url: server }],
    tags: withEvents ? [...tags, events] : tags,
    paths,
    ...(withEvents ? { webhooks: webhooks() } : {}),
    components: {
      securitySchemes: {
        token: tokenSecurity(way),
        readToken: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Service-ReadToken',
          description: 'Good for variants, brands, freight and seasons, GET only.',
        },
      },
    },
  });
  return cutToAccount(document, account);
}
