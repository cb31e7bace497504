/**
 * The exchange database: the only file that foreign programs write. It is in rollback-journal mode,
 * because distributions still ship SQLite versions whose write-ahead log can be damaged by two
 * writers at once; and it is not the mirror, so that nothing a foreign program does can harm that.
 *
 * Reads `intake`, `erp_customer` and what the triggers note about them; writes `receipt`, `outcome`
 * and `erp_customer_problem`. The lock is shared with strangers: every call waits only a moment for
 * it (`LOCK_MS`, because waiting blocks this thread) and then throws `exchange.busy`, to be tried
 * again later; `together` writes against readers that never leave at the same time. Nothing here is
 * atomic with the mirror, so that each step may be done twice.
 */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  isDiskFull,
  RetryLaterError,
  SelvedgeError,
  StoreError,
  toError,
} from '../../lib/errors.ts';
import { readHead } from '../connection.ts';
import { withMode } from '../folders.ts';
import { migrate, pendingMigrations, readMigrations } from '../migrate.ts';
import { idOf, RESTORING } from '../writers/in-place.ts';
import { writeAgainBeside } from '../writers/write-again.ts';
import {
  type CustomerChange,
  customerPart,
  type DoneCustomer,
  documentPart,
  forgetPart,
  forgetter,
  type OutcomeRow,
  type OwnDocuments,
  type OwnStates,
  outcomeWriter,
  type ReceiptRow,
  receiptWriter,
  type Submitted,
  waitingReader,
} from './statements.ts';

export interface Exchange extends Disposable {
  readonly path: string;
  /**
   * Tells whether somebody else has written to the file since the last call; true at the first
   * call.
   */
  hasNews(): boolean;
  /**
   * Documents that wait and have a higher number than `after`, oldest first: at most `rows`, and no
   * more once they hold `chars`.
   */
  waiting(after: number, rows: number, chars: number): Submitted[];
  /**
   * Repairs the file, whatever was done to it since it was open last: every row of `intake` gets a
   * receipt, and every customer is compared once.
   */
  repair(): void;
  /**
   * Writes what `work` writes, all or none. While others read, no new reader comes in and the
   * commit alone is tried again, for `HOLD_MS`; false: they did not leave, and nothing was written.
   */
  together(work: () => void, signal: AbortSignal): Promise<boolean>;
  /** Writes receipts for documents, all or none. */
  writeReceipts(receipts: readonly ReceiptRow[]): void;
  /** Writes outcomes of deliveries, all or none; a row with the same number is replaced. */
  writeOutcomes(outcomes: readonly OutcomeRow[]): void;
  openDocuments(): number[];
  /**
   * Removes the document ids above this number from receipts, because the mirror does not know
   * these documents (any more); returns how many there were.
   */
  cutOff(documentsAbove: number): number;
  /** Changes of customers with a higher number than `after`, the oldest first; or all of them. */
  changedCustomers(rows?: number, after?: number): CustomerChange[];
  /** Marks changes of customers as done; a later change of the same customer stays. */
  customersDone(done: readonly DoneCustomer[], at: string): void;
  /** What the receipts of an order's documents say. */
  statesOf(own: OwnDocuments): OwnStates;
  /**
   * Deletes final documents of an order and blanks the mistakes in their receipts. Returns how many
   * rows there were.
   */
  forgetDocuments(own: OwnDocuments): number;
  /**
   * Writes the whole file again: foreign clients leave copies of the rows that they move in free
   * pages. It happens on a thread of its own; meanwhile nobody else can write.
   */
  writeAgain(): Promise<void>;
  /** Deletes at most `rows` documents and outcomes that ended before `endedBefore` (ISO). */
  forget(endedBefore: string, rows: number): number;
}

export function exchangeFile({ dataDir, intake }: Pick<Config, 'dataDir' | 'intake'>): string {
  return intake.database ?? join(dataDir, 'exchange.db');
}

const MIGRATIONS = fileURLToPath(new URL('../../../migrations/exchange/', import.meta.url));

/**
 * Mode of the file: the ERP's group may read and write. The folder's mode decides who else gets to
 * it.
 */
export const EXCHANGE_MODE = 0o660;

/** Longest wait for the lock in one call, ms: it blocks the event loop. */
const LOCK_MS = 5;
/**
 * Longest time for which a commit keeps new readers out, ms: a reader with the timeout of two
 * seconds that the manual names must get in.
 */
