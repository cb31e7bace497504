/**
 * The exchange database: the one file that foreign programs write. It is in rollback-journal mode,
 * because distributions still ship SQLite versions whose write-ahead log can be damaged by two
 * writers at once; and it is not the mirror, so that nothing a foreign program does can harm that.
 *
 * Reads `intake`, `erp_customer` and what the triggers note about them; writes `receipt` and
 * `erp_customer_problem`. The lock is shared with strangers: every call waits only a moment for it
 * (`LOCK_MS`, for waiting blocks this thread) and then throws `exchange.busy`, to be tried again
 * later. Nothing here is atomic with the mirror, so that each step may be done twice.
 */
import { chmodSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError, SelvedgeError, toError } from '../../lib/errors.ts';
import { migrate, readMigrations } from '../migrate.ts';

export interface HandedIn {
  readonly receiptId: number;
  readonly intakeId: number;
  readonly kind: string;
  readonly reference: string;
  readonly payload: string;
  readonly handedInAt: string;
}

/** A row of `receipt` as the ERP reads it; times are ISO texts. */
export interface ReceiptRow {
  /** Null for a document of another door, which then needs a document id. */
  readonly intakeId: number | null;
  readonly documentId: number | null;
  readonly kind: string;
  readonly reference: string;
  readonly state: string;
  readonly final: boolean;
  readonly orderId: number | null;
  readonly orderNo: string | null;
  /** JSON. */
  readonly deliveries: string;
  readonly pendingRefundId: number | null;
  readonly refundId: number | null;
  /** JSON. */
  readonly problems: string;
  readonly nextStep: string;
  readonly handedInAt: string;
  readonly changedAt: string;
  readonly endedAt: string | null;
}

/** A changed customer: its row as the ERP wrote it, or null when the ERP deleted it. */
export interface CustomerChange {
  readonly seq: number;
  readonly accountNo: string;
  readonly row: Readonly<Record<string, unknown>> | null;
}

export interface CustomerProblem {
  readonly path: string;
  readonly message: string;
}

export interface Exchange extends Disposable {
  readonly path: string;
  /** Whether somebody else has written since the last call; true at the first one. */
  hasNews(): boolean;
  /**
   * Documents that wait behind the receipt `after`, oldest first: at most `rows`, and no more once
   * they hold `chars`.
   */
  waiting(after: number, rows: number, chars: number): HandedIn[];
  /** Writes the receipts, all or none. */
  writeReceipts(receipts: readonly ReceiptRow[]): void;
  /** Documents whose receipts are not final. */
  openDocuments(): number[];
  /**
   * Cuts receipts off from documents above this number, which the mirror does not know (any more);
   * gives how many there were.
   */
  cutOff(documentsAbove: number): number;
  changedCustomers(rows: number): CustomerChange[];
  /** Ticks changes off; a later change of the same customer stays. */
  customersDone(
    done: readonly { readonly change: CustomerChange; readonly problem: CustomerProblem | null }[],
    at: string,
  ): void;
  /** Deletes at most `rows` documents whose receipts were final before `endedBefore` (ISO). */
  forget(endedBefore: string, rows: number): number;
  readonly isNew: boolean;
}

const MIGRATIONS = fileURLToPath(new URL('../../../migrations/exchange/', import.meta.url));

/** The ERP's group may read and write; where that group gets in is decided by the folder. */
const FILE_MODE = 0o660;

/** Longest wait for the lock in one call: it blocks the event loop. */
const LOCK_MS = 5;

const PRAGMAS: Readonly<Record<string, number>> = {
  synchronous: 2,
  mmap_size: 0,
  trusted_schema: 0,
  cell_size_check: 1,
  foreign_keys: 1,
  temp_store: 2,
  cache_size: -4_096,
};

const UNKNOWN =
  'The daemon works on a restored database that does not know this document: look for it at the ' +
  'service, and hand it in again only if it is not there.';

const OWN_TABLES = [
  'intake',
  'receipt',
  'erp_customer',
  'erp_customer_change',
  'erp_customer_problem',
];

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

/** A lock that somebody else holds is not our failure, and nor is anything else final. */
function failure(path: string, code: string, cause: unknown): RetryLaterError {
  const inner = cause instanceof SelvedgeError ? cause.cause : cause;
  if (isBusy(inner)) {
    const hint = 'end long transactions in the ERP';
    return new RetryLaterError('exchange.busy', `${path}: another program holds it`, {
      hint,
      cause,
    });
  }
  return new RetryLaterError(`exchange.${code}`, `${path}: ${toError(cause).message}`, {
    hint: 'is its folder there and writable for this user, and the disk sound?',
    cause,
  });
}

