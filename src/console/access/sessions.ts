/**
 * Sessions of people and tokens of programs, in one table. Keys are random and kept as digests, so
 * that nobody who reads the database or a backup can sign in. Sessions survive a restart.
 */
import { sha256 } from '../../lib/json.ts';
import type { Random } from '../../lib/random.ts';
import { type Actor, type Via, writeAudit } from '../../store/audit.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { Role } from '../../surface/roles.ts';

export const WAYS = ['link', 'password', 'proxy', 'token'] as const;
export type Way = (typeof WAYS)[number];

/** Session of a person or a program that is signed in. */
export interface Session {
  readonly sessionId: number;
  readonly name: string;
  readonly role: Role;
  readonly way: Way;
  readonly seesAddresses: boolean;
  readonly seenAt: number;
}

export interface NewSession extends Omit<Session, 'sessionId' | 'seenAt'> {
  readonly address: string | null;
  readonly expiresAt: number;
  /** Digest of the credential that the person signed in with, such as the password's hash. */
  readonly credentialDigest?: string | undefined;
}

const KEY_BYTES = 32;
export const TOKEN_PREFIX = 'selvedge_';

/** Name of a session, as it also stands in the audit. */
export function sessionLabel({ way, sessionId }: Pick<Session, 'way' | 'sessionId'>): string {
  return `${way}:${sessionId}`;
}

export function viaOf(session: Session, address: string | null): Via {
  return { session: sessionLabel(session), address };
}

/** Stores a new session and returns its key, which is not stored and cannot be read again. */
export async function openSession(
  tx: Tx,
  given: NewSession,
  { random, now }: { readonly random: Random; readonly now: number },
): Promise<{ readonly key: string; readonly sessionId: number }> {
  const prefix = given.way === 'token' ? TOKEN_PREFIX : '';
  const key = `${prefix}${random.bytes(KEY_BYTES).toString('base64url')}`;
  const { name, role, way, address, expiresAt } = given;
  const { session_id: sessionId } = await tx
    .insertInto('console_session')
    .values({
      name,
      role,
      way,
      address,
      key_hash: sha256(key),
      sees_addresses: given.seesAddresses ? 1 : 0,
      credential_digest: given.credentialDigest ?? null,
      created_at: now,
      seen_at: now,
      expires_at: expiresAt,
    })
    .returning('session_id')
    .executeTakeFirstOrThrow();
  return { key, sessionId };
}

/** Ways to look a session up: by its key, its id, or the name that a proxy gives. */
type Sought =
  | { readonly key: string }
  | { readonly sessionId: number }
  | { readonly proxied: string };

/** Finds an open session. One that was idle for too long is over; a token may be idle. */
export async function findSession(
  db: Db | Tx,
  which: Sought,
  { now, idleMs }: { readonly now: number; readonly idleMs: number },
): Promise<Session | undefined> {
  const row = await db
    .selectFrom('console_session')
    .selectAll()
    .where((eb) => {
      if ('key' in which) return eb('key_hash', '=', sha256(which.key));
      if ('sessionId' in which) return eb('session_id', '=', which.sessionId);
      return eb.and([eb('name', '=', which.proxied), eb('way', '=', 'proxy')]);
    })
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('session_id', 'desc')
    .executeTakeFirst();
  if (!row || (row.way !== 'token' && now - row.seen_at > idleMs)) return undefined;
  const { session_id: sessionId, name, role, way, seen_at: seenAt } = row;
  return { sessionId, name, role, way, seenAt, seesAddresses: row.sees_addresses === 1 };
}

export async function touchSession(tx: Tx, sessionId: number, now: number): Promise<void> {
  await tx
    .updateTable('console_session')
    .set({ seen_at: now })
    .where('session_id', '=', sessionId)
    .where('seen_at', '<', now)
    .execute();
}

/** Session by its id, or those of a name by certain ways. */
type Which =
  | { readonly sessionId: number }
  | { readonly name: string; readonly ways: readonly Way[] };

/** Sessions that are not ended; one that has expired may be among them. */
export function openSessions(db: Db | Tx, which: Which) {
  return db
    .selectFrom('console_session')
    .select(['session_id', 'name', 'way', 'role'])
    .where('ended_at', 'is', null)
    .where((eb) =>
      'sessionId' in which
        ? eb('session_id', '=', which.sessionId)
        : eb.and([eb('name', '=', which.name), eb('way', 'in', which.ways)]),
    )
    .execute();
}

/** Ends open sessions, and returns how many. */
export async function endSessions(tx: Tx, which: Which, by: string, now: number): Promise<number> {
  const ids = (await openSessions(tx, which)).map((row) => row.session_id);
  await tx
    .updateTable('console_session')
    .set({ ended_at: now, ended_by: by })
    .where('session_id', 'in', ids)
    .execute();
  return ids.length;
}

/** Whether a person of this name has signed in from this address, as far back as is kept. */
export async function hasSignedIn(db: Db, name: string, address: string | null): Promise<boolean> {
  const row = await db
    .selectFrom('console_session')
    .select('session_id')
    .where('name', '=', name)
    .where('address', 'is', address)
    .where('way', '!=', 'token')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Deletes sessions and tokens that expired before a time. */
export async function dropOldSessions(tx: Tx, before: number): Promise<void> {
  await tx.deleteFrom('console_session').where('expires_at', '<', before).execute();
}

export interface SessionRow extends Omit<Session, 'seesAddresses'> {
  readonly address: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/**
 * Lists open sessions and tokens, the newest first; a session that was idle for too long is over.
 */
export async function listSessions(
  db: Db,
  { now, idleMs, way }: { now: number; idleMs: number; way?: Way | undefined },
): Promise<SessionRow[]> {
  let query = db
    .selectFrom('console_session')
    .select(['session_id as sessionId', 'name', 'role', 'way', 'address'])
    .select(['created_at as createdAt', 'seen_at as seenAt', 'expires_at as expiresAt'])
    .where((eb) => eb.or([eb('way', '=', 'token'), eb('seen_at', '>=', now - idleMs)]))
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('session_id', 'desc');
  if (way !== undefined) query = query.where('way', '=', way);
  return query.execute();
}

/** Writes an audit row about a session: a sign-in, a sign-out, a new or a revoked token. */
export async function auditSession(
  tx: Tx,
  action: 'console.sign_in' | 'console.sign_out' | 'console.token' | 'console.revoke',
  actor: Actor,
  subject: string,
  detail: object,
  at: number,
): Promise<void> {
  await writeAudit(tx, { ...actor, action, subject, detail }, at);
}
