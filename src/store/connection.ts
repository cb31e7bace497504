/**
 * Opens a SQLite connection in the one right way. Pragmas are set explicitly and read back after
 * the first write, because the driver's build changes some of them unasked (in WAL mode it silently
 * falls to synchronous=NORMAL, which loses acknowledged rows in a power cut).
 */
import { chmodSync, closeSync, openSync, readSync, statSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreError } from '../lib/errors.ts';
import { withoutQuotes } from '../lib/reading/quoted.ts';
import { caseKey } from '../lib/strings.ts';

/**
 * Application id `SLVG` in our database files, so that nobody migrates a foreign database by
 * mistake.
 */
export const APPLICATION_ID = 0x534c5647;

/** First version of SQLite with the WAL-reset fix (sqlite.org, "WAL-reset bug"). */
const SQLITE_VERSION_MIN = [3, 51, 3] as const;

export interface ConnectionOptions {
  readonly busyTimeoutMs: number;
  /**
   * `external`: the log is written back by hand (by the second writer). Left out: SQLite does it.
   */
  readonly checkpoint?: 'own' | 'external' | undefined;
  /** KiB of the database that the connection keeps in memory. Left out: 8 MiB. */
  readonly cacheKib?: number | undefined;
  /**
   * Whether the file must exist, because a first connection has it open; it may have been taken
   * away meanwhile.
   */
  readonly mustExist?: boolean | undefined;
}

const COMMON: Readonly<Record<string, number>> = {
  mmap_size: 0,
  trusted_schema: 0,
  cell_size_check: 1,
  foreign_keys: 1,
  temp_store: 2,
};

const CACHE_KIB = 8_192;

/** Pragma of the cache's size; SQLite takes a negative number as KiB. */
function cachePragma({ cacheKib = CACHE_KIB }: Pick<ConnectionOptions, 'cacheKib'>) {
  return { cache_size: -cacheKib };
}

const WRITER: Readonly<Record<string, number>> = {
  ...COMMON,
  synchronous: 2,
  journal_size_limit: 67_108_864,
};

/** Page size in bytes of a new database; an existing one keeps its own. */
const PAGE_BYTES = 8_192;

/** Bytes of the log from which SQLite writes it back to the database. */
const LOG_BYTES = 4_194_304;

/**
 * Mode of a file that is made: only its owner may read it. The largest mode also lets the group
 * read, if somebody allowed that.
 */
const FILE_MODE = 0o600;
const MODE_MAX = 0o640;

type WriterOptions = Pick<ConnectionOptions, 'checkpoint' | 'cacheKib'>;

function writerPragmas(
  database: Database.Database,
  options: WriterOptions,
): Readonly<Record<string, number>> {
  const pages = Math.ceil(LOG_BYTES / Number(database.pragma('page_size', { simple: true })));
  const wal_autocheckpoint = options.checkpoint === 'external' ? 0 : pages;
  return { ...WRITER, ...cachePragma(options), wal_autocheckpoint };
}

/**
 * Limits the modes of the database, its log and the log's index. `chmod` opens no file, so no lock
 * is lost.
 */
function keepPrivate(path: string, mustExist: boolean): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found && !mustExist) writeFileSync(path, '', { mode: FILE_MODE, flag: 'wx' });
  for (const name of [path, `${path}-wal`, `${path}-shm`]) {
    const mode = statSync(name, { throwIfNoEntry: false })?.mode;
    if (mode !== undefined && (mode & 0o777 & ~MODE_MAX) !== 0) chmodSync(name, mode & MODE_MAX);
  }
}

function setPragmas(database: Database.Database, pragmas: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(pragmas)) database.pragma(`${name} = ${value}`);
}

/** Throws unless every pragma still has the value it was given. */
export function verifyPragmas(database: Database.Database, options: WriterOptions = {}): void {
  for (const [name, expected] of Object.entries(writerPragmas(database, options))) {
    const found = Number(database.pragma(name, { simple: true }));
    if (found !== expected) {
      throw new StoreError(
        'store.pragma_lost',
        `${database.name}: PRAGMA ${name} is ${found} instead of ${expected}`,
        { hint: 'the database driver ignores a setting that durability rests on; do not run it' },
      );
    }
  }
  if (database.pragma('journal_mode', { simple: true }) !== 'wal') {
    throw new StoreError('store.pragma_lost', `${database.name} is not in WAL mode`, {
      hint: 'a file system without shared memory (a network share) cannot hold the database',
    });
  }
}

function checkVersion(database: Database.Database): void {
  const version = String(database.prepare('select sqlite_version()').pluck().get());
  const found = version.split('.').map(Number);
  for (const [index, needed] of SQLITE_VERSION_MIN.entries()) {
    const part = found[index] ?? 0;
    if (part > needed) return;
    if (part < needed) {
      throw new StoreError('store.sqlite_too_old', `SQLite ${version} has the WAL-reset bug`, {
        hint: 'reinstall the dependencies with "npm ci"',
      });
    }
  }
}

