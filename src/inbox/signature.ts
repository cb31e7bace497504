/**
 * Verifies webhook signatures (Standard Webhooks 1.0.0 and Svix, the same scheme under other header
 * names) over the raw bytes, because decoding first would make different bytes equal. Deliberately
 * stricter than both npm libraries: exact grammars for id and timestamp, one header family per
 * request, a bounded number of signatures. Checks grammar, signature, age in this order, so that an
 * old request with a valid signature differs from a forged one, and its timestamp is evidence about
 * our clock.
 */
import {
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify as verifyEd25519,
} from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Secret } from '../lib/secret.ts';
import { hmacKeyOf, hmacOf, keyBytes, signedPrefix } from '../lib/webhook-signature.ts';

/** Maximum difference between a request's timestamp and our clock, in both directions. */
export const TOLERANCE_MS = 300_000;
const SIGNATURES_MAX = 16;
const SIGNATURE_CHARS_MAX = 512;

const FAMILIES = ['svix', 'webhook'] as const;
const EVENT_ID = /^[A-Za-z0-9_-]{1,128}$/;
const TIMESTAMP = /^\d{10,11}$/;
const SIGNATURE = /^(v[0-9a-z]{1,7}),([A-Za-z0-9+/]+={0,2})$/;

/** A trusted key: `whsec_…` (HMAC-SHA256) or `whpk_…` (Ed25519, public). */
export interface SigningSecret {
  /** Name of the key, logged and stored with each event, so that a rotation can be followed. */
  readonly name: string;
  readonly secret: Secret;
  /** Epoch ms when the key expires; undefined: never. */
  readonly notAfter?: number | undefined;
}

/**
 * Reasons why a signature is refused:
 * - `malformed`: a header is missing, doubled, of both families or against the grammar
 * - `forged`: no key of ours made any of the signatures
 * - `retired`: a key that has expired made it
 * - `stale`: rightly signed, but too old or too far in the future
 */
type RefusedSignature = 'malformed' | 'forged' | 'retired' | 'stale';

export type Verification =
  | {
      readonly ok: true;
      readonly eventId: string;
      /** Epoch ms when the relay sent this attempt. */
      readonly sentAt: number;
      readonly secretName: string;
    }
  | {
      readonly ok: false;
      readonly reason: RefusedSignature;
      /** Epoch ms when the relay sent it; set only when the signature was valid. */
      readonly sentAt?: number;
      readonly secretName?: string;
    };

export interface Verifier {
  /** Checks a request at `now` (epoch ms). Never throws, whatever headers and body are. */
  verify(headers: IncomingHttpHeaders, body: Uint8Array, now: number): Verification;
}

/** Whether a request has the headers of an event, whatever is in them. */
export function isSigned(headers: IncomingHttpHeaders): boolean {
  return FAMILIES.some((family) => headers[`${family}-signature`] !== undefined);
}

interface SignedHeaders {
  readonly eventId: string;
  readonly timestamp: string;
  readonly signatures: readonly { readonly version: string; readonly text: string }[];
}

interface Key {
  readonly name: string;
  readonly notAfter: number;
  /** Whether this key made one of the signatures; always tries all of them. */
  matches(prefix: string, body: Uint8Array, signatures: SignedHeaders['signatures']): boolean;
}

/** Decodes canonical base64; undefined: any other text. */
function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

function hmacKey(name: string, notAfter: number, secret: KeyObject): Key {
  return {
    name,
    notAfter,
    matches(prefix, body, signatures) {
      const expected = hmacOf(secret, prefix, body);
      let found = false;
      for (const { version, text } of signatures) {
        const given = decodeBase64(text);
        if (version !== 'v1' || given?.length !== expected.length) continue;
        found = timingSafeEqual(given, expected) || found;
      }
      return found;
    },
  };
}

function ed25519Key(name: string, notAfter: number, key: KeyObject): Key {
  return {
    name,
    notAfter,
    matches(prefix, body, signatures) {
      const signed = Buffer.concat([Buffer.from(prefix), body]);
      let found = false;
      for (const { version, text } of signatures) {
        const given = decodeBase64(text);
        if (version !== 'v1a' || given === undefined) continue;
        found = verifyEd25519(null, signed, key, given) || found;
      }
      return found;
    },
  };
}

/** Makes a key ready for use; the configuration has validated the form of its secret. */
function prepareKey({ name, secret, notAfter = Number.POSITIVE_INFINITY }: SigningSecret): Key {
  const text = secret.reveal();
  if (!text.startsWith('whpk_')) return hmacKey(name, notAfter, hmacKeyOf(text));
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: keyBytes(text).toString('base64url') };
  return ed25519Key(name, notAfter, createPublicKey({ key: jwk, format: 'jwk' }));
}

/**
 * Reads id, timestamp and signatures from the one header family that is present. A header sent
 * twice arrives joined with a comma and a space, which no grammar here allows.
 */
function readHeaders(headers: IncomingHttpHeaders): SignedHeaders | undefined {
  const present = FAMILIES.filter((family) =>
    ['id', 'timestamp', 'signature'].some((part) => headers[`${family}-${part}`] !== undefined),
  );
  const [family] = present;
  if (family === undefined || present.length > 1) return undefined;
  const eventId = headers[`${family}-id`];
  const timestamp = headers[`${family}-timestamp`];
  const list = headers[`${family}-signature`];
  if (typeof eventId !== 'string' || typeof timestamp !== 'string' || typeof list !== 'string') {
    return undefined;
  }
  if (!EVENT_ID.test(eventId) || !TIMESTAMP.test(timestamp)) return undefined;
  const texts = list.split(' ');
  if (texts.length > SIGNATURES_MAX) return undefined;
  const signatures: { version: string; text: string }[] = [];
  for (const text of texts) {
    const [, version, encoded] =
      text.length > SIGNATURE_CHARS_MAX ? [] : (SIGNATURE.exec(text) ?? []);
    if (version === undefined || encoded === undefined) return undefined;
    signatures.push({ version, text: encoded });
  }
  return { eventId, timestamp, signatures };
}

/** Creates the verifier; the first key of the list that made a signature counts. */
export function createVerifier(
  secrets: readonly SigningSecret[],
  toleranceMs: number = TOLERANCE_MS,
): Verifier {
  const keys = secrets.map(prepareKey);
  return {
    verify(headers, body, now) {
      const signed = readHeaders(headers);
      if (!signed) return { ok: false, reason: 'malformed' };
      const prefix = signedPrefix(signed.eventId, signed.timestamp);
      let live: string | undefined;
      let retired: string | undefined;
      for (const key of keys) {
        const matches = key.matches(prefix, body, signed.signatures);
        if (matches && now < key.notAfter) live ??= key.name;
        else if (matches) retired ??= key.name;
      }
      const sentAt = Number(signed.timestamp) * 1_000;
      if (live === undefined) {
        if (retired === undefined) return { ok: false, reason: 'forged' };
        return { ok: false, reason: 'retired', sentAt, secretName: retired };
      }
      if (Math.abs(now - sentAt) > toleranceMs) {
        return { ok: false, reason: 'stale', sentAt, secretName: live };
      }
      return { ok: true, eventId: signed.eventId, sentAt, secretName: live };
    },
  };
}
