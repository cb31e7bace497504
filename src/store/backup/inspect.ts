/** Opens a copy of a database and counts its rows, because only opening it proves a backup. */
import Database from 'better-sqlite3';
import { StoreError } from '../../lib/errors.ts';
import { APPLICATION_ID } from '../connection.ts';

export interface Contents {
  /** Version of the copy's schema. */
  readonly schema: number;
  /** Number of rows by table. */
  readonly rows: Readonly<Record<string, number>>;
}

function countRows(copy: Database.Database): Record<string, number> {
  const tables = copy
    .prepare<[], string>(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'",
    )
    .pluck()
    .all();
  return Object.fromEntries(
    tables.sort().map((table) => [
      table,
      Number(
        copy
          .prepare(`select count(*) from "${table.replaceAll('"', '""')}"`)
          .pluck()
          .get(),
      ),
    ]),
  );
}

/**
 * Time at which a database was made, as ISO text to the millisecond. Each copy keeps it, so it
 * tells databases apart. Undefined: the database is absent or cannot be read.
 */
export function databaseMadeAt(path: string): string | undefined {
  let database: Database.Database | undefined;
  try {
    database = new Database(path, { readonly: true, fileMustExist: true });
    const first = 'select applied_at from schema_migration order by version limit 1';
    const at = database.prepare(first).pluck().get();
    return typeof at === 'number' ? new Date(at).toISOString() : undefined;
  } catch {
    return undefined;
  } finally {
    database?.close();
  }
}

/**
 * Tells whether a copy of the mirror has broken foreign keys. In the exchange file, which has
 * another application id, they would be those of the ERP's own tables.
 */
function hasBrokenKeys(copy: Database.Database): boolean {
  if (copy.pragma('application_id', { simple: true }) !== APPLICATION_ID) return false;
  const orphans = copy.pragma('foreign_key_check');
  return Array.isArray(orphans) && orphans.length > 0;
}

/** Opens the copy and checks every page of it. Throws StoreError `backup.damaged`. */
export function inspectCopy(path: string): Contents {
  let copy: Database.Database | undefined;
  try {
    copy = new Database(path, { readonly: true, fileMustExist: true });
    const found = String(copy.pragma('integrity_check(1)', { simple: true }));
    if (found !== 'ok') throw new Error(found);
    if (hasBrokenKeys(copy)) throw new Error('broken foreign keys');
    return { schema: Number(copy.pragma('user_version', { simple: true })), rows: countRows(copy) };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StoreError('backup.damaged', `${path} is damaged: ${reason}`, {
      hint: 'take an older backup',
      cause,
    });
  } finally {
    copy?.close();
  }
}
