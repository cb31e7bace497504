/**
 * The queue: reads and moves outbox rows for the dispatcher. Every step is one transaction that
 * also writes its attempt. The allowed transitions are a table in the database, so that a mistake
 * here aborts instead of sending something twice. A row that somebody else moved meanwhile (a
 * person canceled it) is left as it is.
 */
import { sql } from 'kysely';
import { parseJsonObject } from '../lib/json.ts';
import { inKeys, insertRow, updateRows } from '../store/bulk.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import type { OutboxState } from '../store/tables.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { readResult } from './document-state.ts';
import type { Cleared, FlightProblem, OutboxItem } from './item.ts';

const COLUMNS = [
  'outbox_id as outboxId',
  'kind',
  'ordering_key as orderingKey',
  'reference',
  'body',
  'expected_from as expectedFrom',
  'state',
  'attempts',
  'result',
  'in_doubt_since as inDoubtSince',
  'created_at as createdAt',
] as const;

export interface Excluded {
  readonly busy: ReadonlySet<string>;
  /**
   * Paused kinds with their reasons. Rows that wait for this very reason were checked already and
   * are not taken; they are due at once when the pause is over.
   */
  readonly paused: ReadonlyMap<string, string>;
}

/**
 * Sort of work on a row. Lookups of unknown outcomes have slots of their own, so that neither
 * lookups nor pushes wait for the other.
 */
export type Work = 'lookup' | 'send';

/** Rows that a search gives at most: the first ones fill all slots. */
const ROWS_MAX = 256;

/**
 * Makes the search of rows that a slot may take: the first open row of each ordering key, unless a
 * person has to decide about it.
 */
function searchFor(work: Work | 'any') {
  return kept((db: Db, busy: Value<string>, paused: Value<string>) =>
    db
      .selectFrom('outbox as o')
      .select(COLUMNS.map((column) => `o.${column}` as const))
      .select('o.due_at')
      .where('o.ended_at', 'is', null)
      .where('o.blocked_reason', 'is', null)
      .where('o.state', '!=', 'sending')
      .$if(work !== 'any', (rows) =>
        rows.where('o.state', work === 'lookup' ? '=' : '!=', 'in_doubt'),
      )
      .where((eb) => eb.not(inKeys('o.ordering_key', busy)))
      .where(
        sql<boolean>`(o.state <> 'queued' or (o.kind, coalesce(o.last_error, '')) not in (
          select value ->> 0, value ->> 1 from json_each(${paused})))`,
      )
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('outbox as before')
              .select('before.outbox_id')
              .whereRef('before.ordering_key', '=', 'o.ordering_key')
              .whereRef('before.outbox_id', '<', 'o.outbox_id')
              .where('before.ended_at', 'is', null),
          ),
        ),
      )
      .orderBy('o.due_at')
      .orderBy('o.outbox_id')
      .limit(ROWS_MAX),
  );
}

const SEARCHES = { any: searchFor('any'), lookup: searchFor('lookup'), send: searchFor('send') };

/** Pushes that wait for a sort of work. */
export interface Waiting {
  /** The rows that are due, the first of them first. */
  readonly due: OutboxItem[];
  /** When the next one is due, in epoch milliseconds; infinite: none waits. */
  readonly nextAt: number;
  /** Whether there may be more that are due. */
  readonly areMore: boolean;
}

/** Reads the first of the rows that wait for this work. */
export async function waitingFor(
  db: Db,
  work: Work | 'any',
  now: number,
  { busy, paused }: Excluded,
): Promise<Waiting> {
  const rows = await SEARCHES[work](db, JSON.stringify([...busy]), JSON.stringify([...paused]));
  const due = rows.filter((row) => row.due_at <= now);
  return {
    due: due.map(({ due_at: _, body, ...row }) => ({ ...row, body: parseJsonObject(body) })),
    nextAt: rows[due.length]?.due_at ?? Number.POSITIVE_INFINITY,
    areMore: due.length === ROWS_MAX,
  };
}

/** The sort of work that a row waits for. */
export function workOf({ state }: Pick<OutboxItem, 'state'>): Work {
  return state === 'in_doubt' ? 'lookup' : 'send';
}

/**
 * Marks rows that a stop or a failure interrupted while they were sent: their requests may or may
 * not have arrived. Call it while nothing is being sent. Returns the number of rows.
 */
export async function markInterruptedAsUnknown(store: Store, now: number): Promise<number> {
  return store.transaction(async (tx) => {
    const rows = await tx
      .updateTable('outbox')
      .set({ state: 'in_doubt', in_doubt_since: now, due_at: now })
      .where('state', '=', 'sending')
      // This condition follows from the state; with it SQLite can use a partial index.
      .where('ended_at', 'is', null)
      .returning('outbox_id')
      .execute();
    for (const row of rows) {
      await tx
        .updateTable('outbox_attempt')
        .set({ ended_at: now, class: 'interrupted' })
        .where('outbox_id', '=', row.outbox_id)
        .where('ended_at', 'is', null)
        .execute();
    }
    return rows.length;
  });
}

export interface Change {
  readonly due_at?: number;
  readonly in_doubt_since?: number | null;
  readonly ended_at?: number | null;
  readonly result?: string | null;
  readonly last_error?: string | null;
  readonly blocked_reason?: string | null;
  readonly problems?: string;
  readonly order_id?: number | null;
  readonly shown_reference?: string | null;
  readonly attempts?: number;
}

