/**
 * Forward-only SQL migrations. Kysely's own runner leaves half a failed migration behind on SQLite:
 * here each file runs in one IMMEDIATE transaction together with its row in the list of migrations,
 * an edited file is refused by its checksum, a database newer than the program is refused, and an
 * existing database is copied before it is changed.
 *
 * The first file is that of 0.1.0: a database that ran another text of it was made before, and
 * cannot be migrated.
 */
import {
  chmodSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type Database from 'better-sqlite3';
import type { Clock } from '../lib/clock.ts';
import { StoreError, toError } from '../lib/errors.ts';
import { sha256 } from '../lib/json.ts';
import { copyBytes, requireRoom } from './space.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export interface MigrationReport {
  readonly from: number;
  readonly to: number;
  readonly applied: readonly string[];
  /** Path of the copy made before the first change; undefined: there was nothing to copy. */
  readonly backup: string | undefined;
}

const SHIPPED = fileURLToPath(new URL('../../migrations/', import.meta.url));

const LEDGER = `
  CREATE TABLE IF NOT EXISTS schema_migration (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  ) STRICT
`;

/** Migrations of a folder (`NNNN-name.sql`), in order and without a gap. */
export function readMigrations(folder: string = SHIPPED): Migration[] {
  const names = readdirSync(folder)
    .filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
    .sort();
  return names.map((name, index) => {
    const version = Number(name.slice(0, 4));
    if (version !== index + 1) {
      throw new StoreError('store.migration_gap', `migrations: ${name} should be ${index + 1}`);
    }
    const sql = readFileSync(`${folder}/${name}`, 'utf8');
    return { version, name: name.slice(5, -4), sql, checksum: sha256(sql) };
  });
}

const BEFORE_FIRST_RELEASE_HINT =
  'let the program that made it end its open documents, then name a new folder in dataDir: the ' +
  'mirror is pulled again; keep the old folder, because its decisions, receipts and audit are ' +
  'nowhere else';

