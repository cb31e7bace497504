/**
 * Standard Webhooks 1.0.0, the part that both sides share: what is signed, and by which key. The
 * inbox checks what comes with it, notifications are sent with it.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** Bytes of a secret as relays hand it out (`whsec_…` or `whpk_…`). */
export function keyBytes(secret: string): Buffer {
  return Buffer.from(secret.replace(/^(?:whsec_|whpk_)/, ''), 'base64');
}

/** A prepared key; raw bytes make each HMAC five times as expensive (measured). */
export function hmacKeyOf(secret: string): KeyObject {
  return createSecretKey(keyBytes(secret));
}

/** Signed text before the body; `timestamp` in seconds, as it stands in the header. */
export function signedPrefix(id: string, timestamp: string): string {
  return `${id}.${timestamp}.`;
}

export function hmacOf(key: KeyObject, prefix: string, body: Uint8Array | string): Buffer {
  return createHmac('sha256', key).update(prefix).update(body).digest();
}

/** Headers of a message of ours; the same id again is the same message again. */
export function signatureHeaders(
  secret: string,
  { id, at, body }: { readonly id: string; readonly at: number; readonly body: string },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1_000));
  const signature = hmacOf(hmacKeyOf(secret), signedPrefix(id, timestamp), body);
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature.toString('base64')}`,
  };
}
