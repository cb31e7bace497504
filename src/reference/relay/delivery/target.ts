/**
 * Guard of the addresses that the relay may send to: people enter endpoints, so the relay could
 * otherwise be used to reach machines behind it. Names are resolved here, *all* their addresses are
 * checked, and the connection goes to a checked address, so that a name cannot change in between.
 * This machine is allowed on every port, because receivers of demos and tests run here.
 */
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { RefusedError } from '../../../lib/errors.ts';

export interface TargetGuard {
  /**
   * Parses the URL of an endpoint; throws a RefusedError `relay.url_refused` that says what is
   * wrong.
   */
  check(url: string): URL;
  /** Resolves a name for the connection; fails when any of its addresses is not allowed. */
  readonly lookup: LookupFunction;
}

type Resolve = (
  name: string,
  options: LookupOptions & { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

const PORTS = new Set(['', '80', '443']);
const URL_CHARS_MAX = 2_048;

const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/**
 * Ranges that are not allowed: private, shared, link-local, documentation, multicast, and IPv6
 * forms that contain IPv4.
 */
const OUT_OF_BOUNDS = (
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 ' +
  '192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 ' +
  '203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ::/128 ::ffff:0:0:0/96 64:ff9b::/96 ' +
  '64:ff9b:1::/48 100::/64 2001::/32 2001:db8::/32 2002::/16 fc00::/7 fe80::/10 ' +
  'fec0::/10 ff00::/8'
).split(' ');

function refuse(reason: string): RefusedError {
  return new RefusedError('relay.url_refused', `this URL cannot be an endpoint: ${reason}`, {
    hint: 'use the public https URL of the receiver, or one on this machine',
  });
}

/** Makes a test of whether an address is in one of the ranges. */
function within(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', prefix] = range.split('/');
    list.addSubnet(net, Number(prefix), net.includes(':') ? 'ipv6' : 'ipv4');
  }
  return (address) => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** Creates the guard; `resolve` is the system's resolver unless a test replaces it. */
export function createTargetGuard(resolve: Resolve = systemLookup): TargetGuard {
  const onLoopback = within(LOOPBACK);
  const outOfBounds = within(OUT_OF_BOUNDS);
  return {
    check(text) {
      if (text.length > URL_CHARS_MAX || !URL.canParse(text)) throw refuse('it is no URL');
      const url = new URL(text);
      if (!['http:', 'https:'].includes(url.protocol)) throw refuse('it is not http or https');
      if (url.username || url.password) throw refuse('it carries a user name or password');
      const host = url.hostname.replace(/^\[|\]$/g, '');
      const local = isIP(host) ? onLoopback(host) : isLoopbackName(host);
      if (isIP(host) && outOfBounds(host)) throw refuse('its address is not public');
      if (!local && !PORTS.has(url.port)) throw refuse('only the ports 80 and 443 are open');
      return url;
    },
    lookup(hostname, lookupOptions, done) {
      resolve(hostname, { ...lookupOptions, all: true }, (error, found) => {
        const [first] = found ?? [];
        if (error || !first) return done(error ?? refuse('its name has no address'), '', 0);
        if (found.some(({ address }) => outOfBounds(address))) {
          return done(refuse('its name leads to an address that is not public'), '', 0);
        }
        if (lookupOptions.all) return done(null, found);
        return done(null, first.address, first.family);
      });
    },
  };
}
