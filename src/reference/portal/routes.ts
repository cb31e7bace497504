/**
 * Routes of the portal's web pages: pages to read, and forms that act and then redirect back. All
 * but signing in needs a session. The server's browser guard has already refused foreign sites.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Html, html } from '../../lib/html.ts';
import { EVENT_TYPES } from '../relay/event-types.ts';
import type { Relay } from '../relay/relay.ts';
import { endpointRoutes } from './endpoint-routes.ts';
import { historyRoutes } from './history-routes.ts';
import { outsidePage } from './pages/layout.ts';
import type { Portal } from './portal.ts';
import { send, showError, showPage } from './show.ts';

function eventTypesPage(): Html {
  const card = ({ name, description, example }: (typeof EVENT_TYPES)[number]): Html => {
    const body = JSON.stringify({ type: name, data: example }, null, 2);
    return html`<section class="card"><h2><code>${name}</code></h2><p>${description}</p>
<details><summary>Example</summary><pre tabindex="0">${body}</pre></details></section>`;
  };
  return html`<h1>Event types</h1>
<p class="lead">What an endpoint may choose. Types may be added: receivers accept unknown ones.</p>
${EVENT_TYPES.map(card)}`;
}

const COOKIE = 'selvedge_portal';
const ASSETS = {
  'portal.css': 'text/css; charset=utf-8',
  'portal.js': 'text/javascript; charset=utf-8',
  'portal.svg': 'image/svg+xml',
} as const;
const FORM_BYTES_MAX = 65_536;

/**
 * Message for a used and for an expired link: the same for both, so that tokens cannot be probed.
 */
const SPENT = 'This link was used or has expired. Ask for a new one.';

const exchangeBody = z.object({ token: z.string().min(1).max(200) });

function sessionOf({ headers }: FastifyRequest): string | undefined {
  const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim().split('='));
  return cookies.find(([name]) => name === COOKIE)?.[1];
}

function setSession(reply: FastifyReply, value: string, secondsMax?: number): FastifyReply {
  const age = secondsMax === undefined ? '' : `; Max-Age=${secondsMax}`;
  const cookie = `${COOKIE}=${value}; Path=/portal; HttpOnly; SameSite=Strict${age}`;
  return reply.header('set-cookie', cookie);
}

function assets(app: FastifyInstance): void {
  for (const [name, type] of Object.entries(ASSETS)) {
    const content = readFileSync(join(import.meta.dirname, 'assets', name));
    app.get(`/assets/${name}`, (_request, reply) => reply.type(type).send(content));
  }
}

function signing(app: FastifyInstance, portal: Portal): void {
  app.get('/login', (_request, reply) =>
    send(
      reply,
      outsidePage(
        'Sign in',
        html`<p data-sign-in role="status">Signing in needs JavaScript, once: the key of the link
never leaves the browser in an address.</p>`,
      ),
    ),
  );
  app.post('/session', (request, reply) => {
    const body = exchangeBody.safeParse(request.body);
    const session = body.success ? portal.exchange(body.data.token) : undefined;
    if (session === undefined) return reply.code(410).type('text/plain').send(SPENT);
    return setSession(reply, session).code(204).send();
  });
  app.post('/sign-out', (request, reply) => {
    portal.signOut(sessionOf(request));
    setSession(reply, '', 0);
    const page = outsidePage('Signed out', html`<p>Open the portal again with a fresh link.</p>`);
    return send(reply, page);
  });
}

/** Adds the routes that need a session. */
async function inside(app: FastifyInstance, relay: Relay, portal: Portal): Promise<void> {
  app.addHook('onRequest', async (request, reply) => {
    if (portal.isOpen(sessionOf(request))) return undefined;
    const page = outsidePage('No session', html`<p>Open the portal with a fresh link.</p>`);
    return send(reply.code(401), page);
  });
  app.setErrorHandler(showError);
  app.get('/event-types', (request, reply) =>
    showPage(request, reply, ['Event types', '/portal/event-types'], eventTypesPage()),
  );
  endpointRoutes(app, relay, (request) => portal.accountOf(sessionOf(request)));
  historyRoutes(app, relay);
}

export async function portalRoutes(
  app: FastifyInstance,
  relay: Relay,
  portal: Portal,
): Promise<void> {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_BYTES_MAX },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
  assets(app);
  signing(app, portal);
  await app.register((pages) => inside(pages, relay, portal));
}
