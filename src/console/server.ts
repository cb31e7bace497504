/**
 * Web server of the console: pages, their `.json` and `.csv` twins, and the acts of people. It runs
 * in the console's thread, reads through a connection of its own that cannot write, and asks the
 * daemon for every change.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { guardBrowser } from '../lib/http-server/browser-guard.ts';
import { watchPaths } from '../lib/http-server/methods.ts';
import { createHttpServer } from '../lib/http-server.ts';
import { isJsonObject } from '../lib/json.ts';
import { inLocale } from '../lib/strings.ts';
import {
  noSuchRoute,
  type Refusal,
  refusalOf,
  sendNoRoute,
  sendProblem,
  withAllow,
} from '../surface/problem.ts';
import { ROLES } from '../surface/roles.ts';
import { proxiedBy } from './access/proxy.ts';
import { findSession, type Session, TOKEN_PREFIX } from './access/sessions.ts';
import { installAssets } from './assets.ts';
import { askFor, type ConsoleDeps, type ConsoleGiven, LIVE_PATH, RefusedHere } from './context.ts';
import { backTo, createNotices } from './done.ts';
import { noticePage } from './pages/frame.ts';
import { refusalPage, refusalPart, signedOutPage, type Unsent } from './refusal.ts';
import { installActs } from './routes/acts.ts';
import { installPages } from './routes/pages.ts';
import { addressOf, cookieName, installSigning, sessionKeyOf } from './routes/signing.ts';
import { createRulesShown } from './rules.ts';
import { isForPeople, localeOf, partOf, sendPage } from './show.ts';

const TOUCH_MS = 60_000;

/** Session of a request, by its cookie or its token; undefined: none is open. */
async function keySessionOf(
  { db, clock, settings }: ConsoleDeps,
  request: FastifyRequest,
): Promise<Session | undefined> {
  const given = sessionKeyOf(request, cookieName(settings.publicUrl));
  if (given === undefined) return undefined;
  const idle = { now: clock.now(), idleMs: settings.sessionIdleMs };
  const session = await findSession(db, given, idle);
  // A stolen cookie must not work as a token, which skips the checks of browsers.
  const isProgram = given.key.startsWith(TOKEN_PREFIX);
  return session && (session.way === 'token') === isProgram && given.isBearer === isProgram
    ? session
    : undefined;
}

const proxySession = z.object({
  sessionId: z.int(),
  name: z.string(),
  role: z.enum(ROLES),
  way: z.literal('proxy'),
  seesAddresses: z.boolean(),
  seenAt: z.number(),
});

/** Session of the person whom the proxy names; refuses a name without the proxy's secret. */
async function proxySessionOf(
  deps: ConsoleDeps,
  request: FastifyRequest,
): Promise<Session | undefined> {
  const { db, clock, log, settings } = deps;
  if (settings.proxy === null) return undefined;
  const proxied = proxiedBy(settings.proxy, request.headers);
  if (proxied.is === 'absent') return undefined;
  if (proxied.is === 'refused') {
    const { userHeader } = settings.proxy;
    log.warn({ from: request.ip, header: userHeader }, `a name came ${proxied.why}: refused`);
    const message = `the header ${userHeader} came ${proxied.why}`;
    const hint = 'the proxy must send console.proxy.secretHeader too: see the manual';
    throw new RefusedHere({ status: 403, code: 'console.proxy', message, hint });
  }
  const { name } = proxied;
  const idle = { now: clock.now(), idleMs: settings.sessionIdleMs };
  const open = await findSession(db, { proxied: name }, idle);
  if (open) return open;
  const address = addressOf(request, settings.publicUrl);
  return proxySession.parse(await askFor(deps, { ask: 'proxied', name, address }));
}

/** Session of a request; token and cookie go before the proxy, as given on purpose. */
async function sessionOf(deps: ConsoleDeps, request: FastifyRequest): Promise<Session | undefined> {
  const session = await keySessionOf(deps, request);
  if (session || request.headers.authorization !== undefined) return session;
  return proxySessionOf(deps, request);
}

/** Whether the page of a script was made for this person, and not for one before at the browser. */
function isOfItsPage({ headers }: FastifyRequest, { name }: Session): boolean {
  const user = headers['x-user'];
  return user === undefined || user === encodeURIComponent(name);
}