const HOLD_MS = 1_200;
/** Milliseconds between two tries of a commit. */
const COMMIT_EVERY_MS = 10;
/** Longest wait for the lock in a process that only inspects the file, ms. */
const INSPECT_MS = 2_000;

const PLACE_HINT = 'is its folder there and writable for this user, and the disk sound?';
const NEW_FILE_HINT =
  'stop the daemon, move it away, start: a new one is made; keep the old one, because what waits ' +
  'in it is nowhere else and must be submitted again';
const OTHER_HINT =
  'it is of another program, or of another version: run that one, name another file in ' +
  `intake.database, or ${NEW_FILE_HINT}`;
const BUSY_HINT =
  'a program has not read a SELECT to its end, or not ended a transaction: it must close them';
const WAL_HINT = 'no client may set journal_mode; close the one that did';

const PRAGMAS: Readonly<Record<string, number>> = {
  synchronous: 2,
  mmap_size: 0,
  trusted_schema: 0,
  cell_size_check: 1,
  // Our tables have no foreign keys. Those of the ERP's own tables would keep rows from being
  // deleted.
  foreign_keys: 0,
  temp_store: 2,
  cache_size: -4_096,
};

const OWN_TABLES = [
  'intake',
  'receipt',
  'outcome',
  'erp_customer',
  'erp_customer_change',
  'erp_customer_problem',
];

const OWN_VIEWS = ['v_document'];

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

/**
 * Tells whether somebody has moved the file away. SQLite then refuses to write into it; the path
 * may come back in a moment.
 */
function isAway(error: unknown, path: string): boolean {
  const isMoved = error instanceof Database.SqliteError && /_DBMOVED$/.test(error.code);
  return isMoved && idOf(path) === '';
}

/**
 * Translates an error of the file into one to be tried again later: a lock that somebody else holds
 * is no failure of the daemon, and nothing else is final either.
 */
function failure(path: string, code: string, cause: unknown): RetryLaterError {
  const inner = cause instanceof SelvedgeError ? cause.cause : cause;
  if (isAway(inner, path)) {
    const message = `${path}: somebody has moved or removed it`;
    return new RetryLaterError('exchange.busy', message, { cause });
  }
  if (isBusy(inner)) {
    return new RetryLaterError('exchange.busy', `${path}: another program holds it`, {
      hint: BUSY_HINT,
      cause,
    });
  }
  const { message } = toError(cause);
  const isOther = cause instanceof StoreError && !isDiskFull(cause);
  return new RetryLaterError(
    `exchange.${code}`,
    message.startsWith(path) ? message : `${path}: ${message}`,
    { hint: isOther ? OTHER_HINT : PLACE_HINT, cause },
  );
}

/** Error of a write that readers, who came before it and have not left, keep from the file. */
export function readByOthers(path: string): RetryLaterError {
  const message = `${path}: another program reads it all the time`;
  return new RetryLaterError('exchange.busy', message, { hint: BUSY_HINT });
}

/**
 * Wraps calls on the open file: when its schema may have changed, the schema is checked before the
 * call.
 */
function createCaller(path: string, database: Database.Database, clock: Clock) {
  let checked = -1;
  return <T>(call: () => T): T => {
    try {
      const version = Number(database.pragma('schema_version', { simple: true }));
      if (version !== checked) checkSchema(database, clock);
      checked = version;
      return call();
    } catch (cause) {
      if (!(cause instanceof Database.SqliteError)) throw cause;
      throw failure(path, 'failed', cause);
    }
  };
}

type Schema = ReadonlyMap<string, string>;

/**
 * SQL text of each object that belongs to our tables, by its name. A trigger may write its table's
 * name in any case. A table that was renamed and got its name back has quoted names, which mean the
 * same.
 */
function schemaOf(database: Database.Database): Schema {
  const rows = database
    .prepare<[string], { name: string; sql: string }>(
      `select name, sql from sqlite_schema
       where sql is not null and lower(tbl_name) in (select value from json_each(?))`,
    )
    .all(JSON.stringify([...OWN_TABLES, ...OWN_VIEWS]));
  return new Map(rows.map(({ name, sql }) => [name, sql.replaceAll(/"(\w+)"/g, '$1')]));
}

/**
 * Hint on how to repair a changed schema: give a table its name back, drop foreign objects, else
 * make a new file.
 */
