/**
 * The outbox's rows and their ways between states. Every step is one transaction that also
 * writes its attempt or its evidence; the allowed ways are a table in the database, so that a
 * mistake here aborts instead of sending something twice.
 */
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import type { OutboxState } from '../store/tables.ts';
import type { Finding, OutboxItem } from './item.ts';

const COLUMNS = [
  'outbox_id',
  'kind',
  'lane',
  'reference',
  'body',
  'expected_from',
  'state',
  'attempts',
  'result',
  'cause',
] as const;

function bodyOf(text: string): JsonObject {
  const body: unknown = JSON.parse(text);
  return isJsonObject(body) ? JSON.parse(text) : {};
}

/** The first open row of each lane: what is behind it waits, however long it has been due. */
function firstOfLanes(db: Db) {
  return db.selectFrom('outbox').where('outbox_id', 'in', (eb) =>
    eb
      .selectFrom('outbox as first')
      .select((inner) => inner.fn.min('first.outbox_id').as('outbox_id'))
      .where('first.ended_at', 'is', null)
      .groupBy('first.lane'),
  );
}

/** The first open row of each lane, if it is due; lanes in `busy` are left out. */
export async function dueItems(
  db: Db,
  now: number,
  busy: ReadonlySet<string>,
  limit: number,
): Promise<OutboxItem[]> {
  const rows = await firstOfLanes(db)
    .select(COLUMNS)
    .where('state', '!=', 'sending')
    .where('due_at', '<=', now)
    .where('lane', 'not in', [...busy])
    .orderBy('outbox_id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    outboxId: row.outbox_id,
    kind: row.kind,
    lane: row.lane,
    reference: row.reference,
    body: bodyOf(row.body),
    expectedFrom: row.expected_from,
    state: row.state,
    attempts: row.attempts,
    answered: row.result !== null,
    cause: row.cause,
  }));
}

/** When the next row that could be worked on falls due. */
export async function nextDueAt(db: Db, busy: ReadonlySet<string>): Promise<number | undefined> {
  const row = await firstOfLanes(db)
    .select((eb) => eb.fn.min('due_at').as('due_at'))
    .where('state', '!=', 'sending')
    .where('lane', 'not in', [...busy])
    .executeTakeFirst();
  return row?.due_at ?? undefined;
}

/**
 * After a stop or a failure: whatever was on its way may or may not have arrived. Call it while
 * nothing is being sent. Gives the number of rows it put in doubt.
 */
