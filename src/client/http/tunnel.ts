/**
 * The way through a proxy: a CONNECT to it gives a socket that leads to the service, and TLS begins
 * behind it, so that nothing of a request leaves before the service has shown its certificate.
 */
import { Socket } from 'node:net';
import { buildConnector, Client } from 'undici';
import { errorCode, toError } from '../../lib/errors.ts';
import type { Secret } from '../../lib/secret.ts';

export interface OutgoingProxy {
  /** http or https, host and port. */
  readonly url: string;
  readonly credentials: { readonly user: string; readonly password: Secret } | undefined;
}

/** Our certificate, for a service that asks its clients for one (mTLS). */
interface ClientCertificate {
  /** PEM: the certificate, and those between it and its authority. */
  readonly certText: string;
  /** PEM. */
  readonly key: Secret;
}

/** How the remote side is reached, and who vouches for it. */
export interface Way {
  /** PEM text of the authorities to trust in place of the public ones. */
  readonly caText: string | undefined;
  /** Undefined: straight. */
  readonly proxy: OutgoingProxy | undefined;
  /** For the service alone, and never for a proxy. */
  readonly client?: ClientCertificate | undefined;
}

export const STRAIGHT: Way = { caText: undefined, proxy: undefined };

/**
 * No connection through the proxy. It must not carry undici's own code for a broken socket: the
 * pool would take that for a connection to be made again, and the request would wait for it.
 */
class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
  readonly code: string;

  constructor(proxy: OutgoingProxy, text: string, code: string, cause?: unknown) {
    super(`the proxy ${proxy.url} (service.proxy) ${text}`, { cause });
    this.code = code;
  }
}

/** As Node names a certificate that no authority known here stands behind. */
export const UNTRUSTED_CODES = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
] as const;

/** What is wrong with the certificate of the proxy itself; else it cannot be reached. */
const OWN_CERTIFICATE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(UNTRUSTED_CODES.map((code) => [code, 'PROXY_UNTRUSTED'])),
  CERT_HAS_EXPIRED: 'PROXY_EXPIRED',
  ERR_TLS_CERT_ALTNAME_INVALID: 'PROXY_OTHER_NAME',
};

/** What is wrong behind the tunnel, for example with the certificate of the service. */
function failureBehind(proxy: OutgoingProxy, target: string, cause: Error): ProxyFailure {
  const { code } = Object.assign({ code: '' }, cause);
  const isOdd = typeof code !== 'string' || code.startsWith('UND_ERR_SOCKET');
  const text = `opens a way to ${target} that does not work: ${cause.message}`;
  return new ProxyFailure(proxy, text, isOdd ? 'PROXY_BROKEN' : code, cause);
}

/** Without `rejectUnauthorized` an environment variable would decide. */
export function tlsOf({ caText, client }: Pick<Way, 'caText' | 'client'>) {
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

/** A socket to `target` (host and port) through the proxy. Throws only what names the proxy. */
export async function openTunnel(
  proxy: OutgoingProxy,
  target: string,
  way: Way,
  timeoutMs: number,
): Promise<Socket> {
  const client = new Client(proxy.url, {
    allowH2: false,
    headersTimeout: timeoutMs,
    connect: { timeout: timeoutMs, ...tlsOf({ caText: way.caText }) },
  });
  try {
    const { statusCode, socket } = await client
      .connect({ path: target, headers: headersOf(proxy, target) })
      .catch((error: unknown) => {
        const { message } = toError(error);
        const text = `gives no way to ${target}: ${message}`;
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

/** A connector for undici whose sockets lead through the proxy. */
export function tunnelled(
  proxy: OutgoingProxy,
  way: Way,
  connectMs: number,
): buildConnector.connector {
  const secure = buildConnector({ allowH2: false, timeout: connectMs, ...tlsOf(way) });
  return (options, callback) => {
    const host = options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname;
    const target = `${host}:${options.port || 443}`;
    openTunnel(proxy, target, way, connectMs).then(
      (httpSocket) => {
        secure({ ...options, httpSocket }, (...[error, socket]) => {
          if (error === null) callback(null, socket);
          else callback(failureBehind(proxy, target, error), null);
        });
      },
      (error: unknown) => callback(toError(error), null),
    );
  };
}
