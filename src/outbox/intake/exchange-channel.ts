/**
 * The SQL intake channel and its receipts. One worker owns the exchange database: it notices
 * commits of other programs by SQLite's own counter (a cheap pragma; no table is polled), imports
 * documents and customers, and writes receipts and outcomes of deliveries.
 *
 * Exchange database and mirror share no transaction: a document enters the mirror first and its
 * receipt follows, so a stop in between repeats the submission, which changes nothing. Other
 * programs may hold the lock. While they read, customers and documents are imported, each once, and
 * what is to be written waits, all of it for one commit; nothing is lost.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { isoTime } from '../../lib/units.ts';
import { readCustomerLoss } from '../../mirror/customer-loss.ts';
import { inKeys } from '../../store/bulk.ts';
import { trustedNow } from '../../store/clock-guard.ts';
import {
  type Exchange,
  isWithoutContent,
  openExchange,
  readByOthers,
} from '../../store/exchange/exchange.ts';
import type {
  DoneCustomer,
  OutcomeRow,
  ReceiptRow,
  Submitted,
} from '../../store/exchange/statements.ts';
import { deleteState, readRestored, writeRestored, writeState } from '../../store/state.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { kept } from '../../store/transaction/kept.ts';
import { endLossOfCustomers, importCustomers } from './customers.ts';
import { parsePayload } from './envelope.ts';
import { createLockWatch, type LockWatch } from './exchange-wait.ts';
import { type Intake, invalid, type Submission, type SubmitResult } from './intake.ts';
import {
  dueOutcomes,
  forgetOutcomes,
  OUTCOMES_PER_ROUND,
  outcomesAgain,
  outcomesWritten,
} from './outcomes.ts';
import { type Receipt, readReceipt, refusalReceipt } from './receipt.ts';

export interface ExchangeChannelDeps {
  readonly store: Store;
  readonly path: string;
  readonly intake: Intake;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds for which final documents stay in the exchange database. */
  readonly keepMs: number;
  /** Whether a callback command is configured; without one, due callbacks are dropped. */
  readonly hasCallback: boolean;
  /** Called after customers were imported, because decisions that rest on them may change. */
  readonly onCustomers?: (() => void) | undefined;
}

/** Milliseconds between two reads of the commit counter; a document waits at most this long. */
const POLL_MS = 400;
/** Milliseconds after readers kept a commit away: they go first, and then ever longer. */
const YIELD_MS = { min: 250, max: 2_000 } as const;
const DOCUMENTS_PER_ROUND = 200;
const CHARS_PER_ROUND = 4_000_000;
/** Maximum of imported documents whose receipts are not written yet. */
const ANSWERS_MAX = 5_000;
const CUSTOMERS_PER_ROUND = 200;
const RECEIPTS_PER_ROUND = 200;
/**
 * Number of open documents per commit at a start: each commit waits for the disk, and nothing else
 * runs meanwhile.
 */
const DUE_PER_COMMIT = 500;
const FORGET_EVERY_MS = 3_600_000;
const FORGET_PER_ROUND = 500;

function receiptRow(
  receipt: Receipt,
  intakeId: string | null,
  handedInAt: string,
  changedAt: string,
): ReceiptRow {
  const { documentId, state, final, orderId, orderNo, pendingRefundId, refundId } = receipt;
  const { styleId, conflict, nextStep, endedAt } = receipt;
  const problems: object[] = [...receipt.problems];
  if (conflict) problems.push({ path: '', message: 'both documents', conflict });
  return {
    intakeId,
    documentId,
    state,
    final,
    orderId,
    orderNo,
    pendingRefundId,
    refundId,
    styleId,
    kind: receipt.kind ?? '',
    reference: receipt.reference ?? '',
    deliveries: JSON.stringify(receipt.deliveries),
    problems: JSON.stringify(problems),
    nextStep,
    handedInAt,
    changedAt,
    endedAt,
  };
}

/** State of the worker between rounds; what is to be written waits here for the lock. */
interface Progress {
  /**
   * Number above which the mirror knows no documents, for the repair of the file; undefined: it is
   * repaired.
   */
  repairAbove: number | undefined;
  /** Whether documents may wait that were not imported yet. */
  unread: boolean;
  /**
   * Whether everything that waited at the start has its receipt. Before that, documents that an
   * earlier run imported without a receipt look like those of other channels, and would get a
   * second one.
   */
  isCaughtUp: boolean;
  /**
   * Number of the last document in the exchange database that was imported; a new file begins at 0.
   */
  takenTo: number;
  /**
   * Number of the last changed customer that was read, and how many wait because most are lost;
   * news begin at 0.
   */
  customers: { after: number; waiting: number };
  /** Changes of customers that were taken over and are not ticked off in the file yet. */
  readonly done: Map<number, DoneCustomer>;
  answers: ReceiptRow[];
  receipts: DueReceipts | undefined;
  outcomes: readonly OutcomeRow[] | undefined;
  forgetAt: number;
  /** Monotonic time before which nothing is written, and how long the next such pause is. */
  writeAt: number;
  yieldMs: number;
}