interface LedgerRow {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

function readLedger(database: Database.Database): LedgerRow[] {
  return database
    .prepare<[], LedgerRow>('select version, name, checksum from schema_migration order by version')
    .all();
}

function checkLedger(
  database: Database.Database,
  ledger: readonly LedgerRow[],
  migrations: readonly Migration[],
): void {
  for (const row of ledger) {
    const known = migrations[row.version - 1];
    if (row.version === 1 && known?.checksum !== row.checksum) {
      throw new StoreError('store.before_first_release', `${database.name} was made before 0.1.0`, {
        hint: BEFORE_FIRST_RELEASE_HINT,
      });
    }
    if (!known) {
      const newest = ledger.at(-1) ?? row;
      throw new StoreError(
        'store.newer_schema',
        `${database.name} has schema ${newest.version} (${newest.name}); this program knows ` +
          `${migrations.length}`,
        { hint: 'run the newer program, or restore the backup taken before the upgrade' },
      );
    }
    if (known.checksum !== row.checksum) {
      throw new StoreError(
        'store.migration_edited',
        `migration ${row.version} (${row.name}) differs from the one this database ran`,
        {
          hint:
            'reinstall the program; if it says so again, one that was never released ran it: ' +
            `go on with that one, or restore a backup of a schema below ${row.version}`,
        },
      );
    }
  }
}

function applyOne(
  database: Database.Database,
  migration: Migration,
  clock: Clock,
  beforeCommit: () => void,
): void {
  const apply = database.transaction(() => {
    database
      .prepare('insert into schema_migration values (?, ?, ?, ?)')
      .run(migration.version, migration.name, migration.checksum, clock.now());
    database.exec(migration.sql);
    database.pragma(`user_version = ${migration.version}`);
    beforeCommit();
  });
  try {
    apply.immediate();
  } catch (cause) {
    throw new StoreError(
      'store.migration_failed',
      `migration ${migration.version} (${migration.name}) failed: ${toError(cause).message}`,
      { hint: 'nothing of it was applied; report it with this message', cause },
    );
  }
}

/**
 * Version of the database's schema, and the migrations that {@link migrate} would apply. Reads
 * only.
 */
export function pendingMigrations(
  database: Database.Database,
  migrations: readonly Migration[] = readMigrations(),
): { readonly version: number; readonly pending: readonly Migration[] } {
  const exists = database
    .prepare("select 1 from sqlite_schema where name = 'schema_migration'")
    .get();
  const ledger = exists === undefined ? [] : readLedger(database);
  checkLedger(database, ledger, migrations);
  return { version: ledger.length, pending: migrations.slice(ledger.length) };
}

/**
 * Room for the copy before a migration, as a factor of the database's size: a tenth more for new
 * indexes and the log.
 */
const ROOM_TO_MIGRATE = 1.1;

const PARTIAL = '.partial';

/**
 * Removes unfinished copies that a killed migration left, because each further try would add one.
 */
function removePartials(path: string): void {
  const folder = dirname(path);
  for (const name of readdirSync(folder)) {
    const isOurs = name.startsWith(`${basename(path)}.before-`) && name.includes(PARTIAL);
    if (isOurs) rmSync(join(folder, name), { force: true });
  }
}

/** Copies the database with the permissions of the original, and removes a half copy on failure. */
function copyBefore(database: Database.Database, partial: string): void {
  removePartials(database.name);
  requireRoom(partial, copyBytes(database) * ROOM_TO_MIGRATE);
  try {
    // The copy has the original's mode from its first byte on; afterwards it gets the bits that the
    // umask removed.
    const mode = statSync(database.name).mode & 0o777;
    writeFileSync(partial, '', { mode, flag: 'wx' });
    database.prepare('vacuum into ?').run(partial);
    chmodSync(partial, mode);
  } catch (cause) {
    rmSync(partial, { force: true });
    throw cause;
  }
}

/**
 * Brings the database to the newest schema. Throws a StoreError when a step fails, and leaves the
 * database as of the step before.
 */
export function migrate(
  database: Database.Database,
  clock: Clock,
  migrations: readonly Migration[] = readMigrations(),
): MigrationReport {
  const { version, pending } = pendingMigrations(database, migrations);
  const backup =
    version > 0 && pending.length > 0
      ? `${database.name}.before-${version + 1}-${clock.now()}`
      : undefined;
  if (backup !== undefined) copyBefore(database, backup + PARTIAL);
  // The copy gets its name with the first step, not before: while the database is unchanged, a
  // program that is killed or fails repeatedly would leave one more copy each time.
  const keepCopy = (): void => {
    if (backup !== undefined) renameSync(backup + PARTIAL, backup);
  };
  try {
    database.exec(LEDGER);
    for (const migration of pending) {
      applyOne(database, migration, clock, migration === pending[0] ? keepCopy : () => undefined);
    }
  } catch (error) {
    if (backup !== undefined && readLedger(database).length === version) {
      for (const copy of [backup, backup + PARTIAL]) rmSync(copy, { force: true });
    }
    throw error;
  }
  return {
    from: version,
    to: version + pending.length,
    applied: pending.map((migration) => migration.name),
    backup,
  };
}

export const TRIGGER_ADVICE =
  'selvedge decisions verify; then restore a backup, or make them again from migrations/';

/**
 * Triggers of the schema that the database lacks, such as those that keep decisions append-only: a
 * person may have dropped them; and its triggers of other origins.
 */
export function triggersOf(
  database: Database.Database,
  migrations = readMigrations(),
): { readonly missing: string[]; readonly others: string[] } {
  const present = new Set(
    database
      .prepare<[], string>(`select name from sqlite_schema where type = 'trigger'`)
      .pluck()
      .all(),
  );
  const wanted = new Set<string>();
  for (const { sql } of migrations) {
    for (const [, verb, name = ''] of sql.matchAll(/^(CREATE|DROP) TRIGGER (\w+)/gm)) {
      if (verb === 'CREATE') wanted.add(name);
      else wanted.delete(name);
    }
  }
  return {
    missing: [...wanted].filter((name) => !present.has(name)),
    others: [...present].filter((name) => !wanted.has(name)),
  };
}
