/**
 * V1 on a fastify instance: the routes, who may call them, the envelope around every answer.
 *
 * A request is checked in this order: route (404), key (401, 403), parameters and body (422), state
 * (404, 409). A whole list is sent as a stream with back-pressure, so that memory does not grow
 * with its length.
 */
import { Readable } from 'node:stream';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import type { CurrentKnobs } from '../control/knobs.ts';
import { hasDetails, hasEndpoint } from '../dialect/levels.ts';
import { takeRequest } from '../dialect/requests.ts';
import { takeEmptyJson } from '../edge/empty-body.ts';
import { type Key, type KeyRing, TOKEN_HEADER } from '../keys.ts';
import type { Portal } from '../portal/portal.ts';
import type { World } from '../world/world.ts';
import { type Answer, envelope, errorBody, JSON_TYPE, V1Error } from './answer.ts';
import { catalogRoutes } from './catalog.ts';
import { inTurns } from './lists.ts';
import { orderRoutes } from './orders.ts';
import { allRefundRoutes } from './refunds.ts';
import { type Access, defineRoute, type Route } from './route.ts';
import { variantRoutes } from './variants.ts';

function loginRoute(keys: KeyRing): Route {
  return defineRoute({
    method: 'POST',
    path: '/auth/login',
    access: 'open',
    summary: 'Log in: a token for id and secret, at most once per 6 s',
    body: z.object({ clientID: z.string().min(1), clientSecret: z.string().min(1) }),
    handle({ body }) {
      const answer = keys.login(body.clientID, body.clientSecret);
      if (answer.kind === 'tooFast') {
        throw new V1Error(429, 'Log-in is limited to one request per 6 seconds', {
          retryAfterSeconds: Math.ceil(answer.retryAfterMs / 1_000),
        });
      }
      if (answer.kind === 'refused') throw new V1Error(401, 'Unknown clientID or clientSecret');
      return { data: { token: answer.token } };
    },
  });
}

function portalRoute(portalLink: Portal['mintLink']): Route {
  return defineRoute({
    method: 'POST',
    path: '/webhook-portal',
    access: 'webhooks',
    summary: 'A link into the webhook portal, good for one use',
    handle: ({ key }) => ({ data: { ...portalLink(key.account) } }),
  });
}

export interface V1Deps {
  readonly world: World;
  readonly keys: KeyRing;
  readonly knobs: CurrentKnobs;
  readonly clock: Pick<Clock, 'now'>;
  readonly portalLink: Portal['mintLink'];
}

export const V1_PREFIX = '/api/v1';
const READ_TOKEN_HEADER = 'x-service-readtoken';

const pathParams = z.record(z.string(), z.string());
const STREAM_BUFFER_BYTES = 1_048_576;

export function v1Routes(deps: V1Deps): Route[] {
  const catalog = [...catalogRoutes(deps), ...variantRoutes(deps)];
  const trade = [...orderRoutes(deps), ...allRefundRoutes(deps)];
  return [loginRoute(deps.keys), portalRoute(deps.portalLink), ...catalog, ...trade];
}

function one(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Key of a V1 request, which it shows by a token, a static API key or a read token. */
export function keyOfRequest(keys: KeyRing, request: FastifyRequest): Key | undefined {
  const token = one(request.headers[TOKEN_HEADER]);
  const readToken = one(request.headers[READ_TOKEN_HEADER]);
  const held = token === undefined ? undefined : (keys.byToken(token) ?? keys.byApiKey(token));
  return held ?? (readToken === undefined ? undefined : keys.byReadToken(readToken));
}

/** Key of the caller, when it may use the route; throws 401 or 403. */
function authorize(keys: KeyRing, access: Access, request: FastifyRequest): Key | undefined {
  if (access === 'open') return undefined;
  const key = keyOfRequest(keys, request);
  if (!key) throw new V1Error(401, 'Missing, unknown or expired token or key');
  if (access !== 'catalog' && key.readOnly) throw new V1Error(403, 'This key may only read');
  if (access === 'webhooks' && !key.webhooks) {
    throw new V1Error(403, 'Webhook access is not enabled for this key');
  }
  return key;
}

function send(reply: FastifyReply, answer: Answer): FastifyReply {
  reply.type(JSON_TYPE);
  if ('data' in answer) return reply.send(envelope(200, 'OK', answer.data));
  if ('bytes' in answer) {
    if (answer.sent) reply.raw.once('close', answer.sent);
    return reply.send(answer.bytes);
  }
  const options = { objectMode: false, highWaterMark: STREAM_BUFFER_BYTES };
  return reply.send(Readable.from(inTurns(answer.pieces), options));
}

function sendError(reply: FastifyReply, error: V1Error): FastifyReply {
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds);
  return reply.status(error.status).type(JSON_TYPE).send(errorBody(error));
}

function noEndpoint(): V1Error {
  return new V1Error(404, 'There is no such endpoint');
}

/**
 * Translates errors of fastify itself: unreadable JSON is invalid data, anything else keeps its
 * status.
 */
function asV1Error(error: FastifyError): V1Error {
  const status = error.statusCode ?? 500;
  if (status === 400 || status === 415) {
    return new V1Error(422, 'The request is invalid', { invalidData: ['body: is no JSON'] });
  }
  return new V1Error(status, status >= 500 ? 'Internal error' : error.message);
}

function register(app: FastifyInstance, route: Route, { keys, knobs }: V1Deps): void {
  app.route({
    method: route.method,
    url: route.path,
    async handler(request, reply) {
      const { v1, dialect } = knobs();
      const account = { level: v1.level, dialect };
      if (!hasEndpoint(v1.level, route.method, route.path)) throw noEndpoint();
      const key = authorize(keys, route.access, request);
      const { headers } = request;
      const { params, query, body } = takeRequest(route, request, account);
      if (route.successor && hasDetails(v1.level)) {
        const successor = route.successor(pathParams.parse(request.params));
        reply.header('deprecation', 'true');
        reply.header('link', `<${V1_PREFIX}${successor}>; rel="successor-version"`);
      }
      return send(reply, route.run({ key, params, query, body, headers }));
    },
  });
}

/** Adds V1 below its prefix; other versions on the same instance keep their own error format. */
export async function installV1(app: FastifyInstance, deps: V1Deps): Promise<void> {
  const routes = v1Routes(deps);
  await app.register(
    async (v1) => {
      takeEmptyJson(v1);
      v1.setErrorHandler<FastifyError | V1Error>((error, _request, reply) =>
        sendError(reply, error instanceof V1Error ? error : asV1Error(error)),
      );
      v1.setNotFoundHandler((_request, reply) => sendError(reply, noEndpoint()));
      for (const route of routes) register(v1, route, deps);
    },
    { prefix: V1_PREFIX },
  );
}