/** Runs a call on the open file. */
function patiently<T>(path: string, call: () => T): T {
  try {
    return call();
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError)) throw cause;
    throw failure(path, 'failed', cause);
  }
}

/** The objects of our tables, as one comparable text each. */
function schemaOf(database: Database.Database): Map<string, string> {
  const rows = database
    .prepare<[string], { name: string; sql: string }>(
      `select name, sql from sqlite_schema
       where sql is not null and tbl_name in (select value from json_each(?))`,
    )
    .all(JSON.stringify(OWN_TABLES));
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}

/** A foreign trigger on our tables could change what a document says, or stop receipts. */
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
    {
      hint: 'drop foreign triggers and indexes of our tables; the ERP may have tables of its own',
    },
  );
}

function useRollbackJournal(database: Database.Database): void {
  if (database.pragma('journal_mode = delete', { simple: true }) === 'delete') return;
  throw new RetryLaterError(
    'exchange.wal',
    `${database.name} is in WAL mode and somebody has it open`,
    {
      hint: 'no client may set journal_mode; close the one that did',
    },
  );
}

function openFile(path: string, isNew: boolean, clock: Clock): Database.Database {
  let database: Database.Database | undefined;
  try {
    database = new Database(path, { timeout: LOCK_MS });
    useRollbackJournal(database);
    for (const [name, value] of Object.entries(PRAGMAS)) database.pragma(`${name} = ${value}`);
    migrate(database, clock, readMigrations(MIGRATIONS));
    checkSchema(database, clock);
    if (isNew) chmodSync(path, FILE_MODE);
    return database;
  } catch (cause) {
    database?.close();
    if (cause instanceof SelvedgeError && !isBusy(cause.cause)) throw cause;
    throw failure(path, 'cannot_open', cause);
  }
}

const RECEIPT_UPDATE = `
  document_id = @documentId, state = @state, final = @final, order_id = @orderId,
  order_no = @orderNo, deliveries = @deliveries, pending_refund_id = @pendingRefundId,
  refund_id = @refundId, problems = @problems, next_step = @nextStep, changed_at = @changedAt,
  ended_at = @endedAt`;

function receiptWriter(database: Database.Database): (receipts: readonly ReceiptRow[]) => void {
  const byRow = database.prepare(
    `update receipt set ${RECEIPT_UPDATE} where intake_id = @intakeId`,
  );
  const byDocument = database.prepare(
    `update receipt set ${RECEIPT_UPDATE} where document_id = @documentId`,
  );
  const insert = database.prepare(
    `insert into receipt (intake_id, document_id, kind, reference, state, final, order_id, order_no,
       deliveries, pending_refund_id, refund_id, problems, next_step, handed_in_at, changed_at,
       ended_at)
     values (null, @documentId, @kind, @reference, @state, @final, @orderId, @orderNo,
       @deliveries, @pendingRefundId, @refundId, @problems, @nextStep, @handedInAt, @changedAt,
       @endedAt)`,
  );
  const writeAll = database.transaction((receipts: readonly ReceiptRow[]) => {
    for (const { final, ...receipt } of receipts) {
      const values = { ...receipt, final: final ? 1 : 0 };
      if (receipt.intakeId !== null) byRow.run(values);
      else if (byDocument.run(values).changes === 0) insert.run(values);
    }
  });
  return (receipts) => writeAll.immediate(receipts);
}

function waitingReader(database: Database.Database): Exchange['waiting'] {
  const select = database.prepare<[number, number], HandedIn>(
    `select r.receipt_id as receiptId, i.intake_id as intakeId, i.kind, i.reference, i.payload,
       i.handed_in_at as handedInAt
     from receipt r join intake i on i.intake_id = r.intake_id
     where r.state = 'waiting' and r.receipt_id > ? order by r.receipt_id limit ?`,
  );
  return (after, rows, chars) => {
    const found: HandedIn[] = [];
    let left = chars;
    for (const row of select.iterate(after, rows)) {
      found.push(row);
      left -= row.payload.length;
      if (left <= 0) break;
    }
    return found;
  };
}