async function answerOf(
  { store }: ExchangeChannelDeps,
  row: Submitted,
  result: SubmitResult,
  receivedAt: number,
): Promise<ReceiptRow[]> {
  const receipt = result.ok
    ? await readReceipt(store.db, result.documentId)
    : refusalReceipt(row.kind, result, receivedAt);
  if (!receipt) return [];
  return [receiptRow(receipt, row.intakeId, row.handedInAt, isoTime(receivedAt))];
}

/** Imports waiting documents with a receipt for each; returns whether there may be more. */
async function importDocuments(
  deps: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
): Promise<boolean> {
  const { intake, clock } = deps;
  const rows = exchange.waiting(progress.takenTo, DOCUMENTS_PER_ROUND, CHARS_PER_ROUND);
  const receivedAt = clock.now();
  const parsed = rows.map((row) => ({ row, read: parsePayload(row.payload) }));
  const sound = parsed.flatMap(({ row, read }): Submission[] => {
    if (!('payload' in read)) return [];
    const { kind, reference, intakeId } = row;
    const where = { channel: 'sql', source: intakeId, receivedAt } as const;
    return [{ kind, reference, payload: read.payload, ...where }];
  });
  const results = [...(await intake.submit(sound))];
  let refused = 0;
  for (const { row, read } of parsed) {
    const broken = 'problems' in read ? invalid(row.reference, read.problems) : undefined;
    const answer = broken ?? results.shift();
    if (!answer) continue;
    if (!answer.ok) refused += 1;
    progress.answers.push(...(await answerOf(deps, row, answer, receivedAt)));
    progress.takenTo = row.receiptId;
  }
  if (refused > 0) deps.log.warn({ rows: rows.length, refused }, 'documents refused at submission');
  return rows.length > 0;
}

interface DueReceipts {
  readonly due: readonly { readonly outbox_id: number; readonly receipt_due: number }[];
  readonly receipts: readonly ReceiptRow[];
}

const dueDocuments = kept((db: Db) =>
  db
    .selectFrom('intake')
    .innerJoin('outbox', 'outbox.outbox_id', 'intake.outbox_id')
    .select(['intake.outbox_id', 'receipt_due'])
    .where('receipt_due', '>', sql.lit(0))
    // Documents whose push is under way are left out: their state changes in a moment.
    .where('state', 'not in', ['sending', 'sent'])
    .orderBy('intake.outbox_id')
    .limit(RECEIPTS_PER_ROUND),
);

async function dueReceipts({ store, clock }: ExchangeChannelDeps): Promise<DueReceipts> {
  const due = await dueDocuments(store.db);
  const at = isoTime(clock.now());
  const receipts: ReceiptRow[] = [];
  for (const { outbox_id } of due) {
    const receipt = await readReceipt(store.db, outbox_id);
    if (receipt) receipts.push(receiptRow(receipt, null, receipt.receivedAt, at));
  }
  return { due, receipts };
}

/** Takes note that the due receipts are in the exchange database. */
async function receiptsWritten(deps: ExchangeChannelDeps, { due }: DueReceipts): Promise<void> {
  if (due.length === 0) return;
  await deps.store.transaction(async (tx) => {
    for (const { outbox_id, receipt_due } of due) {
      // A document that changed meanwhile stays due.
      await tx
        .updateTable('intake')
        .set({ receipt_due: 0, ...(deps.hasCallback ? {} : { callback_due_at: null }) })
        .where('outbox_id', '=', outbox_id)
        .where('receipt_due', '=', receipt_due)
        .execute();
    }
  });
}

/** State key that is set before a new file is created, until all documents are due in it. */
const NEW_FILE_KEY = 'exchange_new_file';

/** Makes receipts due again: all, or those of some documents. */
function dueAgain(tx: Tx) {
  return tx.updateTable('intake').set((eb) => ({ receipt_due: eb('receipt_due', '+', 1) }));
}

/** Makes all receipts due in a new file; returns above which number the mirror knows none. */
async function beginFile({ store }: ExchangeChannelDeps): Promise<number> {
  await store.transaction(async (tx) => {
    if (!(await deleteState(tx, NEW_FILE_KEY))) return;
    await dueAgain(tx).execute();
    await outcomesAgain(tx);
  });
  const newest = await store.db
    .selectFrom('outbox')
    .select((eb) => eb.fn.max('outbox_id').as('outbox_id'))
    .executeTakeFirst();
  // Other channels may have taken documents since the restore; only this channel writes receipts
  // here.
  return (await readRestored(store.db))?.maxDocumentId ?? newest?.outbox_id ?? 0;
}

