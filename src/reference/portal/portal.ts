/**
 * Access to the portal. A link is made for a customer, has its token in the fragment (which a link
 * preview never sends), is valid for minutes and is used up by the first exchange into a session.
 * Tokens and sessions are kept as hashes, in memory: a restart signs everybody out.
 */

import type { Clock } from '../../lib/clock.ts';
import { invariant } from '../../lib/errors.ts';
import { sha256 } from '../../lib/json.ts';
import { keepNewest } from '../../lib/keep-newest.ts';
import type { Random } from '../../lib/random.ts';

const LINK_MS = 5 * 60_000;
const LINKS_MAX = 1_000;
const SESSION_IDLE_MS_MAX = 30 * 60_000;
const SESSION_MS_MAX = 12 * 3_600_000;
const SESSIONS_MAX = 100;
const TOKEN_BYTES = 32;

interface PortalLink {
  readonly url: string;
  /** Time at which the link expires, ISO 8601 in UTC. */
  readonly expiresAt: string;
}

export interface Portal {
  /**
   * Makes a new link, independent of the others, for the account of a b2b key (undefined: for all
   * accounts); the server must be running.
   */
  mintLink(account?: number): PortalLink;
  /**
   * Exchanges a link's token for the id of a new session; undefined: it is used, expired or
   * unknown.
   */
  exchange(token: string): string | undefined;
  /** Tells whether the session is open; each call keeps it from expiring for lack of use. */
  isOpen(session: string | undefined): boolean;
  /** Account whose events an open session may have; undefined: those of all. */
  accountOf(session: string | undefined): number | undefined;
  signOut(session: string | undefined): void;
  /** Sets the portal's address, which only the server knows that serves it. */
  attach(baseUrl: string): void;
}

export interface PortalOptions {
  /** Real time, even when the world's clock runs faster, because people do not. */
  readonly clock: Clock;
  readonly random: Random;
  /** Called when a link was refused: strict mode counts that as a mistake of the client. */
  readonly onRefused?: (reason: RefusedLink) => void;
}

type RefusedLink = 'used' | 'expired' | 'unknown';

interface Link {
  readonly account: number | undefined;
  readonly expiresAt: number;
  readonly used: boolean;
}

interface Session {
  readonly account: number | undefined;
  readonly endsAt: number;
  readonly seenAt: number;
}

/** Reason for which a link is refused; undefined: it is good. */
function refusalOf(link: Link | undefined, now: number): RefusedLink | undefined {
  if (!link) return 'unknown';
  if (link.used) return 'used';
  return link.expiresAt <= now ? 'expired' : undefined;
}

export function createPortal(options: PortalOptions): Portal {
  const { clock, random } = options;
  /** Links by the hash of their token. */
  const links = new Map<string, Link>();
  const sessions = new Map<string, Session>();
  let base: string | undefined;
  const secretText = (): string => random.bytes(TOKEN_BYTES).toString('base64url');
  return {
    attach(url) {
      base = url;
    },
    mintLink(account) {
      invariant(base !== undefined, 'a portal link needs the relay server to be up');
      const token = secretText();
      const expiresAt = clock.now() + LINK_MS;
      links.set(sha256(token), { account, expiresAt, used: false });
      keepNewest(links, LINKS_MAX);
      const url = `${base}/portal/login#key=${token}`;
      return { url, expiresAt: new Date(expiresAt).toISOString() };
    },
    exchange(token) {
      const key = sha256(token);
      const link = links.get(key);
      const now = clock.now();
      const refusal = refusalOf(link, now);
      if (link) links.set(key, { ...link, used: true });
      if (refusal) {
        options.onRefused?.(refusal);
        return undefined;
      }
      const session = secretText();
      const { account } = link ?? {};
      sessions.set(sha256(session), { account, endsAt: now + SESSION_MS_MAX, seenAt: now });
      keepNewest(sessions, SESSIONS_MAX);
      return session;
    },
    isOpen(id) {
      if (id === undefined) return false;
      const key = sha256(id);
      const session = sessions.get(key);
      const now = clock.now();
      if (!session) return false;
      if (session.endsAt <= now || now - session.seenAt > SESSION_IDLE_MS_MAX) {
        sessions.delete(key);
        return false;
      }
      sessions.set(key, { ...session, seenAt: now });
      return true;
    },
    accountOf: (id) => (id === undefined ? undefined : sessions.get(sha256(id))?.account),
    signOut(id) {
      if (id !== undefined) sessions.delete(sha256(id));
    },
  };
}
