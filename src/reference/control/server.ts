/**
 * The control API: changes the reference service from outside, for tests, demos and operators. JSON
 * over HTTP on a port of its own, on loopback; `GET /` lists all routes.
 *
 * The API has no log-in, so it refuses browsers: a request that names another host (DNS rebinding)
 * or comes from a page (cross-site request forgery).
 */
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { isThisMachine } from '../../lib/http-server/browser-guard.ts';
import { createHttpServer } from '../../lib/http-server.ts';
import type { Logger } from '../../lib/log.ts';
import { type EdgeRouteDeps, edgeRoutes } from './edge-routes.ts';
import { ControlError, type ControlRoute } from './route.ts';
import { type StateRouteDeps, stateRoutes } from './state-routes.ts';
import { worldRoutes } from './world-routes.ts';

function refuseBrowsers({ headers }: FastifyRequest): void {
  if (!isThisMachine(headers.host))
    throw new ControlError(421, 'This host name does not lead here');
  const site = headers['sec-fetch-site'];
  if (headers.origin !== undefined || (site !== undefined && site !== 'none')) {
    throw new ControlError(403, 'Pages may not control this service');
  }
}

function list(routes: readonly ControlRoute[]): ControlRoute {
  const lines = routes.map(({ method, path, summary }) => ({
    request: `${method} ${path}`,
    summary,
  }));
  return { method: 'GET', path: '/', summary: 'This list', run: () => ({ requests: lines }) };
}

function register(app: FastifyInstance, route: ControlRoute): void {
  app.route<{ Params: Record<string, string> }>({
    method: route.method,
    url: route.path,
    handler: async ({ params, query, body }) => route.run({ params, query, body }),
  });
}

export function createControl(log: Logger, deps: EdgeRouteDeps & StateRouteDeps): FastifyInstance {
  const app = createHttpServer(log);
  app.setErrorHandler<FastifyError | ControlError>((error, _request, reply) => {
    const known = error instanceof ControlError ? error.status : (error.statusCode ?? 500);
    const message = known >= 500 ? 'Internal error' : error.message;
    return reply.code(known).send({ error: message });
  });
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ error: 'There is no such request; GET / lists all of them' }),
  );
  app.addHook('onRequest', async (request) => refuseBrowsers(request));
  const routes = [...worldRoutes(deps.world), ...edgeRoutes(deps), ...stateRoutes(deps)];
  for (const route of [list(routes), ...routes]) register(app, route);
  return app;
}