/** Makes the receipts due again that an older file lacks, once it is repaired. */
async function catchUp(
  { store, clock, log }: ExchangeChannelDeps,
  exchange: Exchange,
  cutOff: number,
): Promise<void> {
  const restored = await readRestored(store.db);
  if (restored && restored.maxDocumentId !== null) {
    await writeRestored(store.db, { ...restored, maxDocumentId: null }, clock);
  }
  if (cutOff > 0) {
    log.error({ receipts: cutOff }, 'the database was restored and does not know these documents');
  }
  const open = exchange.openDocuments();
  for (let start = 0; start < open.length; start += DUE_PER_COMMIT) {
    const some = open.slice(start, start + DUE_PER_COMMIT);
    await store.transaction((tx) => dueAgain(tx).where(inKeys('outbox_id', some)).execute());
    await nextTurn();
  }
}

/**
 * Deletes some old idempotency keys, few because months of them may be due at once; returns how
 * many.
 */
async function forgetKeys({ db }: Store, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from intake_key where (client, key) in (
    select client, key from intake_key where at < ${before}
    order by at limit ${FORGET_PER_ROUND})`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Takes over some changed customers; returns whether more may have changed. */
async function takeCustomers(
  { store, clock, onCustomers }: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
): Promise<boolean> {
  const { customers } = progress;
  const now = clock.now();
  const known = new Set(progress.done.keys());
  const asked = { rows: CUSTOMERS_PER_ROUND, after: customers.after, now, done: known };
  const { last, done, waiting } = await importCustomers(store, exchange, asked);
  for (const one of done) progress.done.set(one.change.seq, one);
  if (done.length > 0 || waiting > 0) onCustomers?.();
  customers.waiting += waiting;
  customers.after = last ?? customers.after;
  if (last !== undefined) return true;
  if (customers.waiting === 0) await endLossOfCustomers(store, now);
  return false;
}

/** Imports what others wrote, customers first; returns whether more may be waiting. */
async function readNews(
  deps: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
): Promise<boolean> {
  const { customers } = progress;
  const isAccepted = customers.waiting > 0 && (await readCustomerLoss(deps.store.db))?.isAccepted;
  if (exchange.hasNews() || isAccepted) {
    progress.unread = true;
    // News have higher numbers than what was read; only what waits is read again.
    if (customers.waiting > 0) progress.customers = { after: 0, waiting: 0 };
  }
  if (!progress.unread) return false;
  const areMore = await takeCustomers(deps, exchange, progress);
  // With so many answers, documents wait in the file for the lock.
  if (progress.answers.length >= ANSWERS_MAX) return areMore;
  const more = await importDocuments(deps, exchange, progress);
  if (!more && progress.repairAbove === undefined) progress.isCaughtUp = true;
  progress.unread = more || areMore;
  return progress.unread;
}

/** Takes note of what was written; returns whether more may be waiting. */
async function written(deps: ExchangeChannelDeps, progress: Progress): Promise<boolean> {
  const { receipts, outcomes = [] } = progress;
  progress.answers = [];
  progress.done.clear();
  progress.receipts = undefined;
  progress.outcomes = undefined;
  if (receipts) await receiptsWritten(deps, receipts);
  if (outcomes.length > 0) await outcomesWritten(deps.store, outcomes, deps.hasCallback);
  return receipts?.due.length === RECEIPTS_PER_ROUND || outcomes.length === OUTCOMES_PER_ROUND;
}

/** Takes note that readers kept a commit away. */
async function putOff(
  { clock }: ExchangeChannelDeps,
  { path }: Exchange,
  progress: Progress,
  lock: LockWatch,
): Promise<false> {
  progress.writeAt = clock.monotonic() + progress.yieldMs;
  progress.yieldMs = Math.min(2 * progress.yieldMs, YIELD_MS.max);
  await lock.held(readByOthers(path));
  return false;
}

/**
 * Repairs the file in a commit of its own; what waits is written after it. As long as the mirror
 * does not know that receipts were cut off, they are cut off again, and a new document must not
 * stand in one.
 */
async function repairFile(
  deps: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
  repairAbove: number,
  signal: AbortSignal,
): Promise<boolean> {
  let cutOff = 0;
  const isWritten = await exchange.together(() => {
    cutOff = exchange.cutOff(repairAbove);
    exchange.repair();
  }, signal);
  if (!isWritten) return false;
  await catchUp(deps, exchange, cutOff);
  progress.repairAbove = undefined;
  // Rows and customers that the repair has noted are read like news.
  progress.unread = true;
  return true;
}

/** Writes all that waits, in one commit; returns whether more may be waiting. */
async function writeBack(
  deps: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
  lock: LockWatch,
  signal: AbortSignal,
): Promise<boolean> {
  const { store, clock } = deps;
  const { answers, done, repairAbove } = progress;
  if (repairAbove !== undefined) {
    const isRepaired = await repairFile(deps, exchange, progress, repairAbove, signal);
    return isRepaired || putOff(deps, exchange, progress, lock);
  }
  // Due receipts are read once, however many tries the write takes.
  if (progress.isCaughtUp) progress.receipts ??= await dueReceipts(deps);
  progress.outcomes ??= await dueOutcomes(store);
  const { outcomes } = progress;
  const receipts = [...answers, ...(progress.receipts?.receipts ?? [])];
  if (receipts.length + outcomes.length + done.size > 0) {
    const isWritten = await exchange.together(() => {
      if (receipts.length > 0) exchange.writeReceipts(receipts);
      if (done.size > 0) exchange.customersDone([...done.values()], isoTime(clock.now()));
      if (outcomes.length > 0) exchange.writeOutcomes(outcomes);
    }, signal);
    if (!isWritten) return putOff(deps, exchange, progress, lock);
  }
  progress.yieldMs = YIELD_MS.min;
  const more = await written(deps, progress);
  await lock.free();
  return more;
}

/** Forgets what ended long ago, once an hour. */
async function forgetOld(
  deps: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = deps;
  if (clock.monotonic() < progress.forgetAt) return;
  const before = (await trustedNow(deps)) - deps.keepMs;
  const keys = await forgetKeys(store, before);
  const outcomes = await forgetOutcomes(store, before, FORGET_PER_ROUND);
  let forgotten = 0;
  const isWritten = await exchange.together(() => {
    forgotten = exchange.forget(isoTime(before), FORGET_PER_ROUND);
  }, signal);
  if (isWritten && Math.max(keys, outcomes, forgotten) === FORGET_PER_ROUND) return;
  // Rows that readers kept from being deleted go with those of the next hour.
  progress.forgetAt = clock.monotonic() + FORGET_EVERY_MS;
}

interface Opened {
  readonly exchange: Exchange;
  readonly progress: Progress;
}

/** Creates the worker that serves the exchange database until the signal aborts. */
export function createExchangeChannel(deps: ExchangeChannelDeps) {
  const { store, path, clock } = deps;

  const open = async (): Promise<Opened> => {
    // The note is written before the file exists: otherwise, after a failed try, the next one would
    // take the new file for an old one.
    if (isWithoutContent(path)) await writeState(store.db, NEW_FILE_KEY, 'yes', clock);
    const exchange = openExchange(path, clock);
    try {
      const repairAbove = await beginFile(deps);
      const progress: Progress = {
        repairAbove,
        unread: true,
        isCaughtUp: false,
        takenTo: 0,
        customers: { after: 0, waiting: 0 },
        done: new Map(),
        answers: [],
        receipts: undefined,
        outcomes: undefined,
        forgetAt: 0,
        writeAt: 0,
        yieldMs: YIELD_MS.min,
      };
      return { exchange, progress };
    } catch (error) {
      exchange[Symbol.dispose]();
      throw error;
    }
  };

  const round = async (
    { exchange, progress }: Opened,
    lock: LockWatch,
    signal: AbortSignal,
  ): Promise<boolean> => {
    let more = await readNews(deps, exchange, progress);
    if (clock.monotonic() < progress.writeAt) return more;
    if (await writeBack(deps, exchange, progress, lock, signal)) more = true;
    if (clock.monotonic() >= progress.writeAt) {
      await forgetOld(deps, exchange, progress, signal);
    }
    return more;
  };

  return {
    name: 'exchange',
    async run(signal: AbortSignal): Promise<void> {
      let opened: Opened | undefined;
      const lock = createLockWatch(deps);
      await lock.begin();
      try {
        while (!signal.aborted) {
          let waitMs = POLL_MS;
          try {
            opened ??= await open();
            if (await round(opened, lock, signal)) waitMs = 0;
          } catch (error) {
            if (!(error instanceof RetryLaterError) || error.code !== 'exchange.busy') throw error;
            await lock.held(error);
            waitMs = lock.retryMs();
          }
          await clock.sleep(waitMs, signal).catch(() => undefined);
        }
      } finally {
        opened?.exchange[Symbol.dispose]();
      }
    },
  };
}
