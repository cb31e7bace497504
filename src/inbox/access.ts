/**
 * Second factors before the signature: a secret last path segment, a header with a secret, a list
 * of addresses. None proves the sender (only the signature does), but rejected requests cost no
 * signature check. Behind a reverse proxy every connection comes from the proxy; its header with
 * the sender is trusted only on connections from configured proxies, because anybody could write
 * it.
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { sha256 } from '../lib/json.ts';
import type { Secret } from '../lib/secret.ts';

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