function wayOut(different: readonly string[], expected: Schema, found: Schema): string {
  const gone = OWN_TABLES.filter((name) => !found.has(name));
  if (gone.length > 0) {
    const names = gone.join(', ');
    return `give ${names} its name back (ALTER TABLE … RENAME TO …); else ${NEW_FILE_HINT}`;
  }
  if (different.every((name) => !expected.has(name))) {
    return 'drop them: the ERP may have tables of its own, but no triggers and indexes of ours';
  }
  return NEW_FILE_HINT;
}

/**
 * Throws when the schema was changed: a foreign trigger on our tables could change what a document
 * says, or stop receipts.
 */
function checkSchema(database: Database.Database, clock: Clock): void {
  const fresh = new Database(':memory:');
  migrate(fresh, clock, readMigrations(MIGRATIONS));
  const [expected, found] = [schemaOf(fresh), schemaOf(database)];
  fresh.close();
  const names = new Set([...expected.keys(), ...found.keys()]);
  const different = [...names].filter((name) => expected.get(name) !== found.get(name));
  if (different.length === 0) return;
  throw new RetryLaterError(
    'exchange.schema_changed',
    `${database.name}: somebody changed ${different.join(', ')}`,
    { hint: wayOut(different, expected, found) },
  );
}

function useRollbackJournal(database: Database.Database): void {
  if (database.pragma('journal_mode = delete', { simple: true }) === 'delete') return;
  throw new RetryLaterError(
    'exchange.wal',
    `${database.name} is in WAL mode and somebody has it open`,
    {
      hint: WAL_HINT,
    },
  );
}

/** Tells whether the file is absent, or empty as a client leaves it that opened an absent file. */
export function isWithoutContent(path: string): boolean {
  return !existsSync(path) || statSync(path).size === 0;
}

/**
 * Refuses to make an empty file when an interrupted restore left the former one beside it: the ERP
 * would submit documents to the empty one.
 */
function refuseToForget(path: string): void {
  if (!existsSync(path + RESTORING)) return;
  const message = `${path} is not there: a restore was cut off`;
  throw new RetryLaterError('exchange.half_restored', message, {
    hint: 'stop the daemon, and "selvedge backup restore --with-exchange" again',
  });
}

function openFile(path: string, clock: Clock): Database.Database {
  let database: Database.Database | undefined;
  try {
    if (!existsSync(path)) {
      refuseToForget(path);
      withMode(EXCHANGE_MODE, (mode) => writeFileSync(path, '', { mode, flag: 'wx' }));
    }
    database = new Database(path, { timeout: LOCK_MS });
    useRollbackJournal(database);
    for (const [name, value] of Object.entries(PRAGMAS)) database.pragma(`${name} = ${value}`);
    migrate(database, clock, readMigrations(MIGRATIONS));
    checkSchema(database, clock);
    return database;
  } catch (cause) {
    database?.close();
    throw cause instanceof RetryLaterError ? cause : failure(path, 'cannot_open', cause);
  }
}

/**
 * Throws the errors that {@link openExchange} would throw for an existing file, and changes
 * nothing. Not to be called while this process has the file open ({@link readHead}).
 */
export function inspectExchange(path: string, clock: Clock): void {
  let database: Database.Database | undefined;
  try {
    if (readHead(path).hasLog) {
      throw new RetryLaterError('exchange.wal', `${path} is in WAL mode`, { hint: WAL_HINT });
    }
    database = new Database(path, { readonly: true, fileMustExist: true, timeout: INSPECT_MS });
    const found = database.pragma('quick_check(1)', { simple: true });
    if (found !== 'ok') throw new RetryLaterError('exchange.damaged', `${path}: ${found}`);
    checkSchema(database, clock);
    if (pendingMigrations(database, readMigrations(MIGRATIONS)).pending.length > 0) {
      const message = `${path}: somebody changed schema_migration`;
      throw new RetryLaterError('exchange.schema_changed', message, { hint: OTHER_HINT });
    }
  } catch (cause) {
    if (cause instanceof Database.SqliteError && cause.code === 'SQLITE_READONLY_ROLLBACK') {
      const message = `${path}: a client was cut off as it wrote`;
      throw new RetryLaterError('exchange.busy', message, {
        hint: 'the daemon takes that back as it starts',
      });
    }
    throw cause instanceof RetryLaterError ? cause : failure(path, 'cannot_open', cause);
  } finally {
    database?.close();
  }
}

