/**
 * Connects through a proxy: CONNECT gives a socket to the service, and TLS starts behind it, so
 * that no request leaves before the service has shown its certificate.
 */
import { Socket } from 'node:net';
import type { buildConnector as Connector } from 'undici';
import { errorCode, toError } from '../../lib/errors.ts';
import { buildConnector, Client, connectBy } from '../../lib/http-client/undici.ts';
import type { Secret } from '../../lib/secret.ts';
import { UNTRUSTED_CODES } from './answer.ts';

export interface OutgoingProxy {
  /** Address of the proxy: http or https, host and port. */
  readonly url: string;
  readonly credentials: { readonly user: string; readonly password: Secret } | undefined;
}

/** Our certificate, for a service that requires one (mTLS). */
interface ClientCertificate {
  /** Our certificate and its intermediates, as PEM. */
  readonly certText: string;
  /** Private key of our certificate, as PEM. */
  readonly key: Secret;
}

/** How connections reach the remote side, and which authorities they trust. */
export interface Route {
  /** Certificates (PEM) of the authorities to trust instead of the public ones. */
  readonly caText: string | undefined;
  /** Proxy to connect through; undefined: connect directly. */
  readonly proxy: OutgoingProxy | undefined;
  /** Client certificate to show to the service, never to a proxy. */
  readonly client?: ClientCertificate | undefined;
}

export const DIRECT: Route = { caText: undefined, proxy: undefined };

/**
 * Error for a connection through the proxy that did not come about. It must not carry undici's code
 * for a broken socket, because the pool would reconnect and the request would wait.
 */
class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
  readonly code: string;

  constructor(proxy: OutgoingProxy, text: string, code: string, cause?: unknown) {
    super(`the proxy ${proxy.url} (service.proxy) ${text}`, { cause });
    this.code = code;
  }
}

/**
 * Error codes for problems of the proxy's own certificate; any other means that the proxy is
 * unreachable.
 */
const OWN_CERTIFICATE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(UNTRUSTED_CODES.map((code) => [code, 'PROXY_UNTRUSTED'])),
  CERT_HAS_EXPIRED: 'PROXY_EXPIRED',
  ERR_TLS_CERT_ALTNAME_INVALID: 'PROXY_OTHER_NAME',
};

/** Builds the error for a failure beyond the proxy, for example of the service's certificate. */
function failureBehind(proxy: OutgoingProxy, target: string, cause: Error): ProxyFailure {
  const { code } = Object.assign({ code: '' }, cause);
  const isOdd = typeof code !== 'string' || code.startsWith('UND_ERR_SOCKET');
  const text = `opens a route to ${target} that does not work: ${cause.message}`;
  return new ProxyFailure(proxy, text, isOdd ? 'PROXY_BROKEN' : code, cause);
}

/**
 * TLS options of a connection; `rejectUnauthorized` is set, because otherwise an environment
 * variable would decide.
 */
export function tlsOf({ caText, client }: Pick<Route, 'caText' | 'client'>) {
  return {
    rejectUnauthorized: true,
    ...(caText === undefined ? {} : { ca: caText }),
    ...(client ? { cert: client.certText, key: client.key.reveal() } : {}),
  };
}

function headersOf({ credentials }: OutgoingProxy, target: string): Record<string, string> {
  if (!credentials) return { host: target };
  const { user, password } = credentials;
  const basic = Buffer.from(`${user}:${password.reveal()}`).toString('base64');
  return { host: target, 'proxy-authorization': `Basic ${basic}` };
}

/** Opens a socket to `target` (host and port) through the proxy. All errors name the proxy. */
export async function openTunnel(
  proxy: OutgoingProxy,
  target: string,
  route: Route,
  timeoutMs: number,
): Promise<Socket> {
  const client = new Client(proxy.url, {
    allowH2: false,
    headersTimeout: timeoutMs,
    connect: { timeout: timeoutMs, ...tlsOf({ caText: route.caText }) },
  });
  try {
    const { statusCode, socket } = await connectBy(client, {
      path: target,
      headers: headersOf(proxy, target),
    }).catch((error: unknown) => {
      const { message } = toError(error);
      const text = `gives no route to ${target}: ${message}`;
      const code = OWN_CERTIFICATE[errorCode(error)] ?? 'PROXY_UNREACHABLE';
      throw new ProxyFailure(proxy, text, code, error);
    });
    if (statusCode >= 200 && statusCode < 300 && socket instanceof Socket) return socket;
    socket.destroy();
    const code = statusCode === 407 ? 'PROXY_CREDENTIALS' : 'PROXY_REFUSED';
    throw new ProxyFailure(proxy, `answers ${statusCode} to CONNECT ${target}`, code);
  } finally {
    await client.destroy();
  }
}

/** Connector for undici whose sockets go through the proxy. */
export function tunnelled(
  proxy: OutgoingProxy,
  route: Route,
  connectMs: number,
): Connector.connector {
  const secure = buildConnector({ allowH2: false, timeout: connectMs, ...tlsOf(route) });
  return (options, callback) => {
    const host = options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname;
    const target = `${host}:${options.port || 443}`;
    openTunnel(proxy, target, route, connectMs).then(
      (httpSocket) => {
        secure({ ...options, httpSocket }, (error, socket) => {
          if (error === null) callback(null, socket);
          else callback(failureBehind(proxy, target, error), null);
        });
      },
      (error: unknown) => callback(toError(error), null),
    );
  };
}
