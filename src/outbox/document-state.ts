/**
 * What has become of a document, for receipts, HTTP answers and people: its state, what it made
 * at the service, what is wrong with it, and what to do next, in a sentence.
 */
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../lib/json.ts';
import type { Db, Tx } from '../store/store.ts';
import type { OutboxState, Tables } from '../store/tables.ts';
import { wasNeverSent } from './corrections.ts';
import type { FlightProblem } from './item.ts';
import { nextAction } from './next-action.ts';
import { waitingOf } from './waiting.ts';
import { describeLost, type Lost, readLost } from './watch/lost.ts';

export interface DocumentState {
  readonly outboxId: number;
  readonly kind: string;
  readonly reference: string;
  readonly state: OutboxState;
  /** Nothing more will happen by itself. */
  readonly ended: boolean;
  readonly createdAt: number;
  /** Epoch milliseconds; null while it is open. */
  readonly endedAt: number | null;
  readonly attempts: number;
  readonly orderId: number | null;
  readonly orderNo: string | null;
  /** Of the answer to the order (level 1.4.12), as they are now. */
  readonly deliveries: readonly {
    readonly orderDeliveryId: number;
    readonly deliveryNo: string | null;
    readonly status: string | null;
  }[];
  readonly pendingRefundId: number | null;
  readonly orderRefundId: number | null;
  readonly styleId: string | null;
  readonly problems: readonly FlightProblem[];
  /** What a person must decide about, when one must. */
  readonly deskReason: string | null;
  readonly lastError: string | null;
  /** An order that was confirmed and is at the service no more. */
  readonly lost: Lost | null;
  readonly nextAction: string;
}

const problemsSchema = z.array(
  z.object({ path: z.string(), message: z.string(), severity: z.enum(['error', 'warning']) }),
);

const resultSchema = z.object({
  orderId: z.int().nullish(),
  orderNo: z.string().nullish(),
  deliveries: z
    .array(
      z.object({
        orderDeliveryId: z.int(),
        deliveryNo: z.string().nullish(),
        status: z.string().nullish(),
      }),
    )
    .nullish(),
  pendingRefundId: z.int().nullish(),
  orderRefundId: z.int().nullish(),
  styleId: z.string().nullish(),
});

/** What an answer told, as far as it can be read; nothing for a row without an answer. */
export function readResult(text: string | null): z.output<typeof resultSchema> {
  const parsed = resultSchema.safeParse(text === null ? {} : tryParseJson(text));
  return parsed.success ? parsed.data : {};
}

function readProblems(text: string): readonly FlightProblem[] {
  const parsed = problemsSchema.safeParse(tryParseJson(text));
  return parsed.success ? parsed.data : [];
}

type Row = Selectable<Tables['outbox']>;

/** The refund that the service made of a pending one, once the mirror has it. */
async function refundOf(db: Db | Tx, pendingRefundId: number | null): Promise<number | null> {
  if (pendingRefundId === null) return null;
  const refund = await db
    .selectFrom('refund')
    .select('order_refund_id')
    .where('pending_refund_id', '=', pendingRefundId)
    .executeTakeFirst();
  return refund?.order_refund_id ?? null;
}

/** The answer's deliveries, with the status that the mirror knows by now. */
async function deliveriesOf(
  db: Db | Tx,
  told: NonNullable<z.output<typeof resultSchema>['deliveries']>,
): Promise<DocumentState['deliveries']> {
  if (told.length === 0) return [];
  const ids = told.map(({ orderDeliveryId }) => orderDeliveryId);
  const rows = await db
    .selectFrom('delivery')
    .select(['order_delivery_id', 'status'])
    .where('order_delivery_id', 'in', ids)
    .execute();
  const now = new Map(rows.map((row) => [row.order_delivery_id, row.status]));
  return told.map(({ orderDeliveryId, deliveryNo, status }) => ({
    orderDeliveryId,
    deliveryNo: deliveryNo ?? null,
    status: now.get(orderDeliveryId) ?? status ?? null,
  }));
}

/** The code of the service's refusal, where it was the service that refused. */
async function refusalOf(db: Db | Tx, { outbox_id, state }: Row) {
  if (state !== 'refused') return null;
  const last = await db
    .selectFrom('outbox_attempt')
    .select(['class', 'error_code'])
    .where('outbox_id', '=', outbox_id)
    .orderBy('attempt', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last?.class === 'refused' ? last.error_code : null;
}

async function lostOf(db: Db | Tx, { outbox_id, kind, state }: Row): Promise<Lost | null> {
  if (kind !== 'order' || state !== 'confirmed') return null;
  return (await readLost(db, [outbox_id])).get(outbox_id) ?? null;
}

function lostProblems(lost: Lost | null): FlightProblem[] {
  return lost ? [{ path: '', message: describeLost(lost), severity: 'error' }] : [];
}

/** Whether it was taken in otherwise than it was sent, and nobody has noted that. */
async function differs(db: Db | Tx, { outbox_id, state }: Row): Promise<boolean> {
  if (state !== 'confirmed') return false;
  const incident = await db
    .selectFrom('incident')
    .select('id')
    .where('kind', '=', 'push_differs')
    .where('entity', '=', 'outbox')
    .where('key', '=', String(outbox_id))
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  return incident !== undefined;
}

export async function stateOf(db: Db | Tx, row: Row): Promise<DocumentState> {
  const result = readResult(row.result);
  const pendingRefundId = result.pendingRefundId ?? null;
  const orderRefundId = result.orderRefundId ?? (await refundOf(db, pendingRefundId));
  const orderId = result.orderId ?? row.order_id;
  const { kind, reference, state, attempts } = row;
  const lost = await lostOf(db, row);
  return {
    ...{ outboxId: row.outbox_id, kind, reference, state, attempts, orderId },
    ended: row.ended_at !== null,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    orderNo: result.orderNo ?? null,
    deliveries: await deliveriesOf(db, result.deliveries ?? []),
    ...{ pendingRefundId, orderRefundId },
    styleId: result.styleId ?? null,
    problems: [...readProblems(row.problems), ...lostProblems(lost)],
    lost,
    deskReason: row.desk_reason,
    lastError: row.last_error,
    nextAction: nextAction({
      ...{ outboxId: row.outbox_id, kind, state, lastError: row.last_error },
      ...{ deskReason: row.desk_reason, pendingRefundId, orderRefundId },
      refusedWith: await refusalOf(db, row),
      lost: lost && describeLost(lost),
      neverSent: await wasNeverSent(db, row.outbox_id),
      waiting: await waitingOf(db, row),
      differs: await differs(db, row),
    }),
  };
}

/** Undefined when there is no such row. */
export async function documentState(
  db: Db | Tx,
  outboxId: number,
): Promise<DocumentState | undefined> {
  const row = await db
    .selectFrom('outbox')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .executeTakeFirst();
  return row && stateOf(db, row);
}
