/**
 * The SQL intake channel and its receipts. One worker owns the exchange database: it notices
 * commits of other programs by SQLite's own counter (a cheap pragma; no table is polled), imports
 * documents and customers, and writes receipts and outcomes of deliveries.
 *
 * Exchange database and mirror share no transaction: a document enters the mirror first and its
 * receipt follows, so a stop in between repeats the submission, which changes nothing. Other
 * programs may hold the lock; then everything waits and nothing is lost.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { readCustomerLoss } from '../../mirror/customer-loss.ts';
import { inKeys } from '../../store/bulk.ts';
import { trustedNow } from '../../store/clock-guard.ts';
import { type Exchange, isWithoutContent, openExchange } from '../../store/exchange/exchange.ts';
import type { OutcomeRow, ReceiptRow, Submitted } from '../../store/exchange/statements.ts';
import { endIncidents, openIncident } from '../../store/incidents.ts';
import { deleteState, readRestored, writeRestored, writeState } from '../../store/state.ts';
import type { Store, Tx } from '../../store/store.ts';
import { endLossOfCustomers, importCustomers } from './customers.ts';
import { parsePayload } from './envelope.ts';
import { type Intake, invalid, type Submission, type SubmitResult } from './intake.ts';
import { dueOutcomes, forgetOutcomes, outcomesAgain, outcomesWritten } from './outcomes.ts';
import { isoTime, type Receipt, readReceipt, refusalReceipt } from './receipt.ts';

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
/**
 * Milliseconds until the next try after the lock was held: a busy writer releases it only briefly.
 */
const RETRY_MS = 7;
const HELD_MS = 10_000;
/** Milliseconds of a lock after which a person is told. */
const HELD_TOLD_MS = 5 * 60_000;
const LOCKED = { kind: 'exchange_locked', entity: 'exchange', key: 'file' } as const;
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

