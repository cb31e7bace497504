/**
 * What every server here that a browser may talk to does before its routes: it answers only to
 * names it knows (DNS rebinding), lets a state-changing request come only from its own pages
 * (cross-site request forgery), and sends the headers that keep a page to itself.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';

export interface BrowserGuardOptions {
  /** Host names, without port, that lead here besides the loopback ones. */
  readonly hosts?: readonly string[];
  /** Whether a cookie opens anything here; without one every route asks for its token by itself. */
  readonly hasCookies?: boolean;
}

const LOOPBACK_HOSTS = ['127.0.0.1', 'localhost', '[::1]'];

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

function hostName(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase();
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
  const { hosts: others = [], hasCookies = true } = options;
  const hosts = new Set([...LOOPBACK_HOSTS, ...others]);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    if (!hosts.has(hostName(request.headers.host ?? ''))) {
      return reply.code(421).type('text/plain').send('This host name does not lead here.\n');
    }
    if (!SAFE_METHODS.has(request.method) && !comesFromOwnPage(request, hasCookies)) {
      return reply.code(403).type('text/plain').send('This request comes from another site.\n');
    }
    return undefined;
  });
}
