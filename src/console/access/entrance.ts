/**
 * Ways in to the console, on the daemon's side: a printed link, a name with its password, a token
 * for a program. Links are in memory: a restart makes them worthless, like their age.
 */
import type { Clock } from '../../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { sha256 } from '../../lib/json.ts';
import { keepNewest } from '../../lib/keep-newest.ts';
import type { Random } from '../../lib/random.ts';
import type { Actor } from '../../store/audit.ts';
import type { Store } from '../../store/store.ts';
import { isPassword } from './password.ts';
import type { Role } from './roles.ts';
import {
  auditSession,
  dropOldSessions,
  endSessions,
  type NewSession,
  openSession,
} from './sessions.ts';

interface Operator {
  readonly name: string;
  readonly role: Role;
  readonly password: string;
  readonly sees: readonly 'addresses'[];
}

export interface EntranceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly operators: readonly Operator[];
  readonly sessionMs: number;
}

interface SignedIn {
  readonly key: string;
  readonly sessionId: number;
  readonly expiresAt: number;
}

/** A link that was not opened yet. */
interface Link {
  readonly name: string;
  readonly role: Role;
  readonly expiresAt: number;
}

interface NewToken {
  readonly name: string;
  readonly role: Role;
  readonly expiresAt: number;
}

export interface Entrance {
  /** The key of a link that signs in once, within minutes. */
  mintLink(name: string, role: Role): { readonly key: string; readonly expiresAt: number };
  byLink(key: string, address: string | null): Promise<SignedIn>;
  byPassword(name: string, password: string, address: string | null): Promise<SignedIn>;
  createToken(
    token: NewToken,
    by: Actor,
  ): Promise<{ readonly token: string; readonly sessionId: number }>;
  /** Ends the open tokens of this name; refuses when there is none. */
  revokeTokens(name: string, by: Actor): Promise<number>;
  /** Ends sessions of operators that the configuration no longer has, or has with another role. */
  endForeign(): Promise<void>;
}

const LINK_MS = 5 * 60_000;
const LINKS_MAX = 100;
/** How long sessions that are over stay in the database. */
const KEPT_MS = 90 * 86_400_000;
const KEY_BYTES = 32;
const TRIES_MAX = 5;
const WAITING_MAX = 20;
const TRIES_MS = 60_000;
/** Names that are remembered for their tries; beyond it, the oldest is forgotten. */
const NAMES_MAX = 1_000;

const SPENT = new RefusedError('console.link', 'this link was used or has expired', {
  hint: 'selvedge console open prints a new one',
});

export function signInUrl(base: string, key: string): string {
  return `${base}/sign-in?key=${key}`;
}

/** Counts tries of the last minute by name. */
function createBrake(clock: Clock) {
  const tries = new Map<string, number[]>();
  return (name: string): void => {
    const now = clock.now();
    const recent = (tries.get(name) ?? []).filter((at) => at > now - TRIES_MS);
    if (recent.length >= TRIES_MAX) {
      const message = 'too many tries for this name';
      throw new RetryLaterError('console.tries', message, { hint: 'try again in a minute' });
    }
    tries.delete(name);
    tries.set(name, [...recent, now]);
    keepNewest(tries, NAMES_MAX);
  };
}

async function createToken(
  { store, clock, random }: EntranceDeps,
  token: NewToken,
  by: Actor,
): Promise<{ readonly token: string; readonly sessionId: number }> {
  const now = clock.now();
  const given = { ...token, way: 'token', address: null, seesAddresses: false } as const;
  return store.transaction(async (tx) => {
    const { key, sessionId } = await openSession(tx, given, { random, now });
    const { role, expiresAt } = token;
    await auditSession(tx, 'console.token', by, `token:${sessionId}`, { role, expiresAt }, now);
    return { token: key, sessionId };
  });
}

async function revokeTokens({ store, clock }: EntranceDeps, name: string, by: Actor) {
  const now = clock.now();
  return store.transaction(async (tx) => {
    const ended = await endSessions(tx, { name, ways: ['token'] }, by.actor, now);
    if (ended === 0) {
      throw new RefusedError('console.no_token', `there is no open token ${name}`, {
        hint: 'selvedge console tokens',
      });
    }
    await auditSession(tx, 'console.revoke', by, `token:${name}`, { ended }, now);
    return ended;
  });
}

async function endForeign({ store, clock, operators }: EntranceDeps): Promise<void> {
  const now = clock.now();
  await store.transaction(async (tx) => {
    await dropOldSessions(tx, now - KEPT_MS);
    const open = await tx
      .selectFrom('console_session')
      .select(['session_id', 'name', 'role', 'sees_addresses'])
      .where('way', '=', 'password')
      .where('ended_at', 'is', null)
      .execute();
    const isConfigured = (row: (typeof open)[number]) =>
      operators.some(({ name, role, sees }) => {
        const seesAddresses = sees.includes('addresses') === (row.sees_addresses === 1);
        return name === row.name && role === row.role && seesAddresses;
      });
    for (const row of open) {
      if (isConfigured(row)) continue;
      await endSessions(tx, { sessionId: row.session_id }, 'configuration', now);
    }
  });
}

/** A password costs 32 MiB and 80 ms: one after the other, and few may wait. */
function createQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    if (waiting >= WAITING_MAX) {
      const hint = 'try again in a moment';
      throw new RetryLaterError('console.busy', 'too many sign in at once', { hint });
    }
    waiting += 1;
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      waiting -= 1;
    }
  };
}

export function createEntrance(deps: EntranceDeps): Entrance {
  const { store, clock, random, operators, sessionMs } = deps;
  const links = new Map<string, Link>();
  const brake = createBrake(clock);
  const inTurn = createQueue();
  const open = async (given: Omit<NewSession, 'expiresAt'>): Promise<SignedIn> => {
    const now = clock.now();
    const expiresAt = now + sessionMs;
    return store.transaction(async (tx) => {
      const opened = await openSession(tx, { ...given, expiresAt }, { random, now });
      const session = `${given.way}:${opened.sessionId}`;
      const via = { session, address: given.address };
      const by = { actor: given.name, reason: '', via };
      await auditSession(tx, 'console.sign_in', by, session, { role: given.role }, now);
      return { ...opened, expiresAt };
    });
  };
  return {
    mintLink(name, role) {
      const key = random.bytes(KEY_BYTES).toString('base64url');
      const expiresAt = clock.now() + LINK_MS;
      links.set(sha256(key), { name, role, expiresAt });
      keepNewest(links, LINKS_MAX);
      return { key, expiresAt };
    },
    async byLink(key, address) {
      const link = links.get(sha256(key));
      links.delete(sha256(key));
      if (!link || link.expiresAt <= clock.now()) throw SPENT;
      const { name, role } = link;
      return open({ name, role, way: 'link', seesAddresses: true, address });
    },
    async byPassword(name, password, address) {
      brake(name);
      const operator = operators.find((one) => one.name === name);
      const isRight = await inTurn(() => isPassword(password, operator?.password));
      if (!isRight || !operator) {
        throw new RefusedError('console.password', 'the name or the password is wrong');
      }
      const seesAddresses = operator.sees.includes('addresses');
      return open({ name, role: operator.role, way: 'password', seesAddresses, address });
    },
    createToken: (token, by) => createToken(deps, token, by),
    revokeTokens: (name, by) => revokeTokens(deps, name, by),
    endForeign: () => endForeign(deps),
  };
}
