/** The audit: who did what, when and why. No code deletes a row of it. */
import { sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { insertRows } from './bulk.ts';
import { type IdPage, newestFirst } from './pages.ts';
import type { Db, Tx } from './store.ts';

/** The person behind a change, and the reason: part of every request that changes something. */
export interface Actor {
  /**
   * Name of the person; `file`: somebody made or removed a file; `daemon`: no person asked for it.
   */
  readonly actor: string;
  readonly reason: string;
  /** Session by which the person was signed in at the console; left out elsewhere. */
  readonly via?: Via | undefined;
}

export interface Via {
  /** Name of the console's session, as in `link:12`. */
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
  /** Time of the earliest rows that are listed, epoch ms. */
  readonly since: number;
  /** Beginning of the actions that are listed, as in `rules.`; undefined: all. */
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly actor?: string | undefined;
}

/** Rows of the audit that match the filter, the latest first. */
export async function listAudit(
  db: Db,
  { since, action, subject, actor }: AuditFilter,
  page: IdPage,
) {
  let query = db.selectFrom('audit').selectAll().where('at', '>=', since);
  if (action !== undefined) {
    const escaped = action.replaceAll(/[\\%_]/g, '\\$&');
    query = query.where(sql<boolean>`action like ${`${escaped}%`} escape '\\'`);
  }
  if (subject !== undefined) query = query.where('subject', '=', subject);
  if (actor !== undefined) query = query.where('actor', '=', actor);
  const rows = await newestFirst(query, 'id', page);
  return rows.map(({ detail, ...row }) => {
    const more = tryParseJson(detail);
    return { ...row, detail: isJsonObject(more) ? more : {} };
  });
}

/**
 * Writes one audit row, in the transaction of the act if it has one, so that no act goes
 * unrecorded.
 */
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
