/** The audit: who did what, when and why. Nothing takes a row out of it. */
import { sql } from 'kysely';
import { tryParseJson } from '../lib/json.ts';
import { insertRows } from './bulk.ts';
import type { Db, Tx } from './store.ts';

/**
 * Names the person behind a change and the reason: part of every request that changes something.
 */
export interface Actor {
  /** A person's name; `file`: somebody made or removed one; `daemon`: what no person asked for. */
  readonly actor: string;
  readonly reason: string;
  /** How the person was signed in at the console; left out elsewhere. */
  readonly via?: Via | undefined;
}

export interface Via {
  /** Name of the session, as in `link:12`. */
  readonly session: string;
  readonly address: string | null;
}

function viaColumns(via: Via | undefined) {
  return { session: via?.session ?? null, address: via?.address ?? null };
}

/** Audit row as `selvedge audit list` shows it. */
export interface AuditEntry extends Actor {
  /** Name of the act, as in `rules.arm`. */
  readonly action: string;
  /** Object of the act, as in `rule:late`. */
  readonly subject: string;
  /** Further facts about the act, kept as JSON. */
  readonly detail?: object;
}

export interface AuditFilter {
  /** Epoch milliseconds. */
  readonly since: number;
  /** Actions that begin so. */
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly actor?: string | undefined;
  /** Rows with smaller ids only. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** Rows of the audit, the latest first. */
export async function listAudit(
  db: Db,
  { since, action, subject, actor, before, limit }: AuditFilter,
) {
  let query = db
    .selectFrom('audit')
    .selectAll()
    .where('at', '>=', since)
    .orderBy('id', 'desc')
    .limit(limit);
  if (action !== undefined) {
    const escaped = action.replaceAll(/[\\%_]/g, '\\$&');
    query = query.where(sql<boolean>`action like ${`${escaped}%`} escape '\\'`);
  }
  if (subject !== undefined) query = query.where('subject', '=', subject);
  if (actor !== undefined) query = query.where('actor', '=', actor);
  if (before !== undefined) query = query.where('id', '<', before);
  const rows = await query.execute();
  return rows.map(({ detail, ...row }) => ({ ...row, detail: tryParseJson(detail) }));
}

export type AuditRow = Awaited<ReturnType<typeof listAudit>>[number];

/** In the transaction of the act, if it has one: nothing is done that stands in no audit. */
export async function writeAudit(db: Db | Tx, entry: AuditEntry, at: number): Promise<void> {
  const { actor, reason, action, subject, detail = {}, via } = entry;
  const row = { at, actor, reason, action, subject, detail: JSON.stringify(detail) };
  await db
    .insertInto('audit')
    .values({ ...row, ...viaColumns(via) })
    .execute();
}

/**
 * Writes one audit row for each of many subjects in one statement, because there may be thousands.
 */
export async function writeAudits(
  tx: Tx,
  { actor, reason, action, via }: Actor & Pick<AuditEntry, 'action'>,
  each: readonly Required<Pick<AuditEntry, 'subject' | 'detail'>>[],
  at: number,
): Promise<void> {
  const rows = each.map(({ subject, detail }) => ({ subject, detail: JSON.stringify(detail) }));
  await insertRows(tx, 'audit', ['subject', 'detail'], rows, {
    at,
    actor,
    action,
    reason,
    ...viaColumns(via),
  });
}