/** State of the worker between rounds; receipts wait here while another program holds the lock. */
interface Progress {
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
  answers: ReceiptRow[];
  receipts: DueReceipts | undefined;
  outcomes: readonly OutcomeRow[] | undefined;
  forgetAt: number;
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
  if (progress.answers.length >= ANSWERS_MAX) return true;
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

async function dueReceipts({ store, clock }: ExchangeChannelDeps): Promise<DueReceipts> {
  const due = await store.db
    .selectFrom('intake')
    .innerJoin('outbox', 'outbox.outbox_id', 'intake.outbox_id')
    .select(['intake.outbox_id', 'receipt_due'])
    .where('receipt_due', '>', 0)
    // Documents whose push is under way are left out: their state changes in a moment.
    .where('state', 'not in', ['sending', 'sent'])
    .orderBy('intake.outbox_id')
    .limit(RECEIPTS_PER_ROUND)
    .execute();
  const at = isoTime(clock.now());
  const receipts: ReceiptRow[] = [];
  for (const { outbox_id } of due) {
    const receipt = await readReceipt(store.db, outbox_id);
    if (receipt) receipts.push(receiptRow(receipt, null, receipt.receivedAt, at));
  }
  return { due, receipts };
}

/** Writes due receipts into the exchange database; returns how many. */
async function publishReceipts(
  deps: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
): Promise<number> {
  // Due receipts are read once, however many tries the write takes.
  progress.receipts ??= await dueReceipts(deps);
  const { due, receipts } = progress.receipts;
  if (receipts.length > 0) exchange.writeReceipts(receipts);
  progress.receipts = undefined;
  if (due.length === 0) return 0;
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
  return due.length;
}

/** Writes outcomes of deliveries into the exchange database; returns how many. */
async function publishOutcomes(
  { store, hasCallback }: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
): Promise<number> {
  progress.outcomes ??= await dueOutcomes(store);
  const { outcomes } = progress;
  if (outcomes.length > 0) {
    exchange.writeOutcomes(outcomes);
    await outcomesWritten(store, outcomes, hasCallback);
  }
  progress.outcomes = undefined;
  return outcomes.length;
}

/** State key that is set before a new file is created, until all documents are due in it. */
const NEW_FILE_KEY = 'exchange_new_file';

/** Makes all receipts due that a new or an older exchange database lacks. */
async function catchUp(
  { store, clock, log }: ExchangeChannelDeps,
  exchange: Exchange,
): Promise<void> {
  const newest = await store.db
    .selectFrom('outbox')
    .select((eb) => eb.fn.max('outbox_id').as('outbox_id'))
    .executeTakeFirst();
  const restored = await readRestored(store.db);
  // Other channels may have taken documents since the restore; only this channel writes receipts
  // here.
  const cutOff = exchange.cutOff(restored?.maxDocumentId ?? newest?.outbox_id ?? 0);
  if (restored && restored.maxDocumentId !== null) {
    await writeRestored(store.db, { ...restored, maxDocumentId: null }, clock);
  }
  if (cutOff > 0) {
    log.error({ receipts: cutOff }, 'the database was restored and does not know these documents');
  }
  const again = (tx: Tx) =>
    tx.updateTable('intake').set((eb) => ({ receipt_due: eb('receipt_due', '+', 1) }));
  await store.transaction(async (tx) => {
    if (!(await deleteState(tx, NEW_FILE_KEY))) return;
    await again(tx).execute();
    await outcomesAgain(tx);
  });
  const open = exchange.openDocuments();
  for (let start = 0; start < open.length; start += DUE_PER_COMMIT) {
    const some = open.slice(start, start + DUE_PER_COMMIT);
    await store.transaction((tx) => again(tx).where(inKeys('outbox_id', some)).execute());
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
  { customers }: Progress,
): Promise<boolean> {
  const now = clock.now();
  const asked = { rows: CUSTOMERS_PER_ROUND, after: customers.after, now };
  const { last, taken, waiting } = await importCustomers(store, exchange, asked);
  if (taken > 0 || waiting > 0) onCustomers?.();
  customers.waiting += waiting;
  customers.after = last ?? customers.after;
  if (last !== undefined) return true;
  if (customers.waiting === 0) await endLossOfCustomers(store, now);
  return false;
}

/** Runs one round of imports and receipts; returns whether more may be waiting. */
async function round(
  deps: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
): Promise<boolean> {
  const { store, clock } = deps;
  const { customers } = progress;
  const isAccepted = customers.waiting > 0 && (await readCustomerLoss(store.db))?.isAccepted;
  if (exchange.hasNews() || isAccepted) {
    progress.unread = true;
    progress.customers = { after: 0, waiting: 0 };
  }
  let more = false;
  if (progress.unread) {
    more = await importDocuments(deps, exchange, progress);
    if (progress.answers.length > 0) exchange.writeReceipts(progress.answers);
    progress.answers = [];
    if (!more) progress.isCaughtUp = true;
    const areMore = await takeCustomers(deps, exchange, progress);
    progress.unread = more || areMore;
    more = progress.unread;
  }
  const published = progress.isCaughtUp ? await publishReceipts(deps, exchange, progress) : 0;
  if (published === RECEIPTS_PER_ROUND) more = true;
  if ((await publishOutcomes(deps, exchange, progress)) > 0) more = true;
  if (clock.monotonic() >= progress.forgetAt) {
    const before = (await trustedNow(deps)) - deps.keepMs;
    const keys = await forgetKeys(store, before);
    const outcomes = await forgetOutcomes(store, before, FORGET_PER_ROUND);
    const forgotten = exchange.forget(isoTime(before), FORGET_PER_ROUND);
    if (Math.max(keys, outcomes, forgotten) < FORGET_PER_ROUND)
      progress.forgetAt = clock.monotonic() + FORGET_EVERY_MS;
  }
  return more;
}

interface Opened {
  readonly exchange: Exchange;
  readonly progress: Progress;
}

/** Creates the worker that serves the exchange database until the signal aborts. */
export function createExchangeChannel(deps: ExchangeChannelDeps) {
  const { store, path, clock, log } = deps;

  const open = async (): Promise<Opened> => {
    // The note is written before the file exists: otherwise, after a failed try, the next one would
    // take the new file for an old one.
    if (isWithoutContent(path)) await writeState(store.db, NEW_FILE_KEY, 'yes', clock);
    const exchange = openExchange(path, clock);
    try {
      await catchUp(deps, exchange);
      const none = { takenTo: 0, answers: [], receipts: undefined, outcomes: undefined };
      const customers = { after: 0, waiting: 0 };
      return {
        exchange,
        progress: { unread: true, isCaughtUp: false, forgetAt: 0, customers, ...none },
      };
    } catch (error) {
      exchange[Symbol.dispose]();
      throw error;
    }
  };

  return {
    name: 'exchange',
    async run(signal: AbortSignal): Promise<void> {
      let opened: Opened | undefined;
      let failingSince: number | undefined;
      let heldSince: number | undefined;
      let isTold = false;
      await endIncidents(deps.store.db, LOCKED, [LOCKED.key], clock.now());
      try {
        while (!signal.aborted) {
          let waitMs = POLL_MS;
          try {
            opened ??= await open();
            if (await round(deps, opened.exchange, opened.progress)) waitMs = 0;
            failingSince = undefined;
            heldSince = undefined;
            if (isTold) await endIncidents(deps.store.db, LOCKED, [LOCKED.key], clock.now());
            isTold = false;
          } catch (error) {
            if (!(error instanceof RetryLaterError) || error.code !== 'exchange.busy') throw error;
            failingSince ??= clock.monotonic();
            heldSince ??= clock.monotonic();
            if (clock.monotonic() - heldSince >= HELD_TOLD_MS && !isTold) {
              await openIncident(deps.store.db, { ...LOCKED, detail: {} }, clock.now());
              isTold = true;
            }
            if (clock.monotonic() - failingSince > HELD_MS) {
              log.warn({ error: error.message, hint: error.hint }, 'receipts wait for a lock');
              failingSince = clock.monotonic();
            }
            waitMs = RETRY_MS;
          }
          await clock.sleep(waitMs, signal).catch(() => undefined);
        }
      } finally {
        opened?.exchange[Symbol.dispose]();
      }
    },
  };
}