export async function doubtWhatWasSending(store: Store, now: number): Promise<number> {
  return store.transaction(async (tx) => {
    const rows = await tx
      .updateTable('outbox')
      .set({ state: 'in_doubt', in_doubt_since: now, due_at: now })
      .where('state', '=', 'sending')
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

async function move(
  tx: Tx,
  item: OutboxItem,
  state: OutboxState,
  more: {
    readonly due_at?: number;
    readonly in_doubt_since?: number | null;
    readonly ended_at?: number;
    readonly result?: string;
    readonly last_error?: string | null;
  },
): Promise<void> {
  await tx
    .updateTable('outbox')
    .set({ state, ...more })
    .where('outbox_id', '=', item.outboxId)
    .execute();
}

/** Written and durable before the first byte leaves. */
export async function markSending(store: Store, item: OutboxItem, now: number): Promise<number> {
  const attempt = item.attempts + 1;
  await store.transaction(async (tx) => {
    const newest = await tx
      .selectFrom('sales_order')
      .select((eb) => eb.fn.max('order_id').as('order_id'))
      .executeTakeFirst();
    await move(tx, item, 'sending', {});
    await tx
      .updateTable('outbox')
      .set({ attempts: attempt })
      .where('outbox_id', '=', item.outboxId)
      .execute();
    await tx
      .insertInto('outbox_attempt')
      .values({
        outbox_id: item.outboxId,
        attempt,
        started_at: now,
        max_order_id_before: newest?.order_id ?? null,
        ended_at: null,
        class: null,
        http_status: null,
        error_code: null,
        answer: null,
      })
      .execute();
  });
  return attempt;
}

/** `conflict`: the state at the service forbids it (409); a look tells what that state is. */
export type AttemptClass = 'done' | 'not_processed' | 'refused' | 'conflict' | 'ambiguous';

export interface AttemptEnd {
  readonly attempt: number;
  readonly class: AttemptClass;
  readonly errorCode: string | null;
  /** What the service answered, or the error's own words. */
  readonly answer: string;
}

const STATE_AFTER: Readonly<Record<AttemptClass, OutboxState>> = {
  done: 'sent',
  not_processed: 'queued',
  refused: 'refused',
  conflict: 'in_doubt',
  ambiguous: 'in_doubt',
};

/** Records how an attempt ended and moves the row accordingly. */
export async function endAttempt(
  store: Store,
  item: OutboxItem,
  end: AttemptEnd,
  now: number,
  dueAt: number,
): Promise<void> {
  await store.transaction(async (tx) => {
    await tx
      .updateTable('outbox_attempt')
      .set({ ended_at: now, class: end.class, error_code: end.errorCode, answer: end.answer })
      .where('outbox_id', '=', item.outboxId)
      .where('attempt', '=', end.attempt)
      .execute();
    await move(tx, item, STATE_AFTER[end.class], {
      due_at: dueAt,
      last_error: end.class === 'done' ? null : end.answer,
      ...(end.class === 'done' ? { result: end.answer } : {}),
      ...(STATE_AFTER[end.class] === 'in_doubt' ? { in_doubt_since: now } : {}),
      ...(end.class === 'refused' ? { ended_at: now } : {}),
    });
  });
}

export interface Settled {
  readonly state: OutboxState;
  /** Nothing more will be done about it. */
  readonly ended: boolean;
  readonly reason: string | undefined;
}

const PUT_BACK = 'the service took it and shows the status of before: somebody put it back';

export interface Again {
  readonly attemptsMax: number;
  /** Until the next look or attempt. */
  readonly waitMs: number;
  /** A 409 after which the effect is provably not there is the service's last word. */
  readonly conflictEnds: boolean;
}

function lastAttempt(tx: Tx, { outboxId }: OutboxItem) {
  return tx
    .selectFrom('outbox_attempt')
    .select(['class', 'answer'])
    .where('outbox_id', '=', outboxId)
    .orderBy('attempt', 'desc')
    .executeTakeFirst();
}

/** Where a finding leads. */
async function verdictOf(
  tx: Tx,
  item: OutboxItem,
  finding: Finding,
  { attemptsMax, conflictEnds }: Again,
): Promise<Settled> {
  if (finding.found === 'yes') return { state: 'confirmed', ended: true, reason: undefined };
  if (finding.found === 'overtaken') {
    return { state: 'refused', ended: true, reason: finding.reason };
  }
  // Looked at once more: an answer may come from a copy that lags behind.
  if (item.state === 'sent') return { state: 'in_doubt', ended: false, reason: undefined };
  if (item.answered) return { state: 'refused', ended: true, reason: PUT_BACK };
  if (conflictEnds && item.state === 'in_doubt') {
    const last = await lastAttempt(tx, item);
    const reason = last?.answer ?? 'its state forbids it';
    if (last?.class === 'conflict') return { state: 'refused', ended: true, reason };
  }
  const row = await tx
    .selectFrom('outbox_attempt')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('outbox_id', '=', item.outboxId)
    .where('class', '!=', 'not_processed')
    .executeTakeFirstOrThrow();
  const tried = Number(row.count);
  if (tried < attemptsMax) return { state: 'queued', ended: false, reason: undefined };
  return { state: 'dead', ended: true, reason: `tried ${tried} times without an effect` };
}

/**
 * Stores what was found and moves the row to where the finding leads: to its end, or to another
 * look or attempt after `waitMs`.
 */
export async function settle(
  store: Store,
  item: OutboxItem,
  finding: Finding,
  now: number,
  again: Again,
): Promise<Settled> {
  return store.transaction(async (tx) => {
    await tx
      .insertInto('outbox_evidence')
      .values({
        outbox_id: item.outboxId,
        at: now,
        source: 'look-up',
        found: finding.found === 'overtaken' ? 'unclear' : finding.found,
        detail: JSON.stringify(finding),
      })
      .execute();
    const settled = await verdictOf(tx, item, finding, again);
    const { state, ended, reason } = settled;
    // An answered push that was overtaken goes through doubt: no other way leads there.
    if (item.state === 'sent' && state === 'refused') {
      await move(tx, item, 'in_doubt', { in_doubt_since: now });
    }
    await move(tx, item, state, {
      in_doubt_since: state === 'in_doubt' ? now : null,
      ...(ended ? { ended_at: now, due_at: now } : { due_at: now + again.waitMs }),
      ...(reason === undefined ? {} : { last_error: reason }),
    });
    return settled;
  });
}

/** Puts a row off that could not be looked at or sent now. */
export async function postpone(
  store: Store,
  item: OutboxItem,
  dueAt: number,
  error: string,
): Promise<void> {
  await store.db
    .updateTable('outbox')
    .set({ due_at: dueAt, last_error: error })
    .where('outbox_id', '=', item.outboxId)
    .execute();
}