/** Moves rows from the state `from` to another one; returns how many were still in it. */
export async function moveAll(
  tx: Tx,
  outboxIds: readonly number[],
  from: OutboxState,
  state: OutboxState,
  change: Change,
): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('outbox')
    .set({ state, ...change })
    .where(inKeys('outbox_id', outboxIds))
    .where('state', '=', from)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/**
 * Moves a row to another state, if it is still the document that was read, in the state in which it
 * was read. A correction is another document in the same row, with a later time of creation.
 */
export async function move(
  tx: Tx,
  { outboxId, state: from, createdAt }: Pick<OutboxItem, 'outboxId' | 'state' | 'createdAt'>,
  state: OutboxState,
  change: Change,
): Promise<boolean> {
  const where = { outbox_id: outboxId, state: from, created_at: createdAt };
  return (await updateRows(tx, 'outbox', { state, ...change }, where)) > 0;
}

/**
 * Makes the state `sending` and the attempt durable before the first byte is sent. Undefined: the
 * row was moved or paused meanwhile and must not be sent.
 */
export async function markSending(
  store: Store,
  item: OutboxItem,
  { baseline, warnings, orderId }: Cleared,
  { now, isPaused }: { readonly now: number; readonly isPaused: () => boolean },
): Promise<number | undefined> {
  const attempt = item.attempts + 1;
  return store.transaction(async (tx) => {
    if (isPaused()) return undefined;
    const isOurs = await move(tx, item, 'sending', {
      attempts: attempt,
      problems: JSON.stringify(warnings),
      ...(orderId === undefined ? {} : { order_id: orderId }),
    });
    if (!isOurs) return undefined;
    await insertRow(tx, 'outbox_attempt', {
      outbox_id: item.outboxId,
      attempt,
      started_at: now,
      max_order_id_before: baseline.maxOrderIdBefore ?? null,
      count_before: baseline.countBefore ?? null,
      ended_at: null,
      class: null,
      http_status: null,
      error_code: null,
      answer: null,
    });
    return attempt;
  });
}

/**
 * Class of an attempt's end. `conflict`: the state at the service forbids the push (409); a lookup
 * reads that state.
 */
export type AttemptClass = 'done' | 'not_processed' | 'refused' | 'conflict' | 'ambiguous';

export interface AttemptEnd {
  readonly attempt: number;
  readonly class: AttemptClass;
  /** HTTP status of the answer; null: none came. */
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly answer: string;
  readonly problems: readonly FlightProblem[];
  readonly write?: ((tx: Tx) => Promise<void>) | undefined;
}

const STATE_AFTER: Readonly<Record<AttemptClass, OutboxState>> = {
  done: 'sent',
  not_processed: 'queued',
  refused: 'refused',
  conflict: 'in_doubt',
  ambiguous: 'in_doubt',
};

export async function endAttempt(
  store: Store,
  item: OutboxItem,
  end: AttemptEnd,
  now: number,
  dueAt: number,
): Promise<OutboxState> {
  const state = STATE_AFTER[end.class];
  const isDone = end.class === 'done';
  // The order's id is stored with the answer: its deliveries are held until the order is read back.
  const orderId = isDone && item.kind === 'order' ? readResult(end.answer).orderId : undefined;
  await store.transaction(async (tx) => {
    const answered = {
      ended_at: now,
      class: end.class,
      http_status: end.httpStatus,
      error_code: end.errorCode,
      answer: end.answer,
    };
    const own = { outbox_id: item.outboxId };
    await updateRows(tx, 'outbox_attempt', answered, { ...own, attempt: end.attempt });
    const change: Change = {
      due_at: dueAt,
      last_error: isDone ? null : end.answer,
      ...(isDone ? { result: end.answer } : {}),
      ...(orderId ? { order_id: orderId } : {}),
      ...(state === 'in_doubt' ? { in_doubt_since: now } : {}),
      ...(end.class === 'refused' ? { ended_at: now } : {}),
      ...(end.problems.length > 0 ? { problems: JSON.stringify(end.problems) } : {}),
    };
    // A row that is being sent is never corrected, and a clock step may move its time of creation.
    await updateRows(tx, 'outbox', { state, ...change }, { ...own, state: 'sending' });
    await end.write?.(tx);
  });
  return state;
}

/**
 * Time since when a row may have had an effect and is looked up; infinite for one that was not
 * sent.
 */
export async function openSince(db: Db, { outboxId, state, ...item }: OutboxItem): Promise<number> {
  if (state !== 'sent') return item.inDoubtSince ?? Number.POSITIVE_INFINITY;
  const last = await db
    .selectFrom('outbox_attempt')
    .select((eb) => eb.fn.max('ended_at').as('at'))
    .where('outbox_id', '=', outboxId)
    .executeTakeFirst();
  return last?.at ?? Number.POSITIVE_INFINITY;
}

export async function postpone(
  store: Store,
  item: OutboxItem,
  dueAt: number,
  error: string | null,
): Promise<void> {
  await store.transaction(async (tx) => {
    await move(tx, item, item.state, { due_at: dueAt, last_error: error });
  });
}