function repairer(database: Database.Database): () => void {
  const repair = database.transaction(() => {
    database.exec(
      `insert into receipt (intake_id, kind, reference, state, next_step, handed_in_at, changed_at)
       select i.intake_id, i.kind, i.reference, 'waiting', 'Nothing.', i.handed_in_at,
         i.handed_in_at
       from intake i left join receipt r on r.intake_id = i.intake_id where r.intake_id is null;
       insert into erp_customer_change (account_no)
       select account_no from erp_customer where true on conflict do nothing`,
    );
  });
  return () => repair.immediate();
}

/** Commits; false: others read. The transaction stays open then, and keeps new readers out. */
function commits(database: Database.Database): boolean {
  try {
    database.exec('commit');
    return true;
  } catch (error) {
    if (isBusy(error) && database.inTransaction) return false;
    throw error;
  }
}

/** Tries the commit again and again while readers leave; the event loop turns meanwhile. */
async function commitAgainstReaders(
  database: Database.Database,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  const until = clock.monotonic() + HOLD_MS;
  database.pragma('busy_timeout = 0');
  try {
    while (!commits(database)) {
      if (signal.aborted || clock.monotonic() >= until) return false;
      await clock.sleep(COMMIT_EVERY_MS, signal).catch(() => undefined);
    }
    return true;
  } finally {
    database.pragma(`busy_timeout = ${LOCK_MS}`);
  }
}

/**
 * Milliseconds for which the file may be absent while somebody replaces it; after them it is an
 * error, because the ERP cannot submit anything.
 */
const GONE_MS = 10_000;

/** Checks that the path still names the open file, because the ERP writes to the path. */
function createPlaceCheck(path: string, { monotonic }: Clock): () => void {
  const opened = idOf(path);
  let goneAt: number | undefined;
  return () => {
    const id = idOf(path);
    if (id !== '') goneAt = undefined;
    if (id === undefined || id === opened) return;
    if (id === '') {
      goneAt ??= monotonic();
      if (monotonic() - goneAt < GONE_MS) return;
    }
    const done = id === '' ? 'moved or removed it' : 'put another file there';
    throw new RetryLaterError('exchange.replaced', `${path}: somebody has ${done}`, {
      hint: 'it is opened again in a moment',
    });
  };
}

/**
 * Opens the file, and makes it when it does not exist. Throws a RetryLaterError that says what is
 * wrong: the rest of the daemon runs without the file.
 */
export function openExchange(path: string, clock: Clock): Exchange {
  const database = openFile(path, clock);
  const requireSameFile = createPlaceCheck(path, clock);
  let version = -1;
  const run = createCaller(path, database, clock);
  const customers = customerPart(database);
  const waiting = waitingReader(database);
  const repair = repairer(database);
  const writeReceipts = receiptWriter(database);
  const writeOutcomes = outcomeWriter(database);
  const forget = forgetter(database);
  const documents = documentPart(database);
  const own = forgetPart(database);
  return {
    path,
    hasNews: () =>
      run(() => {
        requireSameFile();
        const found = Number(database.pragma('data_version', { simple: true }));
        if (found === version) return false;
        if (database.pragma('journal_mode = delete', { simple: true }) !== 'delete') {
          throw new RetryLaterError('exchange.wal', `${path}: a client has set WAL mode`, {
            hint: WAL_HINT,
          });
        }
        version = found;
        return true;
      }),
    waiting: (after, rows, chars) => run(() => waiting(after, rows, chars)),
    repair: () => run(repair),
    async together(work, signal) {
      run(() => database.exec('begin immediate'));
      try {
        work();
        return await commitAgainstReaders(database, clock, signal);
      } catch (cause) {
        throw cause instanceof Database.SqliteError ? failure(path, 'failed', cause) : cause;
      } finally {
        if (database.inTransaction) database.exec('rollback');
      }
    },
    writeReceipts: (receipts) => run(() => writeReceipts(receipts)),
    writeOutcomes: (outcomes) => run(() => writeOutcomes(outcomes)),
    openDocuments: () => run(documents.openDocuments),
    cutOff: (above) => run(() => documents.cutOff(above)),
    changedCustomers: (rows, after) => run(() => customers.changedCustomers(rows, after)),
    customersDone: (done, at) => run(() => customers.customersDone(done, at)),
    statesOf: (which) => run(() => own.statesOf(which)),
    forgetDocuments: (which) => run(() => own.forgetDocuments(which)),
    async writeAgain() {
      try {
        await writeAgainBeside(path);
      } catch (cause) {
        throw failure(path, 'failed', cause);
      }
    },
    forget: (endedBefore, rows) => run(() => forget(endedBefore, rows)),
    [Symbol.dispose]: () => {
      database.close();
    },
  };
}
