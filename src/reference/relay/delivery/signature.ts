/**
 * The sender's side of Standard Webhooks: `v1` signatures (HMAC-SHA256 over `id.timestamp.body`),
 * one for each live key, separated by spaces.
 */
import { createHmac } from 'node:crypto';
import type { Random } from '../../../lib/random.ts';

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 24;
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 75;

export function createSecret(random: Random): string {
  return SECRET_PREFIX + random.bytes(SECRET_BYTES).toString('base64');
}

/**
 * Tells whether a text is `whsec_<base64>` of 24 to 75 bytes: a secret that an endpoint's owner may
 * choose.
 */
export function isSecret(text: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return false;
  const { length } = keyOf(text);
  return length >= SECRET_BYTES_MIN && length <= SECRET_BYTES_MAX;
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
}

/** The three headers for exactly these bytes, signed with each of the secrets in order. */
export function signedHeaders(
  secrets: readonly string[],
  id: string,
  timestampSeconds: number,
  body: Uint8Array,
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', keyOf(secret));
    return `v1,${mac.update(`${id}.${timestampSeconds}.`).update(body).digest('base64')}`;
  });
  return {
    'svix-id': id,
    'svix-timestamp': String(timestampSeconds),
    'svix-signature': signatures.join(' '),
  };
}
