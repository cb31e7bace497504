/**
 * Protects local servers against browsers: answers only known host names (DNS rebinding), accepts
 * state-changing requests only from its own pages (cross-site request forgery), and sends headers
 * that isolate its pages.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';

export interface BrowserGuardOptions {
  /** Whether cookies authenticate here; without them every route requires its token. */
  readonly hasCookies?: boolean;
  /** Further values of `Host` that lead to this server, as a reverse proxy passes them on. */
  readonly hosts?: readonly string[];
  /** Further host names, under which only reads of some routes are answered. */
  readonly others?: OtherNames;
}

interface OtherNames {
  /** Host names without port. */
  readonly names: readonly string[];
  readonly routes: readonly string[];
}

/** Matches a `Host` header with a name or address that only this machine can reach. */
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

/**
 * Whether a `Host` header names this machine, which no foreign page can; any other name may resolve
 * here today.
 */
export function isThisMachine(host = ''): boolean {
  return THIS_MACHINE.test(host);
}

/**
 * Whether a request is a read under a further host name. The route that was found decides, not the
 * path as written.
 */
function isForOthers(
  { headers, method, routeOptions }: FastifyRequest,
  { names, routes }: OtherNames,
): boolean {
  const name = (headers.host ?? '').replace(/:\d*$/, '').toLowerCase();
  const isRead = method === 'GET' || method === 'HEAD';
  const isKnown = names.some((one) => one.toLowerCase() === name);
  return isRead && isKnown && routes.includes(routeOptions.url ?? '');
}

/**
 * Whether a request comes from one of the server's own pages, by Go's rule: a browser states the
 * origin in `Sec-Fetch-Site`, an older one in `Origin`. A client with neither is no browser, and
 * must carry a bearer token instead of a cookie.
 */
function comesFromOwnPage({ headers }: FastifyRequest, hasCookies: boolean): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { origin } = headers;
  if (origin !== undefined) return URL.canParse(origin) && new URL(origin).host === headers.host;
  return !hasCookies || (headers.authorization?.startsWith('Bearer ') ?? false);
}

/** Installs the guard for every route of `app`, also for routes that are added later. */
export function guardBrowser(app: FastifyInstance, options: BrowserGuardOptions = {}): void {
  const { hasCookies = true, hosts = [], others = { names: [], routes: [] } } = options;
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    const { host = '' } = request.headers;
    const isOurs = isThisMachine(host) || hosts.includes(host.toLowerCase());
    if (!isOurs && !isForOthers(request, others)) {
      return reply.code(421).type('text/plain').send('This host name does not lead here.\n');
    }
    if (!SAFE_METHODS.has(request.method) && !comesFromOwnPage(request, hasCookies)) {
      return reply.code(403).type('text/plain').send('This request comes from another site.\n');
    }
    return undefined;
  });
}
