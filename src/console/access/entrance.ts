/**
 * Ways in to the console, on the daemon's side: a printed link, a name with its password, a name
 * that an authenticating proxy gives, a token for a program. Links are kept in memory only, so they
 * end with the daemon, or after minutes.
 */

import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { sha256 } from '../../lib/json.ts';
import { keepNewest } from '../../lib/keep-newest.ts';
import type { Random } from '../../lib/random.ts';
import type { Actor } from '../../store/audit.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import type { Role } from '../../surface/roles.ts';
import { createBrake } from './brake.ts';
import { isPassword } from './password.ts';
import {
  auditSession,
  dropOldSessions,
  endSessions,
  findSession,
  hasSignedIn,
  type NewSession,
  openSession,
  openSessions,
  type Session,
  sessionLabel,
} from './sessions.ts';

interface Operator {
  readonly name: string;
  readonly role: Role;
  /** Hash of the person's password; left out: only a proxy can sign this person in. */
  readonly password?: string | undefined;
  readonly sees: readonly 'addresses'[];
}

/** People who may sign in: those of the configuration, and others whom a proxy names. */
export interface People {
  readonly operators: readonly Operator[];
  /** Role of people whom the proxy names and the configuration does not; null: none. */
  readonly proxyRole: Role | null;
}

export interface EntranceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly people: People;
  readonly sessionMs: number;
  readonly sessionIdleMs: number;
}

interface SignedIn {
  readonly key: string;
  readonly sessionId: number;
  readonly expiresAt: number;
}

/** Sign-in link that was printed and not opened yet. */
interface Link {
  readonly name: string;
  readonly role: Role;
  readonly expiresAt: number;
}

type NewToken = Pick<NewSession, 'name' | 'role' | 'expiresAt' | 'seesAddresses'>;

export interface Entrance {
  /** Makes the key of a link that signs in once, within minutes. */
  mintLink(name: string, role: Role): { readonly key: string; readonly expiresAt: number };
  byLink(key: string, address: string | null): Promise<SignedIn>;
  byPassword(name: string, password: string, address: string | null): Promise<SignedIn>;
  /** Returns the open session of a name that the proxy vouches for, or opens one. */
  byProxy(name: string, address: string | null): Promise<Session>;
  hasPasswords(): boolean;
  /** Current people of the configuration. */
  people(): People;
  /** Finds an open session or token; throws RefusedError where it is not open. */
  requireOpenSession(sessionId: number): Promise<Pick<Session, 'name' | 'way' | 'role'>>;
  /** Counts the open tokens of this name; throws RefusedError where there is none. */
  requireOpenTokens(name: string): Promise<number>;
  /** Ends one session or token; throws RefusedError where it is not open. */
  endSession(sessionId: number, by: Actor): Promise<void>;
  createToken(
    token: NewToken,
    by: Actor,
  ): Promise<{ readonly token: string; readonly sessionId: number }>;
  /** Ends the open tokens of this name, and returns how many; throws where there is none. */
  revokeTokens(name: string, by: Actor): Promise<number>;
  /**
   * Takes over the people of a configuration that was read again. Ends the sessions of people whom
   * it no longer has, or has with another password, role or view of addresses.
   */
  takePeople(people: People): Promise<void>;
}

export const LINK_MS = 5 * 60_000;
const LINKS_MAX = 100;
/** Milliseconds for which ended sessions stay in the database. */
const KEPT_MS = 90 * 86_400_000;
const KEY_BYTES = 32;

const SPENT = new RefusedError('console.link', 'this link was used or has expired', {
  hint: 'selvedge console open prints a new one',
});

export function signInUrl(base: string, key: string): string {
  return `${base}/sign-in?key=${key}`;
}

async function createToken(
  { store, clock, random }: EntranceDeps,
  token: NewToken,
  by: Actor,
): Promise<{ readonly token: string; readonly sessionId: number }> {
  const now = clock.now();
  const given = { ...token, way: 'token', address: null } as const;
  return store.transaction(async (tx) => {
    const { key, sessionId } = await openSession(tx, given, { random, now });
    const { name: _, ...rights } = token;
    await auditSession(tx, 'console.token', by, `token:${sessionId}`, rights, now);
    return { token: key, sessionId };
  });
}

async function requireOpenTokens(db: Db | Tx, name: string): Promise<number> {
  const open = await openSessions(db, { name, ways: ['token'] });
  if (open.length > 0) return open.length;
  throw new RefusedError('console.no_token', `there is no open token ${name}`, {
    hint: 'selvedge console tokens',
  });
}

async function revokeTokens({ store, clock }: EntranceDeps, name: string, by: Actor) {
  const now = clock.now();
  return store.transaction(async (tx) => {
    await requireOpenTokens(tx, name);
    const ended = await endSessions(tx, { name, ways: ['token'] }, by.actor, now);
    await auditSession(tx, 'console.revoke', by, `token:${name}`, { ended }, now);
    return ended;
  });
}

async function requireOpenSession(db: Db | Tx, sessionId: number) {
  const [open] = await openSessions(db, { sessionId });
  if (open) return open;
  throw new RefusedError('console.no_open_session', `session ${sessionId} is not open`, {
    hint: 'it ended meanwhile: look at the list again',
  });
}

