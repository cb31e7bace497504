/**
 * The console's web server: pages, their `.json` and `.csv` twins, and the acts of people. It runs
 * in the console's thread, reads through a connection of its own that cannot write, and asks the
 * daemon for every change.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { SelvedgeError } from '../lib/errors.ts';
import { guardBrowser } from '../lib/http-server/browser-guard.ts';
import { createHttpServer } from '../lib/http-server.ts';
import type { Logger } from '../lib/log.ts';
import type { Db } from '../store/store.ts';
import { findSession, type Session, TOKEN_PREFIX } from './access/sessions.ts';
import { installActs } from './act-routes.ts';
import type { Question, Refusal, Reply } from './acts.ts';
import { installAssets } from './assets.ts';
import { installPages } from './page-routes.ts';
import { noticePage } from './pages/frame.ts';
import { isForPeople, sendPage } from './show.ts';
import { cookieName, installSigning, sessionKeyOf } from './signing.ts';

/** Settings of the console that pages need. */
export interface ConsoleSettings {
  readonly instance: string;
  readonly version: string;
  readonly publicUrl: string | null;
  /** Zone of the times on pages; null: that of the rules. */
  readonly timeZone: string | null;
  readonly sessionIdleMs: number;
  readonly hasPasswords: boolean;
  readonly freshnessMs: Readonly<Record<string, number>>;
}

export interface ConsoleDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: ConsoleSettings;
  /** Asks the daemon. */
  readonly ask: (question: Question) => Promise<Reply>;
  /** When the daemon last answered; epoch milliseconds. */
  readonly daemonSeenAt: () => number;
}

/** A refusal as an error, so that one handler answers it. */
export class RefusedHere extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** The value of an answer; throws its refusal. */
export async function askFor(
  { ask }: Pick<ConsoleDeps, 'ask'>,
  question: Question,
): Promise<unknown> {
  const reply = await ask(question);
  if ('refused' in reply) throw new RefusedHere(reply.refused);
  return reply.value;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is signed in; every route behind the gate has it. */
    console?: Session;
  }
}

const TOUCH_MS = 60_000;

/** Open pages ask for it by themselves. */
export const LIVE_PATH = '/changes.json';

/** The session of a request by its cookie, or by its token. */
async function sessionOf(
  { db, clock, settings }: ConsoleDeps,
  request: FastifyRequest,
): Promise<Session | undefined> {
  const given = sessionKeyOf(request, cookieName(settings.publicUrl));
  if (given === undefined) return undefined;
  const idle = { now: clock.now(), idleMs: settings.sessionIdleMs };
  const session = await findSession(db, given.key, idle);
  // A stolen cookie must not be used as a token, which no browser guard looks at.
  const isProgram = given.key.startsWith(TOKEN_PREFIX);
  return session && (session.way === 'token') === isProgram && given.isBearer === isProgram
    ? session
    : undefined;
}

export function signedIn(request: FastifyRequest): Session {
  if (!request.console) throw new TypeError('a route without a session');
  return request.console;
}

function installGate(app: FastifyInstance, deps: ConsoleDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    const session = await sessionOf(deps, request);
    if (session) {
      request.console = session;
      // A page that is only left open must not keep its session.
      const isUsed = request.routeOptions.url !== LIVE_PATH;
      if (isUsed && deps.clock.now() - session.seenAt > TOUCH_MS) {
        void deps.ask({ ask: 'touch', sessionId: session.sessionId });
      }
      return undefined;
    }
    if (!isForPeople(request)) {
      return reply
        .code(401)
        .header('www-authenticate', 'Bearer')
        .send({ code: 'console.no_session', message: 'the token is missing, over or revoked' });
    }
    if (request.method !== 'GET') {
      const text = 'Your session has ended: nothing was done. Sign in and do it again.';
      return sendPage(reply.code(401), noticePage('Signed out', text));
    }
    return reply.code(303).header('location', '/sign-in').send();
  });
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof RefusedHere) return error.refusal;
  if (error instanceof z.ZodError) {
    const message = error.issues
      .map((issue) => `${issue.path.join('.') || 'the request'}: ${issue.message}`)
      .join('; ');
    return { status: 400, code: 'console.bad_request', message };
  }
  if (error instanceof SelvedgeError) {
    const { code, message, hint } = error;
    return { status: code.endsWith('.unknown') ? 404 : 409, code, message, hint };
  }
  const isStated = error instanceof Error && 'statusCode' in error;
  const status = isStated ? Number(error.statusCode) : 500;
  const message = status < 500 && isStated ? error.message : 'see the log of the daemon';
  return { status, code: status < 500 ? 'console.bad_request' : 'console.failed', message };
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

function hostsOf({ publicUrl }: ConsoleSettings): readonly string[] {
  return publicUrl === null ? [] : [new URL(publicUrl).host];
}

export function createConsoleApp(deps: ConsoleDeps): FastifyInstance {
  const app = createHttpServer(deps.log);
  guardBrowser(app, { hosts: hostsOf(deps.settings) });
  app.decorateRequest('console', undefined);
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: FastifyRequest, body: string) => Object.fromEntries(new URLSearchParams(body)),
  );
  app.setNotFoundHandler((request, reply) => {
    const message = 'there is no such page';
    if (!isForPeople(request)) return reply.code(404).send({ code: 'console.not_found', message });
    return sendPage(reply.code(404), noticePage('There is no such page', 'Go back to the start.'));
  });
  app.setErrorHandler((error, request, reply) => {
    const { status, ...refusal } = refusalOf(error);
    if (!isForPeople(request)) return reply.code(status).send(refusal);
    const text = [refusal.message, refusal.hint].filter(Boolean).join(' · ');
    const title = TITLES[status] ?? 'This did not work';
    return sendPage(reply.code(status), noticePage(title, text));
  });
  installAssets(app);
  installSigning(app, deps);
  app.register(async (inside) => {
    installGate(inside, deps);
    installPages(inside, deps);
    installActs(inside, deps);
  });
  return app;
}
