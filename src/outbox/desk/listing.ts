/** Outbox rows for people and programs: lists, and one row with all that is known about it. */
import { type JsonObject, parseJsonObject, tryParseJson } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';
import type { OutboxState } from '../../store/tables.ts';
import { type Revision, revisionsOf } from '../corrections.ts';
import { type DocumentState, stateOf } from '../document-state.ts';
import { referenceKey } from '../documents.ts';
import { type Lost, readLost } from '../watch/lost.ts';
import { candidatesIn } from './candidates.ts';
import { fits, type RowFilter } from './selection.ts';

export interface ListFilter extends RowFilter {
  /** Only what has not ended. */
  readonly open?: boolean | undefined;
  readonly reference?: string | undefined;
  readonly outboxId?: number | undefined;
  readonly limit: number;
}

export interface OutboxRow {
  readonly outboxId: number;
  readonly kind: string;
  readonly reference: string;
  readonly state: OutboxState;
  readonly createdAt: number;
  readonly attempts: number;
  readonly orderId: number | null;
  readonly dueAt: number;
  readonly deskReason: string | null;
  readonly lastError: string | null;
  /** An order that was confirmed and is at the service no more. */
  readonly lost: Lost | null;
}

/** The newest rows that fit the filter. */
export async function listOutbox(db: Db, filter: ListFilter): Promise<OutboxRow[]> {
  let query = db
    .selectFrom('outbox')
    .selectAll()
    .where(fits(filter))
    .orderBy('outbox_id', 'desc')
    .limit(filter.limit);
  const { reference, outboxId } = filter;
  if (outboxId !== undefined) query = query.where('outbox_id', '=', outboxId);
  if (filter.open === true) query = query.where('ended_at', 'is', null);
  if (reference !== undefined) {
    query = query.where((eb) =>
      eb.or([eb('reference_key', '=', referenceKey(reference)), eb('reference', '=', reference)]),
    );
  }
  const rows = await query.execute();
  const ids = rows.map(({ outbox_id }) => outbox_id);
  const lost = await readLost(db, ids);
  return rows.map((row) => ({
    outboxId: row.outbox_id,
    kind: row.kind,
    reference: row.reference,
    state: row.state,
    createdAt: row.created_at,
    attempts: row.attempts,
    orderId: row.order_id,
    dueAt: row.due_at,
    deskReason: row.desk_reason,
    lastError: row.last_error,
    lost: lost.get(row.outbox_id) ?? null,
  }));
}

interface Attempt {
  readonly attempt: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly class: string | null;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly answer: string | null;
  readonly maxOrderIdBefore: number | null;
  readonly countBefore: number | null;
}

interface Evidence {
  readonly at: number;
  readonly source: string;
  readonly found: string;
  readonly complete: boolean;
  readonly detail: unknown;
}

/** An order of the service that may be what the document became. */
interface Candidate {
  readonly orderId: number;
  readonly orderNo: string | null;
  readonly reference: string | null;
  readonly createdAt: number | null;
  readonly currency: string | null;
  readonly lines: readonly {
    readonly barcode: string | null;
    readonly quantity: number | null;
    readonly price: number | null;
  }[];
}

export interface OutboxCard extends DocumentState {
  readonly cause: string;
  readonly lane: string;
  readonly dueAt: number;
  readonly inDoubtSince: number | null;
  readonly document: JsonObject;
  readonly attemptLog: readonly Attempt[];
  readonly evidence: readonly Evidence[];
  /** The other side, as the mirror has it. */
  readonly candidates: readonly Candidate[];
  /** What the document said before it was corrected. */
  readonly revisions: readonly Revision[];
}

async function attemptsOf(db: Db, outboxId: number): Promise<Attempt[]> {
  const rows = await db
    .selectFrom('outbox_attempt')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .orderBy('attempt')
    .execute();
  return rows.map((row) => ({
    attempt: row.attempt,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    class: row.class,
    httpStatus: row.http_status,
    errorCode: row.error_code,
    answer: row.answer,
    maxOrderIdBefore: row.max_order_id_before,
    countBefore: row.count_before,
  }));
}

async function candidatesOf(db: Db, ids: readonly number[]): Promise<Candidate[]> {
  const orders = await db
    .selectFrom('sales_order')
    .select(['order_id', 'order_no', 'reference', 'created_at', 'currency'])
    .where(inKeys('order_id', ids))
    .orderBy('order_id')
    .execute();
  const lines = await db
    .selectFrom('sales_order_line')
    .select(['order_id', 'barcode', 'quantity', 'price'])
    .where(inKeys('order_id', ids))
    .orderBy('line_no')
    .execute();
  return orders.map((row) => ({
    orderId: row.order_id,
    orderNo: row.order_no,
    reference: row.reference,
    createdAt: row.created_at,
    currency: row.currency,
    lines: lines
      .filter((line) => line.order_id === row.order_id)
      .map(({ barcode, quantity, price }) => ({
        ...{ barcode, quantity, price: price === null ? null : decimalOf(price) },
      })),
  }));
}

/** Everything that is known about a row; undefined when there is none. */
export async function showOutbox(db: Db, outboxId: number): Promise<OutboxCard | undefined> {
  const row = await db
    .selectFrom('outbox')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .executeTakeFirst();
  if (!row) return undefined;
  const state = await stateOf(db, row);
  const found = await db
    .selectFrom('outbox_evidence')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .orderBy('id')
    .execute();
  const ids = candidatesIn(found.map(({ detail }) => detail));
  const orderIds = state.orderId === null ? ids.orderIds : [...ids.orderIds, state.orderId];
  return {
    ...state,
    cause: row.cause,
    lane: row.lane,
    dueAt: row.due_at,
    inDoubtSince: row.in_doubt_since,
    document: parseJsonObject(row.body),
    attemptLog: await attemptsOf(db, outboxId),
    evidence: found.map(({ at, source, found: what, complete, detail }) => ({
      ...{ at, source, found: what, complete: complete === 1, detail: tryParseJson(detail) },
    })),
    candidates: await candidatesOf(db, [...new Set(orderIds)]),
    revisions: await revisionsOf(db, outboxId),
  };
}
