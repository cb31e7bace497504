/** Routes for signing in with a printed link or a password, and for signing out. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { askFor, type ConsoleDeps, RefusedHere } from '../context.ts';
import { backTo } from '../done.ts';
import { noticePage, signInPage } from '../pages/frame.ts';
import { sendPage } from '../show.ts';

/**
 * Name of the session's cookie. The prefix `__Host-` behind https keeps other hosts and plain
 * connections from setting it.
 */
export function cookieName(publicUrl: string | null): string {
  return publicUrl?.startsWith('https:') ? '__Host-selvedge' : 'selvedge';
}

export interface SessionKey {
  readonly key: string;
  readonly isBearer: boolean;
}

/** Key that a request comes with; a token in `Authorization` goes before a cookie. */
export function sessionKeyOf({ headers }: FastifyRequest, cookie: string): SessionKey | undefined {
  const { authorization } = headers;
  if (authorization !== undefined) {
    const [, key] = /^Bearer (\S{1,200})$/.exec(authorization) ?? [];
    return key === undefined ? undefined : { key, isBearer: true };
  }
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  const key = pairs.find(([name]) => name === cookie)?.[1];
  return key ? { key, isBearer: false } : undefined;
}

/**
 * Network address of the person: from a reverse proxy on this machine its `X-Forwarded-For`, else
 * the connection's.
 */
export function addressOf(
  { ip, headers }: FastifyRequest,
  publicUrl: string | null,
): string | null {
  const isProxied = publicUrl !== null && /^(?:127\.|::1$|::ffff:127\.)/.test(ip);
  const forwarded = headers['x-forwarded-for'];
  if (!isProxied || typeof forwarded !== 'string') return ip;
  return forwarded.split(',').at(-1)?.trim().slice(0, 60) || ip;
}

const opened = z.object({ key: z.string(), expiresAt: z.number() });

function cookieHeader(publicUrl: string | null, value: string, seconds: number): string {
  const secure = publicUrl?.startsWith('https:') ? '; Secure' : '';
  const cookie = `${cookieName(publicUrl)}=${value}; Path=/; HttpOnly; SameSite=Strict`;
  return `${cookie}${secure}; Max-Age=${seconds}`;
}

export function forgetCookie(reply: FastifyReply, publicUrl: string | null): FastifyReply {
  return reply.header('set-cookie', cookieHeader(publicUrl, '', 0));
}

const ways = z.object({ hasPasswords: z.boolean() });
/** Page to go on with after signing in; one that is too long is forgotten. */
const to = z.string().max(4_000).optional().catch(undefined);
const linkQuery = z.object({ key: z.string().max(200).optional(), to });
const linkBody = z.object({ key: z.string().min(1).max(200), to });
const passwordBody = z.object({
  name: z.string().trim().min(1).max(100),
  password: z.string().min(1).max(1_000),
  to,
});

export function installSigning(app: FastifyInstance, deps: ConsoleDeps): void {
  const { settings, clock } = deps;
  const enter = (reply: FastifyReply, value: unknown, next = '/'): FastifyReply => {
    const { key, expiresAt } = opened.parse(value);
    const seconds = Math.max(0, Math.floor((expiresAt - clock.now()) / 1_000));
    const cookie = cookieHeader(settings.publicUrl, key, seconds);
    return reply.header('set-cookie', cookie).code(303).header('location', backTo(next)).send();
  };
  // Link previews send GET requests, so that only the button's POST uses a link up.
  app.get('/sign-in', async (request, reply) => {
    const given = linkQuery.parse(request.query);
    const next = given.to === undefined ? undefined : backTo(given.to);
    const { hasPasswords } = ways.parse(await askFor(deps, { ask: 'ways' }));
    return sendPage(reply, signInPage({ key: given.key, hasPasswords, to: next }));
  });
  app.post('/sign-in/link', async (request, reply) => {
    const { key, to: next } = linkBody.parse(request.body);
    const address = addressOf(request, settings.publicUrl);
    return enter(reply, await askFor(deps, { ask: 'link', key, address }), next);
  });
  app.post('/sign-in/password', async (request, reply) => {
    const { name, password, to: next } = passwordBody.parse(request.body);
    const address = addressOf(request, settings.publicUrl);
    try {
      const opened = await askFor(deps, { ask: 'password', name, password, address });
      return enter(reply, opened, next);
    } catch (error) {
      if (!(error instanceof RefusedHere)) throw error;
      const { status, message, hint } = error.refusal;
      const problem = [message, hint].filter(Boolean).join(': ');
      const page = { key: undefined, hasPasswords: true, name, problem, to: next };
      return sendPage(reply.code(status), signInPage(page));
    }
  });
  app.get('/signed-out', (_request, reply) =>
    sendPage(reply, noticePage('Signed out', 'To come back, sign in again.')),
  );
  app.addHook('onSend', async (_request, reply) => {
    // Forbids caching, because a cached page would show one person's data to another.
    if (reply.getHeader('cache-control') === undefined) reply.header('cache-control', 'no-store');
  });
}
