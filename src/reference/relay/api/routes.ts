/**
 * The relay's management API: the part of Svix' API that makes sense here, with its path names,
 * list formats and errors, so that Svix' own client works with it.
 */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ConflictError, RefusedError } from '../../../lib/errors.ts';
import { sha256 } from '../../../lib/json.ts';
import { EVENT_TYPES } from '../event-types.ts';
import type { Relay } from '../relay.ts';
import { endpointRoutes } from './endpoint-routes.ts';
import { applicationBody, pageQuery } from './inputs.ts';
import { messageRoutes } from './message-routes.ts';
import { CUSTOMER, eventTypeOut, pageOfList } from './shapes.ts';

export interface ApiOptions {
  readonly relay: Relay;
  readonly authToken: string;
  /** Makes a new portal link, for `app-portal-access`. */
  readonly mintLink: () => { readonly url: string };
}

function sameText(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)));
}

function isAuthorized(request: FastifyRequest, token: string): boolean {
  return sameText(request.headers.authorization ?? '', `Bearer ${token}`);
}

/**
 * Answers an error in one of Svix' two formats: a 422 lists what is wrong, others have a code and a
 * sentence.
 */
function answerError(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof z.ZodError) {
    const detail = error.issues.map(({ path, message, code }) => ({
      loc: path.map(String),
      msg: message,
      type: code,
    }));
    return reply.code(422).send({ detail });
  }
  if (error instanceof RefusedError || error instanceof ConflictError) {
    const refusal = error.code.endsWith('_unknown') ? 404 : 400;
    const status = error instanceof ConflictError ? 409 : refusal;
    return reply.code(status).send({ code: error.code, detail: error.message });
  }
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  if (status >= 400 && status < 500) {
    return reply.code(status).send({ code: 'bad_request', detail: 'the request is malformed' });
  }
  return reply.code(500).send({ code: 'server_error', detail: 'the relay made a mistake' });
}

/** Adds the routes of the API below `/api/v1`. */
export function apiRoutes(app: FastifyInstance, options: ApiOptions): void {
  const { relay } = options;
  app.setErrorHandler(answerError);
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ code: 'not_found', detail: 'there is no such path' }),
  );
  app.addHook('onRequest', async (request, reply) => {
    if (isAuthorized(request, options.authToken)) return undefined;
    return reply.code(401).send({ code: 'authentication_failed', detail: 'wrong bearer token' });
  });
  app.get('/health', (_request, reply) => reply.code(204).send());
  app.get('/app', (request) =>
    pageOfList([CUSTOMER], ({ id }) => id, pageQuery.parse(request.query)),
  );
  app.post('/app', (request, reply) => {
    // The relay has one customer: a request by its name or uid gets it, any other gets none.
    const { uid, name } = applicationBody.parse(request.body);
    if ((uid ?? name) !== CUSTOMER.uid && name !== CUSTOMER.name) {
      throw new RefusedError('relay.one_app', `this relay has one application: ${CUSTOMER.uid}`);
    }
    return reply.send(CUSTOMER);
  });
  app.get('/event-type', (request) => {
    const page = pageOfList(EVENT_TYPES, ({ name }) => name, pageQuery.parse(request.query));
    return { ...page, data: page.data.map(eventTypeOut) };
  });
  app.post('/auth/app-portal-access/:app', () => {
    const { url } = options.mintLink();
    return { url, token: new URL(url).hash.replace('#key=', '') };
  });
  app.addHook<{ Params: { app?: string } }>('preHandler', async ({ params }) => {
    if (params.app === undefined || params.app === CUSTOMER.id || params.app === CUSTOMER.uid) {
      return;
    }
    throw new RefusedError('relay.app_unknown', 'there is no such application');
  });
  app.get('/app/:app', () => CUSTOMER);
  endpointRoutes(app, relay);
  messageRoutes(app, relay);
}
