/** The relay's own port: the management API for programs and the portal for people. */
import type { FastifyInstance } from 'fastify';
import { ConfigError } from '../../lib/errors.ts';
import { guardBrowser } from '../../lib/http-server/browser-guard.ts';
import { createHttpServer, listenOn } from '../../lib/http-server.ts';
import type { Logger } from '../../lib/log.ts';
import type { Portal } from '../portal/portal.ts';
import { portalRoutes } from '../portal/routes.ts';
import { apiRoutes } from './api/routes.ts';
import type { Relay } from './relay.ts';

export interface RelayServerOptions {
  readonly relay: Relay;
  readonly portal: Portal;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly log: Logger;
  /** Bearer token of the management API. */
  readonly authToken: string;
  /** The one customer: its uid in the API's paths (usually the system key) and its name. */
  readonly app?: { readonly uid: string; readonly name: string };
  /** Host names besides the loopback ones that lead here; without them only loopback will do. */
  readonly hosts?: readonly string[];
}

export interface RelayServer {
  readonly url: string;
  readonly port: number;
  /** Stops answering; the relay itself goes on. */
  close(): Promise<void>;
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

const DEFAULT_APP = { uid: 'reference', name: 'Reference service' };

export async function startRelayServer(options: RelayServerOptions): Promise<RelayServer> {
  const { relay, portal, log, authToken, app: customer = DEFAULT_APP } = options;
  if (!LOOPBACK.test(options.host) && !options.hosts?.length) {
    throw new ConfigError('relay.public_bind', `the relay must not listen on ${options.host}`, {
      hint: 'stay on 127.0.0.1, or name the hosts that may lead to this stand-in',
    });
  }
  const app = createHttpServer(log);
  guardBrowser(app, { hosts: options.hosts ?? [] });
  await app.register(
    async (api: FastifyInstance) => {
      apiRoutes(api, { relay, authToken, app: customer, mintLink: portal.mintLink });
    },
    { prefix: '/api/v1' },
  );
  await app.register(
    async (pages: FastifyInstance) => portalRoutes(pages, { relay, portal, name: customer.name }),
    { prefix: '/portal' },
  );
  app.get('/', (_request, reply) => reply.redirect('/portal/', 303));
  const { url, port } = await listenOn(app, options.host, options.port);
  portal.attach(url);
  return { url, port, close: () => app.close() };
}
