/**
 * V2 on a fastify instance, below its prefix: JSON:API documents and errors, and their media type.
 *
 * A request is checked in this order: route (404), token (401, 403), parameters (400), resource
 * (404), body (422), state (409).
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { tryParseJson } from '../../lib/json.ts';
import { takeEmptyJson } from '../edge/empty-body.ts';
import { type Key, type KeyRing, TOKEN_HEADER } from '../keys.ts';
import { errorsDocument, type Problem, ProblemError, V2_MEDIA_TYPE } from './problem.ts';
import type { V2Answer, V2Route } from './route.ts';
import { type RouteDeps, v2Routes } from './routes.ts';

export const V2_PREFIX = '/api/v2';

/** Key of the caller, when it may use the route; undefined: the route is open. */
function authorize(
  keys: KeyRing,
  access: V2Route['access'],
  request: FastifyRequest,
): Key | undefined {
  if (access === 'open') return undefined;
  const token = request.headers[TOKEN_HEADER];
  const key = typeof token === 'string' ? keys.byToken(token) : undefined;
  if (!key) {
    const detail = 'Missing, unknown or expired token';
    throw new ProblemError({ status: 401, code: 'unauthorized', detail });
  }
  if (access === 'write' && key.readOnly) {
    throw new ProblemError({ status: 403, code: 'read_only', detail: 'This key may only read' });
  }
  if (access === 'webhooks' && !key.webhooks) {
    const detail = 'Webhook access is not enabled for this key';
    throw new ProblemError({ status: 403, code: 'no_webhooks', detail });
  }
  return key;
}

/**
 * Sends an answer as bytes, because the server adds a charset to a text, which JSON:API forbids.
 */
function send(reply: FastifyReply, { status, document, headers }: V2Answer): FastifyReply {
  reply.code(status).headers(headers ?? {});
  if (document === undefined) return reply.send();
  return reply.type(V2_MEDIA_TYPE).send(Buffer.from(JSON.stringify(document)));
}

function sendProblems(reply: FastifyReply, problems: readonly Problem[]): FastifyReply {
  const [first] = problems;
  const retryAfter = first?.retryAfter;
  return send(reply, {
    status: first?.status ?? 500,
    document: errorsDocument(problems),
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
  });
}

function problemsOf(error: FastifyError | ProblemError): readonly Problem[] {
  if (error instanceof ProblemError) return error.problems;
  const status = error.statusCode ?? 500;
  const detail = status >= 500 ? 'Internal error' : error.message;
  return [{ status, code: status >= 500 ? 'internal' : 'invalid_request', detail }];
}

function register(app: FastifyInstance, route: V2Route, keys: KeyRing): void {
  app.route<{ Params: { id?: string; subId?: string } }>({
    method: route.method,
    url: route.path,
    async handler(request, reply) {
      const key = authorize(keys, route.access, request);
      const url = URL.parse(request.url, `${request.protocol}://${request.host}`);
      const detail = 'The header Host is missing, or names no host';
      if (!url) throw new ProblemError({ status: 400, code: 'invalid_request', detail });
      const address = { base: url.origin + url.pathname, params: url.searchParams };
      const { params, body } = request;
      const { id = '', subId = '' } = params;
      return send(reply, route.run({ id, subId, address, body, account: key?.account }));
    },
  });
}

export async function installV2(app: FastifyInstance, deps: RouteDeps): Promise<void> {
  await app.register(
    async (v2) => {
      v2.addContentTypeParser(V2_MEDIA_TYPE, { parseAs: 'string' }, (_request, text, done) => {
        const value = text.length === 0 ? null : tryParseJson(text.toString());
        const detail = 'The body is no JSON';
        if (value !== undefined) done(null, value);
        else done(new ProblemError({ status: 400, code: 'invalid_request', detail }));
      });
      takeEmptyJson(v2);
      v2.setErrorHandler<FastifyError | ProblemError>((error, _request, reply) =>
        sendProblems(reply, problemsOf(error)),
      );
      v2.setNotFoundHandler((_request, reply) => {
        const detail = 'There is no such endpoint';
        return sendProblems(reply, [{ status: 404, code: 'not_found', detail }]);
      });
      for (const route of v2Routes(deps)) register(v2, route, deps.keys);
    },
    { prefix: V2_PREFIX },
  );
}