async function endSession({ store, clock }: EntranceDeps, sessionId: number, by: Actor) {
  const now = clock.now();
  await store.transaction(async (tx) => {
    const { name, way, role } = await requireOpenSession(tx, sessionId);
    await endSessions(tx, { sessionId }, by.actor, now);
    const label = sessionLabel({ way, sessionId });
    await auditSession(tx, 'console.revoke', by, label, { name, role }, now);
  });
}

interface Standing {
  readonly role: Role;
  readonly seesAddresses: boolean;
  readonly credentialDigest?: string | undefined;
}

/** Present role and rights of a person; undefined: nobody who may sign in this way. */
function standingOf(
  { operators, proxyRole }: People,
  name: string,
  way: 'password' | 'proxy',
): Standing | undefined {
  const operator = operators.find((one) => one.name === name);
  const seesAddresses = operator?.sees.includes('addresses') ?? false;
  if (way === 'proxy') {
    const role = operator?.role ?? proxyRole;
    return role === null ? undefined : { role, seesAddresses };
  }
  if (operator?.password === undefined) return undefined;
  return { role: operator.role, seesAddresses, credentialDigest: sha256(operator.password) };
}

/** Ends the sessions of people whom the configuration no longer has, or has with other rights. */
async function endForeign({ store, clock }: EntranceDeps, people: People): Promise<void> {
  const now = clock.now();
  await store.transaction(async (tx) => {
    await dropOldSessions(tx, now - KEPT_MS);
    const open = await tx
      .selectFrom('console_session')
      .select(['session_id', 'name', 'role', 'way', 'sees_addresses', 'credential_digest'])
      .where('way', 'in', ['password', 'proxy'])
      .where('ended_at', 'is', null)
      .execute();
    for (const row of open) {
      const way = row.way === 'proxy' ? 'proxy' : 'password';
      const standing = standingOf(people, row.name, way);
      const isSame =
        standing?.role === row.role &&
        standing.seesAddresses === (row.sees_addresses === 1) &&
        (standing.credentialDigest ?? null) === row.credential_digest;
      if (!isSame) await endSessions(tx, { sessionId: row.session_id }, 'configuration', now);
    }
  });
}

/** Gives each name a single session, which further requests through the proxy find again. */
async function proxySession(
  { store, clock, random, sessionMs, sessionIdleMs }: EntranceDeps,
  people: People,
  name: string,
  address: string | null,
): Promise<Session> {
  const standing = standingOf(people, name, 'proxy');
  if (!standing) {
    const hint = 'name the person under console.operators, or set console.proxy.role';
    throw new RefusedError('console.proxy', 'the console does not know this name', { hint });
  }
  const now = clock.now();
  return store.transaction(async (tx) => {
    const found = await findSession(tx, { proxied: name }, { now, idleMs: sessionIdleMs });
    if (found) return found;
    // The key of a proxy's session is given to nobody: only the proxy's word leads to it.
    const given = { name, way: 'proxy', address, ...standing, expiresAt: now + sessionMs } as const;
    const { sessionId } = await openSession(tx, given, { random, now });
    await auditSignIn(tx, { ...given, sessionId }, now);
    const { role, seesAddresses } = standing;
    return { sessionId, name, role, way: 'proxy', seesAddresses, seenAt: now };
  });
}

async function auditSignIn(
  tx: Tx,
  { name, role, way, address, sessionId }: NewSession & { readonly sessionId: number },
  now: number,
): Promise<void> {
  const session = `${way}:${sessionId}`;
  const by = { actor: name, reason: '', via: { session, address } };
  await auditSession(tx, 'console.sign_in', by, session, { role }, now);
}

export function createEntrance(deps: EntranceDeps): Entrance {
  const { store, clock, random, sessionMs } = deps;
  let { people } = deps;
  const links = new Map<string, Link>();
  const brake = createBrake(clock);
  const open = async (given: Omit<NewSession, 'expiresAt'>): Promise<SignedIn> => {
    const now = clock.now();
    const expiresAt = now + sessionMs;
    return store.transaction(async (tx) => {
      const opened = await openSession(tx, { ...given, expiresAt }, { random, now });
      await auditSignIn(tx, { ...given, expiresAt, sessionId: opened.sessionId }, now);
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
      const hash = people.operators.find((one) => one.name === name)?.password;
      const isFamiliar = await hasSignedIn(store.db, name, address);
      const one = { name, address, isKnown: hash !== undefined, isFamiliar };
      const isRight = await brake(one, () => isPassword(password, hash));
      // The configuration may have been read again while the password was checked.
      const standing = standingOf(people, name, 'password');
      const isStill = hash !== undefined && standing?.credentialDigest === sha256(hash);
      if (!isRight || !isStill) {
        throw new RefusedError('console.password', 'the name or the password is wrong');
      }
      return open({ name, way: 'password', ...standing, address });
    },
    byProxy: (name, address) => proxySession(deps, people, name, address),
    people: () => people,
    requireOpenSession: (sessionId) => requireOpenSession(store.db, sessionId),
    requireOpenTokens: (name) => requireOpenTokens(store.db, name),
    endSession: (sessionId, by) => endSession(deps, sessionId, by),
    hasPasswords: () => people.operators.some(({ password }) => password !== undefined),
    createToken: (token, by) => createToken(deps, token, by),
    revokeTokens: (name, by) => revokeTokens(deps, name, by),
    async takePeople(given) {
      people = given;
      await endForeign(deps, people);
    },
  };
}
