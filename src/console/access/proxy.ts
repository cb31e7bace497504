/**
 * Recognises people whom an authenticating proxy names in a header. Anybody who reaches the port
 * can send that header, so it counts only beside another one with the secret of the proxy.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Settings of the authenticating proxy, with a digest in place of its secret. */
export interface ProxySettings {
  /** Name of the header with the person's name, in small letters. */
  readonly userHeader: string;
  /** Name of the header with the proxy's secret, in small letters. */
  readonly secretHeader: string;
  /** SHA-256 of the secret, in hexadecimal digits. */
  readonly secretDigest: string;
}

export type Proxied =
  /** The request names nobody: it did not come through the proxy's sign-in. */
  | { readonly is: 'absent' }
  | { readonly is: 'named'; readonly name: string }
  /** The request has a name without the proxy's secret, or a name that nobody can have. */
  | { readonly is: 'refused'; readonly why: string };

/** Form of a person's name: short names and e-mail addresses; a comma joins two headers. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} .@_+-]{0,99}$/u;

function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

export function secretDigestOf(secret: string): string {
  return digestOf(secret).toString('hex');
}

function isSecret(given: string | string[] | undefined, secretDigest: string): boolean {
  // Digests have one length, so that the comparison takes equally long for each guess.
  const found = digestOf(typeof given === 'string' ? given : '');
  return timingSafeEqual(found, Buffer.from(secretDigest, 'hex'));
}

export function proxiedBy(
  { userHeader, secretHeader, secretDigest }: ProxySettings,
  headers: IncomingHttpHeaders,
): Proxied {
  const given = headers[userHeader];
  if (given === undefined || given === '') return { is: 'absent' };
  if (!isSecret(headers[secretHeader], secretDigest)) {
    return { is: 'refused', why: 'without the secret of the proxy' };
  }
  // Node decodes headers as Latin-1, and names come in UTF-8.
  const name = Buffer.from(String(given), 'latin1').toString('utf8').trim();
  if (!NAME.test(name)) return { is: 'refused', why: 'with what is no name' };
  return { is: 'named', name };
}
