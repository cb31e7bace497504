/**
 * Second factors before the signature: a secret last path segment, a header with a secret, a list
 * of addresses. None proves the sender (only the signature does), but rejected requests cost no
 * signature check. Behind a reverse proxy every connection comes from the proxy; its header with
 * the sender is trusted only on connections from configured proxies, because anybody could write
 * it.
 */
import {
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify as verifyEd25519,
} from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { sha256 } from '../lib/json.ts';
import type { Secret } from '../lib/secret.ts';
import { hmacKeyOf, hmacOf, keyBytes, signedPrefix } from '../lib/webhook-signature.ts';

/** Path at which `selvedge doctor` asks whether the listener answers; no refused event. */
export const PROBE_PATH = '/readyz';

export interface AccessRules {
  /** Path that events are posted to, e.g. `/events`. */
  readonly path: string;
  /** Secret last segment of the listener's path; null or left out: the path has none. */
  readonly pathToken?: Secret | null;
  /** Secret that requests must carry in `header` (lower case); null or left out: none is wanted. */
  readonly headerToken?: Secret | null;
  readonly header?: string;
  /** Addresses that may send, single or as `10.0.0.0/8`; empty: every address may. */
  readonly addresses?: readonly string[];
  /** Reverse proxies whose `proxyHeader` (lower case) is trusted to name the sender. */
  readonly proxies?: readonly string[];
  readonly proxyHeader?: string;
}

export interface Access {
  /** Path of the listener with its token; a secret when there is one. */
  readonly path: string;
  isPath(url: string | undefined): boolean;
  /** Sender's address as far as it can be trusted; empty: unknown. */
  senderOf(request: IncomingMessage): string;
  /** Factor besides the path that a request does not have; undefined: it has all of them. */
  lacks(request: IncomingMessage): 'address' | 'header token' | undefined;
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

function plainAddress(address: string): string {
  return MAPPED.exec(address)?.[1] ?? address;
}

/** Reads the IP address out of `[::1]:443`, `10.0.0.1:443` or a bare one; empty when invalid. */
function addressIn(text: string): string {
  const bare =
    /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(bare) === 0 ? '' : plainAddress(bare);
}

/** Matches addresses against validated entries `address` or `address/bits`. */
function addressList(entries: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return (address) =>
    isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function sameText(given: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(sha256(expected)));
}

export function createAccess(rules: AccessRules): Access {
  const { pathToken, headerToken, header = '', addresses = [], proxyHeader = '' } = rules;
  const path = pathToken ? `${rules.path.replace(/\/$/, '')}/${pathToken.reveal()}` : rules.path;
  const isAllowed = addressList(addresses);
  const isProxy = addressList(rules.proxies ?? []);

  const senderOf = (request: IncomingMessage): string => {
    let sender = plainAddress(request.socket.remoteAddress ?? '');
    const named = request.headers[proxyHeader];
    const chain = typeof named === 'string' ? named.split(',') : [];
    // Walks back from the nearest proxy: each vouches for the address before it, up to the first
    // that is no trusted proxy.
    while (isProxy(sender) && chain.length > 0) sender = addressIn((chain.pop() ?? '').trim());
    return sender;
  };

  return {
    path,
    isPath: (url = '') => (pathToken ? sameText(url, path) : url === path),
    senderOf,
    lacks(request) {
      if (addresses.length > 0 && !isAllowed(senderOf(request))) return 'address';
      const given = request.headers[header];
      if (headerToken && !sameText(String(given ?? ''), headerToken.reveal())) {
        return 'header token';
      }
      return undefined;
    },
  };
}

// Verifies webhook signatures (Standard Webhooks 1.0.0 and Svix, the same scheme under other header
// names) over the raw bytes, because decoding first would make different bytes equal. Deliberately
// stricter than both npm libraries: exact grammars for id and timestamp, one header family per
// request, a bounded number of signatures. Checks grammar, signature, age in this order, so that an
// old request with a valid signature differs from a forged one, and its timestamp is evidence about
// our clock.

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
