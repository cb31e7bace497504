/**
 * The SQL door, and the way of receipts back through it. One worker owns the exchange database: it
 * notices foreign commits by SQLite's own counter (one cheap pragma, no table is polled), takes
 * documents and customers over, and writes what became of documents.
 *
 * The two databases share no transaction: a document goes into the mirror first and its receipt is
 * written then, so that a stop in between repeats the hand-in, which changes nothing. Foreign
 * programs may hold the lock; then everything waits here and nothing is lost.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { inKeys } from '../../store/bulk.ts';
import { trustedNow } from '../../store/clock-guard.ts';
import { type Exchange, isWithoutContent, openExchange } from '../../store/exchange/exchange.ts';
import type { HandedIn, ReceiptRow } from '../../store/exchange/rows.ts';
import { readRestored, writeRestored, writeState } from '../../store/state.ts';
import type { Store, Tx } from '../../store/store.ts';
import { importCustomers } from './customers.ts';
import { type Submission, type SubmitResult, type Intake, invalid } from './intake.ts';
import { isoTime, type Receipt, readReceipt, refusalReceipt } from './receipt.ts';
import { parsePayload } from './envelope.ts';

export interface ExchangeChannelDeps {
  readonly store: Store;
  /** Of the exchange database, which this worker opens and then owns. */
  readonly path: string;
  readonly intake: Intake;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long final documents stay in the exchange database, in milliseconds. */
  readonly keepMs: number;
  /** Whether a command is told of ends; else what would be due is dropped. */
  readonly hasCallback: boolean;
  /** Customers were taken over: what rests on them is old. */
  readonly onCustomers?: (() => void) | undefined;
}

/** Between two looks at the counter; a document waits at most this long. */
const LOOK_MS = 400;
/** The pause after a lock that was held: short, since a busy writer lets go for moments only. */
const RETRY_MS = 7;
/** A lock that is held this long is worth a line in the log. */
const HELD_MS = 10_000;
const DOCUMENTS_PER_ROUND = 200;
const CHARS_PER_ROUND = 4_000_000;
/** Documents that are taken over before their receipts could be written. */
const ANSWERS_MAX = 5_000;
const CUSTOMERS_PER_ROUND = 200;
const RECEIPTS_PER_ROUND = 200;
/** Open documents of a start: each commit waits for the disk, and nobody else runs meanwhile. */
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
  const { conflict, problems, nextStep, endedAt } = receipt;
  const clash = conflict === undefined ? [] : [{ path: '', message: 'both documents', conflict }];
  return {
    ...{ intakeId, documentId, state, final, orderId, orderNo, pendingRefundId, refundId },
    kind: receipt.kind ?? '',
    reference: receipt.reference ?? '',
    deliveries: JSON.stringify(receipt.deliveries),
    problems: JSON.stringify([...problems, ...clash]),
    ...{ nextStep, handedInAt, changedAt, endedAt },
  };
}

/** What was taken over and cannot be told yet, because somebody holds the lock. */
interface Progress {
  /** Something may wait that was not taken over yet. */
  unread: boolean;
  /**
   * Everything that waited at the start is answered. Before, what an earlier run has taken and not
   * answered looks like the documents of other doors, and would get a receipt beside its own.
   */
  isCaughtUp: boolean;
  /** The last receipt whose document was taken over; everything starts again with the file. */
  takenTo: number;
  answers: ReceiptRow[];
  told: Told | undefined;
  /** When to look for what is old, on the monotonic clock. */
  forgetAt: number;
}

async function answerOf(
  { store }: ExchangeChannelDeps,
  row: HandedIn,
  handed: SubmitResult,
  receivedAt: number,
): Promise<ReceiptRow[]> {
  const receipt = handed.ok
    ? await readReceipt(store.db, handed.documentId)
    : refusalReceipt(row.kind, handed, receivedAt);
  if (!receipt) return [];
  return [receiptRow(receipt, row.intakeId, row.handedInAt, isoTime(receivedAt))];
}

/** Takes waiting documents over and answers each; whether there may be more. */
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
    const where = { door: 'sql', source: intakeId, receivedAt } as const;
    return [{ kind, reference, payload: read.payload, ...where }];
  });
  const handed = [...(await intake.submit(sound))];
  let refused = 0;
  for (const { row, read } of parsed) {
    const broken = 'problems' in read ? invalid(row.reference, read.problems) : undefined;
    const answer = broken ?? handed.shift();
    if (!answer) continue;
    if (!answer.ok) refused += 1;
    progress.answers.push(...(await answerOf(deps, row, answer, receivedAt)));
    progress.takenTo = row.receiptId;
  }
  if (refused > 0) deps.log.warn({ rows: rows.length, refused }, 'documents refused at the door');
  return rows.length > 0;
}

