/**
 * What every server here that a browser may talk to does before its routes: it answers only to
 * names it knows (DNS rebinding), lets a state-changing request come only from its own pages
 * (cross-site request forgery), and sends the headers that keep a page to itself.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';

export interface BrowserGuardOptions {
  /** Whether a cookie opens anything here; without one every route asks for its token by itself. */
  readonly hasCookies?: boolean;
}

/** Its one name, and the addresses that only this machine can reach, as a `Host` names them. */
const THIS_MACHINE =
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[(?:::1|::ffff:7f[\da-f]{2}:[\da-f]{1,4})\])(?::\d*)?$/i;

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Whether a `Host` is one that no foreign page can have: any other name may lead here today. */
export function isThisMachine(host = ''): boolean {
  return THIS_MACHINE.test(host);
}

/**
 * Go's rule: a browser says where a request comes from in `Sec-Fetch-Site`, an older one in
 * `Origin`. Whoever says neither is no browser, and must carry a bearer token instead of a cookie.
 */
function comesFromOwnPage({ headers }: FastifyRequest, hasCookies: boolean): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { origin } = headers;
  if (origin !== undefined) return URL.canParse(origin) && new URL(origin).host === headers.host;
  return !hasCookies || (headers.authorization?.startsWith('Bearer ') ?? false);
}

/** Installs the guard for every route of `app`, also for those that are registered later. */
export function guardBrowser(app: FastifyInstance, options: BrowserGuardOptions = {}): void {
  const { hasCookies = true } = options;
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    if (!isThisMachine(request.headers.host)) {
      return reply.code(421).type('text/plain').send('This host name does not lead here.\n');
    }
    if (!SAFE_METHODS.has(request.method) && !comesFromOwnPage(request, hasCookies)) {
      return reply.code(403).type('text/plain').send('This request comes from another site.\n');
    }
    return undefined;
  });
}