function checkApplication(database: Database.Database): void {
  const id = Number(database.pragma('application_id', { simple: true }));
  const tables = Number(database.prepare('select count(*) from sqlite_schema').pluck().get());
  if (id === APPLICATION_ID || (id === 0 && tables === 0)) return;
  throw new StoreError('store.foreign_file', `${database.name} is not a Selvedge database`, {
    hint: 'check dataDir in the configuration',
  });
}

/** Gives SQL the function `case_key`, because `lower` knows ASCII letters only. */
export function addCaseKey(database: Database.Database): void {
  const keyOf = (text: unknown) => (typeof text === 'string' ? caseKey(text) : null);
  database.function('case_key', { deterministic: true }, keyOf);
}

function openFile(path: string, options: Database.Options): Database.Database {
  try {
    if (options.readonly !== true) keepPrivate(path, options.fileMustExist === true);
    const database = new Database(path, options);
    // SQL of the plane and of forgetting an order (people.ts).
    database.function('without_quotes', { deterministic: true }, withoutQuotes);
    addCaseKey(database);
    return database;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StoreError('store.cannot_open', `cannot open ${path}: ${reason}`, {
      hint: options.fileMustExist
        ? 'start the daemon once, or check dataDir and the permissions'
        : 'the folder must exist; this user must be allowed to write to it and to its files',
      cause,
    });
  }
}

const HEAD_BYTES = 72;
const WRITE_VERSION_AT = 18;
const APPLICATION_ID_AT = 68;
const LOGS: Readonly<Record<number, boolean>> = { 1: false, 2: true };

interface FileHead {
  readonly isOurs: boolean;
  /** Whether the file is in WAL mode; undefined: it is no file of SQLite. */
  readonly hasLog: boolean | undefined;
}

/**
 * Reads a database's header (https://www.sqlite.org/fileformat2.html) as a plain file, because
 * SQLite would create a log beside a WAL database that a reader cannot remove. Never call it for a
 * file that this process has open: closing it drops all of SQLite's locks on it.
 */
export function readHead(path: string): FileHead {
  const head = Buffer.alloc(HEAD_BYTES);
  const file = openSync(path, 'r');
  try {
    readSync(file, head);
  } finally {
    closeSync(file);
  }
  const isSqlite = head.toString('latin1').startsWith('SQLite format 3\0');
  return {
    isOurs: isSqlite && head.readUInt32BE(APPLICATION_ID_AT) === APPLICATION_ID,
    hasLog: isSqlite ? LOGS[head[WRITE_VERSION_AT] ?? 0] : undefined,
  };
}

/**
 * Tells whether the error means damage: the file is not, or no longer, a sound database, and no
 * later try makes that better.
 */
export function isDamage(thrown: unknown): thrown is Error {
  return thrown instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(thrown.code);
}

function hintFor(code: string): string {
  if (code.startsWith('SQLITE_BUSY')) return 'another program holds it; end that first';
  // The longer codes that begin with SQLITE_READONLY concern readers, who get another hint.
  if (code === 'SQLITE_READONLY') {
    return 'this user must be allowed to write this file, and in its folder';
  }
  return 'check dataDir in the configuration, and the disk; else restore a backup';
}

/** Runs the first statements on a fresh connection; a failure closes it and names the file. */
function prepared(database: Database.Database, prepare: () => void): Database.Database {
  try {
    prepare();
    return database;
  } catch (cause) {
    database.close();
    if (!(cause instanceof Database.SqliteError)) throw cause;
    const isBusy = cause.code.startsWith('SQLITE_BUSY');
    const unusable = isDamage(cause) ? 'store.damaged' : 'store.unusable';
    throw new StoreError(isBusy ? 'store.busy' : unusable, `${database.name}: ${cause.message}`, {
      hint: hintFor(cause.code),
      cause,
    });
  }
}

/** Opens a connection that can write. Call {@link verifyPragmas} after its first write. */
export function openWriter(path: string, options: ConnectionOptions): Database.Database {
  const fileMustExist = options.mustExist === true;
  const database = openFile(path, { fileMustExist, timeout: options.busyTimeoutMs });
  return prepared(database, () => {
    checkVersion(database);
    checkApplication(database);
    // Both pragmas only work before the first table. Incremental vacuum gives space back in small
    // pieces; and a bulk load, which writes each page twice, has half as many pages of 8 KiB to
    // write (measured: a tenth less CPU than with SQLite's own 4 KiB).
    database.pragma(`page_size = ${PAGE_BYTES}`);
    database.pragma('auto_vacuum = incremental');
    database.pragma('journal_mode = wal');
    setPragmas(database, writerPragmas(database, options));
    database.pragma(`application_id = ${APPLICATION_ID}`);
  });
}

/** Opens a connection that cannot write, for reports and commands beside a running daemon. */
export function openReader(path: string, options: ConnectionOptions): Database.Database {
  const database = openFile(path, {
    readonly: true,
    fileMustExist: true,
    timeout: options.busyTimeoutMs,
  });
  return prepared(database, () => {
    checkApplication(database);
    setPragmas(database, { ...COMMON, ...cachePragma(options) });
    database.pragma('query_only = 1');
  });
}