/** Receipts that are due, as they are now. */
interface Told {
  readonly due: readonly { readonly outbox_id: number; readonly receipt_due: number }[];
  readonly receipts: readonly ReceiptRow[];
}

async function dueReceipts({ store, clock }: ExchangeChannelDeps): Promise<Told> {
  const due = await store.db
    .selectFrom('intake')
    .innerJoin('outbox', 'outbox.outbox_id', 'intake.outbox_id')
    .select(['intake.outbox_id', 'receipt_due'])
    .where('receipt_due', '>', 0)
    // What is on its way has another state in a moment.
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

/** Shows what changed since; gives how many receipts were written. */
async function publishReceipts(
  deps: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
): Promise<number> {
  // Read once for however many tries it takes to write them.
  progress.told ??= await dueReceipts(deps);
  const { due, receipts } = progress.told;
  if (receipts.length > 0) exchange.writeReceipts(receipts);
  progress.told = undefined;
  if (due.length === 0) return 0;
  await deps.store.transaction(async (tx) => {
    for (const { outbox_id, receipt_due } of due) {
      // What changed while this was written is still due.
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

/** There from before a new file is made until all documents are due in it. */
const NEW_FILE_KEY = 'exchange_new_file';

/** What a new or an older exchange database does not show is due again. */
async function catchUp(
  { store, clock, log }: ExchangeChannelDeps,
  exchange: Exchange,
): Promise<void> {
  const newest = await store.db
    .selectFrom('outbox')
    .select((eb) => eb.fn.max('outbox_id').as('outbox_id'))
    .executeTakeFirst();
  const restored = await readRestored(store.db);
  // Another door may have taken documents since the restore; receipts come from here alone.
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
    const mark = tx.deleteFrom('daemon_state').where('key', '=', NEW_FILE_KEY);
    if ((await mark.returning('key').execute()).length > 0) await again(tx).execute();
  });
  const open = exchange.openDocuments();
  for (let start = 0; start < open.length; start += DUE_PER_COMMIT) {
    const some = open.slice(start, start + DUE_PER_COMMIT);
    await store.transaction((tx) => again(tx).where(inKeys('outbox_id', some)).execute());
    await nextTurn();
  }
}

/** Some keys that are old enough: months of them may be due at once. Gives how many. */
async function forgetKeys({ db }: Store, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from intake_key where (client, key) in (
    select client, key from intake_key where at < ${before}
    order by at limit ${FORGET_PER_ROUND})`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** One round; true when there may be more to do at once. */
async function round(
  deps: ExchangeChannelDeps,
  exchange: Exchange,
  progress: Progress,
): Promise<boolean> {
  const { store, clock } = deps;
  if (exchange.hasNews()) progress.unread = true;
  let more = false;
  if (progress.unread) {
    more = await importDocuments(deps, exchange, progress);
    if (progress.answers.length > 0) exchange.writeReceipts(progress.answers);
    progress.answers = [];
    if (!more) progress.isCaughtUp = true;
    const customers = await importCustomers(store, exchange, CUSTOMERS_PER_ROUND, clock.now());
    if (customers > 0) deps.onCustomers?.();
    progress.unread = more || customers > 0;
    more = progress.unread;
  }
  const published = progress.isCaughtUp ? await publishReceipts(deps, exchange, progress) : 0;
  if (published === RECEIPTS_PER_ROUND) more = true;
  if (clock.monotonic() >= progress.forgetAt) {
    const before = (await trustedNow(deps)) - deps.keepMs;
    const keys = await forgetKeys(store, before);
    const forgotten = exchange.forget(isoTime(before), FORGET_PER_ROUND);
    if (Math.max(keys, forgotten) < FORGET_PER_ROUND)
      progress.forgetAt = clock.monotonic() + FORGET_EVERY_MS;
  }
  return more;
}

interface Opened {
  readonly exchange: Exchange;
  readonly progress: Progress;
}

/** A worker: serves the exchange database until the signal aborts. */
export function createExchangeChannel(deps: ExchangeChannelDeps) {
  const { store, path, clock, log } = deps;

  const open = async (): Promise<Opened> => {
    // Before it is there: a try that fails behind that would find it, and take it for an old one.
    if (isWithoutContent(path)) await writeState(store.db, NEW_FILE_KEY, 'yes', clock);
    const exchange = openExchange(path, clock);
    try {
      await catchUp(deps, exchange);
      const none = { takenTo: 0, answers: [], told: undefined, forgetAt: 0 };
      return { exchange, progress: { unread: true, isCaughtUp: false, ...none } };
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
      try {
        while (!signal.aborted) {
          let waitMs = LOOK_MS;
          try {
            opened ??= await open();
            if (await round(deps, opened.exchange, opened.progress)) waitMs = 0;
            failingSince = undefined;
          } catch (error) {
            if (!(error instanceof RetryLaterError) || error.code !== 'exchange.busy') throw error;
            failingSince ??= clock.monotonic();
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