function customerPart(
  database: Database.Database,
): Pick<Exchange, 'changedCustomers' | 'customersDone'> {
  const changes = database.prepare<[number], { seq: number; accountNo: string }>(
    'select seq, account_no as accountNo from erp_customer_change order by seq limit ?',
  );
  const customer = database.prepare<[string], Record<string, unknown>>(
    'select * from erp_customer where account_no = ?',
  );
  const tickOff = database.prepare('delete from erp_customer_change where seq = ?');
  const praise = database.prepare('delete from erp_customer_problem where account_no = ?');
  const blame = database.prepare(
    `insert into erp_customer_problem (account_no, path, message, found_at) values (?, ?, ?, ?)
     on conflict (account_no) do update set path = excluded.path, message = excluded.message,
       found_at = excluded.found_at`,
  );
  const read = database.transaction((rows: number): CustomerChange[] =>
    changes
      .all(rows)
      .map(({ seq, accountNo }) => ({ seq, accountNo, row: customer.get(accountNo) ?? null })),
  );
  const finish = database.transaction((...[done, at]: Parameters<Exchange['customersDone']>) => {
    for (const { change, problem } of done) {
      tickOff.run(change.seq);
      if (problem === null) praise.run(change.accountNo);
      else blame.run(change.accountNo, problem.path, problem.message, at);
    }
  });
  return {
    changedCustomers: (rows) => read.deferred(rows),
    customersDone: (done, at) => finish.immediate(done, at),
  };
}

function forgetter(database: Database.Database): Exchange['forget'] {
  const old = database.prepare<[string, number], { receiptId: number; intakeId: number | null }>(
    `select receipt_id as receiptId, intake_id as intakeId from receipt
     where final = 1 and ended_at < ? limit ?`,
  );
  const dropRow = database.prepare('delete from intake where intake_id = ?');
  const dropReceipt = database.prepare('delete from receipt where receipt_id = ?');
  const forget = database.transaction((endedBefore: string, rows: number): number => {
    const found = old.all(endedBefore, rows);
    for (const { receiptId, intakeId } of found) {
      if (intakeId !== null) dropRow.run(intakeId);
      dropReceipt.run(receiptId);
    }
    return found.length;
  });
  return (endedBefore, rows) => forget.immediate(endedBefore, rows);
}

/**
 * What must be true however the last daemon ended and whatever was done to the file since: every
 * row of `intake` has a receipt, and every customer is compared once.
 */
function repair(database: Database.Database): void {
  database.exec(
    `begin immediate;
     insert into receipt (intake_id, kind, reference, state, next_step, handed_in_at, changed_at)
     select i.intake_id, i.kind, i.reference, 'waiting', 'Nothing.', i.handed_in_at, i.handed_in_at
     from intake i left join receipt r on r.intake_id = i.intake_id where r.intake_id is null;
     insert into erp_customer_change (account_no)
     select account_no from erp_customer where true on conflict do nothing;
     commit`,
  );
}

/**
 * Opens the file, making it when it is not there. Throws a RetryLaterError that says what is wrong:
 * the rest of the daemon goes on without it.
 */
export function openExchange(path: string, clock: Clock): Exchange {
  const isNew = !existsSync(path);
  const database = openFile(path, isNew, clock);
  try {
    repair(database);
  } catch (cause) {
    database.close();
    throw failure(path, 'cannot_open', cause);
  }
  let version = -1;
  const customers = customerPart(database);
  const waiting = waitingReader(database);
  const writeReceipts = receiptWriter(database);
  const forget = forgetter(database);
  const cutOff = database.prepare(
    `update receipt set document_id = null, final = 1, ended_at = coalesce(ended_at, changed_at),
       state = case final when 1 then state else 'in_doubt' end,
       next_step = case final when 1 then next_step else ? end,
       problems = case final when 1 then problems
         else json_array(json_object('path', '', 'message', ?)) end
     where document_id > ?`,
  );
  const openDocuments = database
    .prepare<[], number>(
      'select distinct document_id from receipt where final = 0 and document_id is not null',
    )
    .pluck();
  return {
    path,
    isNew,
    hasNews: () =>
      patiently(path, () => {
        const found = Number(database.pragma('data_version', { simple: true }));
        if (found === version) return false;
        if (database.pragma('journal_mode = delete', { simple: true }) !== 'delete') {
          throw new RetryLaterError('exchange.wal', `${path}: a client has set WAL mode`, {
            hint: 'no client may set journal_mode; close the one that did',
          });
        }
        version = found;
        return true;
      }),
    waiting: (after, rows, chars) => patiently(path, () => waiting(after, rows, chars)),
    writeReceipts: (receipts) => patiently(path, () => writeReceipts(receipts)),
    openDocuments: () => patiently(path, () => openDocuments.all()),
    cutOff: (above) => patiently(path, () => cutOff.run(UNKNOWN, UNKNOWN, above).changes),
    changedCustomers: (rows) => patiently(path, () => customers.changedCustomers(rows)),
    customersDone: (done, at) => patiently(path, () => customers.customersDone(done, at)),
    forget: (endedBefore, rows) => patiently(path, () => forget(endedBefore, rows)),
    [Symbol.dispose]: () => {
      database.close();
    },
  };
}
