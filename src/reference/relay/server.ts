/** Server of the relay's own port: the management API for programs and the portal for people. */
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
  /** Port to listen on; 0: any free port. */
  readonly port: number;
  readonly log: Logger;
  /** Bearer token of the management API. */
  readonly authToken: string;
}

export interface RelayServer {
  readonly url: string;
  /** Stops answering requests; the relay itself continues. */
  close(): Promise<void>;
}

export async function startRelayServer(options: RelayServerOptions): Promise<RelayServer> {
  const { relay, portal, log, authToken } = options;
  const app = createHttpServer(log);
  guardBrowser(app, { log });
  await app.register(
    async (api) => apiRoutes(api, { relay, authToken, mintLink: portal.mintLink }),
    { prefix: '/api/v1' },
  );
  await app.register(async (pages) => portalRoutes(pages, relay, portal), { prefix: '/portal' });
  app.get('/', (_request, reply) => reply.redirect('/portal/', 303));
  const { url } = await listenOn(app, options.host, options.port);
  portal.attach(url);
  return { url, close: () => app.close() };
}