function installSessions(app: FastifyInstance, deps: ConsoleDeps): void {
  // All that is written for the request is in its reader's language; bodies are read by then.
  app.addHook('preValidation', (request, _, done) => inLocale(localeOf(request), done));
  app.addHook('onRequest', async (request, reply) => {
    const session = await sessionOf(deps, request);
    if (session && isOfItsPage(request, session)) {
      request.console = session;
      // Polling by an open page does not count as use, so that the session can time out.
      const isUsed = request.routeOptions.url !== LIVE_PATH;
      if (isUsed && deps.clock.now() - session.seenAt > TOUCH_MS) {
        void deps.ask({ ask: 'touch', sessionId: session.sessionId });
      }
      return undefined;
    }
    if (!isForPeople(request)) {
      const message = 'the token is missing, over or revoked';
      const refusal = { status: 401, code: 'console.no_session', message };
      return sendProblem(reply.header('www-authenticate', 'Bearer'), refusal);
    }
    if (partOf(request) !== undefined) return reply.code(401).send();
    // A form is read before it is refused, because its page keeps what was typed.
    if (request.method !== 'GET') return undefined;
    const to = request.url === '/' ? '' : `?${String(new URLSearchParams({ to: request.url }))}`;
    return reply.code(303).header('location', `/sign-in${to}`).send();
  });
  app.addHook('preHandler', async (request, reply) =>
    request.console ? undefined : sendPage(reply.code(401), signedOutPage(unsentOf(request))),
  );
}

/** Members that a form without scripts had sent. */
function unsentOf(request: FastifyRequest): Unsent {
  const { url: path, body } = request;
  const fields = isJsonObject(body) ? body : {};
  const { back = '' } = { ...fields, back: partOf(request) ?? fields.back };
  return { path, fields, back: typeof back === 'string' && back !== '' ? backTo(back) : undefined };
}

function answerTo(error: unknown): Refusal {
  if (error instanceof RefusedHere) return error.refusal;
  if (error instanceof z.ZodError) {
    const message = error.issues
      .map((issue) => `${issue.path.join('.') || 'the request'}: ${issue.message}`)
      .join('; ');
    return { status: 400, code: 'request.invalid', message };
  }
  const ours = refusalOf(error);
  if (ours) return ours;
  const isStated = error instanceof Error && 'statusCode' in error;
  const status = isStated ? Number(error.statusCode) : 500;
  const message = status < 500 && isStated ? error.message : 'see the log of the daemon';
  return { status, code: status < 500 ? 'request.invalid' : 'console.failed', message };
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'This cannot be read',
  401: 'Signed out',
  403: 'You may not do this',
  404: 'There is no such thing',
  409: 'Nothing was done',
  410: 'This link opens nothing',
  429: 'Too fast',
};

export function createConsoleApp(given: ConsoleGiven): FastifyInstance {
  const deps: ConsoleDeps = { ...given, notices: createNotices() };
  const app = createHttpServer(deps.log);
  guardBrowser(app, {
    log: deps.log,
    publicUrl: deps.settings.publicUrl,
    hint: 'console.publicUrl is the address that people type; the proxy must pass on its name',
  });
  app.decorateRequest('console', undefined);
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: FastifyRequest, body: string) => Object.fromEntries(new URLSearchParams(body)),
  );
  const paths = watchPaths(app);
  app.setNotFoundHandler((request, reply) => {
    const named = { code: 'console.not_found', what: 'page', more: 'all paths: /openapi.json' };
    const refusal = noSuchRoute(paths, request, named);
    if (!isForPeople(request)) return sendNoRoute(reply, refusal);
    const title =
      refusal.allow.length > 0 ? 'There is nothing to see here' : 'There is no such page';
    return sendPage(withAllow(reply, refusal), noticePage(title, 'Go back to the start.'));
  });
  // A script cannot read where a redirect leads: it gets the address, and goes there as a page.
  app.addHook('onSend', async (request, reply) => {
    if (reply.statusCode === 303 && partOf(request) !== undefined) reply.code(204);
  });
  app.setErrorHandler((error, request, reply) => {
    const refusal = answerTo(error);
    const { status } = refusal;
    if (!isForPeople(request)) return sendProblem(reply, refusal);
    const unsent = unsentOf(request);
    reply.code(status);
    if (partOf(request) !== undefined) return sendPage(reply, refusalPart(refusal, unsent.back));
    const title = TITLES[status] ?? 'This did not work';
    return sendPage(reply, refusalPage(title, refusal, unsent));
  });
  installAssets(app);
  installSigning(app, deps);
  app.register(async (inside) => {
    installSessions(inside, deps);
    const rulesShown = createRulesShown(deps.db);
    installPages(inside, deps, rulesShown);
    installActs(inside, deps);
  });
  return app;
}
