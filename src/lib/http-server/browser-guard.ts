/**
 * Protects local servers against browsers: answers only known host names (DNS rebinding), accepts
 * state-changing requests only from its own pages (cross-site request forgery), and sends headers
 * that isolate its pages.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from '../log.ts';

export interface BrowserGuardOptions {
  readonly log: Logger;
  /** Whether cookies authenticate here; without them every route requires its token. */
  readonly hasCookies?: boolean;
  /** Address that people type, whose name a reverse proxy passes on; left out: there is none. */
  readonly publicUrl?: string | null;
  /** Further host names, under which only reads of some routes are answered. */
  readonly others?: OtherNames;
  /** Next step of the operator whose proxy passes on another name. */
  readonly hint?: string;
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

/** Name in a `Host` header; proxies leave out the port or not, and rebinding needs another name. */
function nameIn(host: string): string {
  return host.replace(/\.?(?::\d*)?$/, '').toLowerCase();
}

/**
 * Whether a request is a read under a further host name, or under none, as a health check of
 * HTTP/1.0 is and no browser's. The route that was found decides, not the path as written.
 */
function isForOthers(
  { method, routeOptions }: FastifyRequest,
  name: string,
  { names, routes }: OtherNames,
): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  const isKnown = name === '' || names.some((one) => one.toLowerCase() === name);
  return isRead && isKnown && routes.includes(routeOptions.url ?? '');
}

/** Names of refused requests that are logged; anybody can make up more. */
const NAMES_TOLD_MAX = 16;

/** Logs each name once, because an open page behind a wrong proxy asks every two seconds. */
function tellerOf({ log, hint }: BrowserGuardOptions): (name: string) => void {
  const told = new Set<string>();
  return (name) => {
    if (told.has(name) || told.size >= NAMES_TOLD_MAX) return;
    told.add(name);
    const host = name.slice(0, 253);
    log.warn({ host, hint }, 'requests under a host name that does not lead here are refused');
  };
}

/**
 * Whether a request comes from one of the server's own pages, by Go's rule: a browser states the
 * origin in `Sec-Fetch-Site`, an older one in `Origin`. A client with neither is no browser, and
 * must carry a bearer token instead of a cookie.
 */
function comesFromOwnPage(
  { headers }: FastifyRequest,
  { hasCookies = true, publicUrl }: BrowserGuardOptions,
): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { origin } = headers;
  if (origin !== undefined) {
    return origin === publicUrl || (URL.canParse(origin) && new URL(origin).host === headers.host);
  }
  return !hasCookies || (headers.authorization?.startsWith('Bearer ') ?? false);
}

/** Installs the guard for every route of `app`, also for routes that are added later. */
export function guardBrowser(app: FastifyInstance, options: BrowserGuardOptions): void {
  const { publicUrl = null, others = { names: [], routes: [] } } = options;
  const publicName = publicUrl === null ? undefined : nameIn(new URL(publicUrl).host);
  const tell = tellerOf(options);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    const { host = '' } = request.headers;
    const name = nameIn(host);
    const isOurs = isThisMachine(host) || name === publicName;
    if (!isOurs && !isForOthers(request, name, others)) {
      tell(name);
      return reply.code(421).type('text/plain').send('This host name does not lead here.\n');
    }
    if (!SAFE_METHODS.has(request.method) && !comesFromOwnPage(request, options)) {
      return reply.code(403).type('text/plain').send('This request comes from another site.\n');
    }
    return undefined;
  });
}
