/**
 * Checks a person's claim of what a document has become: the object must exist at the service, and
 * must not belong to another reference or document. Returns the ids that the outbox row stores as
 * its result.
 */
import { sql } from 'kysely';
import type { V1Client } from '../../client/v1/client.ts';
import type { V2Client } from '../../client/v2/client.ts';
import { RefusedError } from '../../lib/errors.ts';
import { type JsonObject, parseJsonObject } from '../../lib/json.ts';
import type { Store, Tx } from '../../store/store.ts';
import { newOrderOf, readBody } from '../documents.ts';
import { compareOrder, describeOrder } from '../evidence/compare.ts';
import { fitOf, knownSpellings, learnSpelling } from '../evidence/known-spellings.ts';
import { mirroredOrder } from '../evidence/mirrored.ts';
import { candidatesIn } from '../evidence/records.ts';
import { seasonsShown } from '../evidence/seasons.ts';
import { orderResult } from '../kinds/order.ts';
import { isRefunded, type ReadOrder, unlessGone } from '../service.ts';
import { reportDifferences } from '../watch/differences.ts';
import type { ReviewRow } from './selection.ts';

export interface ConfirmationDeps {
  readonly store: Store;
  readonly v1: Pick<V1Client, 'pendingRefund' | 'refunds'>;
  readonly v2: Pick<V2Client, 'resource'> | undefined;
  readonly readOrder: ReadOrder;
}

function wholeId(id: string | null, what: string): number {
  const whole = Number(id);
  if (id !== null && Number.isSafeInteger(whole) && whole > 0) return whole;
  throw new RefusedError('outbox.no_id', `which ${what} is it?`, {
    hint: `--as confirmed:<${what}Id>`,
  });
}

function missing({ outboxId }: ReviewRow, what: string): never {
  throw new RefusedError('outbox.not_there', `the service has no ${what}`, {
    hint: `see what it has: selvedge outbox show ${outboxId}; if it is none of these: --as absent`,
  });
}

/**
 * Refuses an order or refund with another reference as a slip of the person, unless this service
 * may show the document's reference like that, or a lookup has proposed this very object.
 */
async function requireReference(
  { db }: Store,
  row: ReviewRow,
  shown: string | null | undefined,
  id: number,
): Promise<void> {
  const fit = fitOf(await knownSpellings(db, row.kind), row.reference, shown ?? null);
  if (fit !== 'no') return;
  const lookups = await db
    .selectFrom('outbox_evidence')
    .select('detail')
    .where('outbox_id', '=', row.outboxId)
    .where('outcome', '=', 'ambiguous')
    .execute();
  const { orderIds, pendingRefundIds } = candidatesIn(lookups.map(({ detail }) => detail));
  if ((row.kind === 'order' ? orderIds : pendingRefundIds).includes(id)) return;
  const what = row.kind === 'order' ? `order ${id}` : `pending refund ${id}`;
  const text = `${what} has the reference ${shown}, not ${row.reference}`;
  throw new RefusedError('outbox.other_reference', text, {
    hint: 'name the one that carries our reference, or none: --as absent',
  });
}

/**
 * Member of the result that names the made object, by kind; a style may belong to two documents.
 */
const MADE_ID: Readonly<Record<string, string>> = {
  order: 'orderId',
  pending_refund: 'pendingRefundId',
};

/**
 * Stored answer of the service to the push. Together with a person's word it is enough when the
 * order cannot be read; without it the person could only claim an absence, which would be false.
 */
async function answerTo({ db }: Store, { outboxId }: ReviewRow): Promise<JsonObject> {
  const row = await db
    .selectFrom('outbox')
    .select('result')
    .where('outbox_id', '=', outboxId)
    .executeTakeFirst();
  return parseJsonObject(row?.result ?? '{}');
}

/** Refuses an id that belongs to another document: that document would lose its order or refund. */
export async function requireUnclaimed(
  db: Tx | Store['db'],
  row: ReviewRow,
  made: JsonObject,
): Promise<void> {
  const member = MADE_ID[row.kind];
  if (member === undefined) return;
  const id = Number(made[member]);
  const owner = await db
    .selectFrom('outbox')
    .select(['outbox_id', 'reference'])
    .where('kind', '=', row.kind)
    .where('outbox_id', '!=', row.outboxId)
    .where('state', '!=', 'canceled')
    .where(sql`result->>${`$.${member}`}`, '=', id)
    // The id of a lost order may belong to another order by now.
    .where('outbox_id', 'not in', (eb) => eb.selectFrom('outbox_lost').select('outbox_id'))
    .executeTakeFirst();
  if (!owner) return;
  const what = row.kind === 'order' ? 'order' : 'pending refund';
  const text = `${what} ${id} is what outbox ${owner.outbox_id} (${owner.reference}) has become`;
  throw new RefusedError('outbox.other_document', text, {
    hint: 'name the one that this document has become, or none: --as absent',
  });
}

export function createConfirmation({ store, v1, v2, readOrder }: ConfirmationDeps) {
  const signal = new AbortController().signal;
  const order = async (row: ReviewRow, id: string | null): Promise<JsonObject> => {
    const orderId = wholeId(id, 'order');
    const request = { cause: `outbox:${row.outboxId}`, priority: 'push', signal } as const;
    const read = await unlessGone(readOrder(orderId, request));
    if (!read) return missing(row, `order ${orderId}`);
    await requireReference(store, row, read.order.reference, orderId);
    return orderResult(orderId, read.order.orderNo, read.deliveries);
  };
  const pendingRefund = async (row: ReviewRow, id: string | null): Promise<JsonObject> => {
    const pendingRefundId = wholeId(id, 'pendingRefund');
    const known = await store.db
      .selectFrom('outbox')
      .select('order_id')
      .where('outbox_id', '=', row.outboxId)
      .executeTakeFirst();
    const orderId = known?.order_id;
    if (!orderId) return missing(row, 'order that this refund is known to belong to');
    const read = await unlessGone(v1.pendingRefund(orderId, pendingRefundId));
    if (!read && !(await isRefunded(v1, orderId, pendingRefundId, signal))) {
      return missing(row, `pending refund ${pendingRefundId} of order ${orderId}`);
    }
    if (read) await requireReference(store, row, read.value.reference, pendingRefundId);
    const cause = `outbox:${row.outboxId}`;
    await readOrder(orderId, { cause, priority: 'read', refunds: true, signal });
    return { orderId, pendingRefundId };
  };
  const read = async (row: ReviewRow, id: string | null): Promise<JsonObject> => {
    if (row.kind === 'order') return order(row, id);
    if (row.kind === 'pending_refund') return pendingRefund(row, id);
    if (row.kind !== 'style') return {};
    if (id === null) {
      throw new RefusedError('outbox.no_id', 'which style is it?', {
        hint: '--as confirmed:<styleId>',
      });
    }
    const style = v2 && (await unlessGone(v2.resource('style', id)));
    return style ? { styleId: style.value.id } : missing(row, `style ${id}`);
  };
  return async (row: ReviewRow, id: string | null): Promise<JsonObject> => {
    try {
      return await read(row, id);
    } catch (error) {
      if (error instanceof RefusedError) throw error;
      const answered = await answerTo(store, row);
      const member = MADE_ID[row.kind];
      if (member === undefined || String(answered[member]) !== id) throw error;
      return answered;
    }
  };
}

// Effects of a person's confirmation: the order was recognised as a document's.

/**
 * Learns from a recognised order how references are shown, unless its pieces differ; holds its
 * deliveries if a difference changes the goods. The person has seen all other differences.
 */
export async function noteRecognised(
  tx: Tx,
  row: Pick<ReviewRow, 'outboxId' | 'kind' | 'reference'>,
  orderId: number,
  now: number,
): Promise<void> {
  const { outboxId, kind, reference } = row;
  const own = await tx
    .selectFrom('outbox')
    .select('body')
    .where('outbox_id', '=', outboxId)
    .executeTakeFirst();
  const order = kind === 'order' ? await mirroredOrder(tx, orderId) : undefined;
  if (!own || !order) return;
  const sent = newOrderOf(reference, readBody.order(parseJsonObject(own.body)));
  const found = compareOrder(sent, order);
  if (found.lines.length === 0 || found.isPriceOnly) {
    const shown = order.reference ?? '';
    await tx
      .updateTable('outbox')
      .set({ shown_reference: shown })
      .where('outbox_id', '=', outboxId)
      .execute();
    await learnSpelling(tx, kind, { sent: reference, shown }, now);
  }
  const report = describeOrder(found, sent, await seasonsShown(tx));
  const { isSeasonUnseen } = found;
  if (report.holds && report.differences.length > 0)
    await reportDifferences(tx, row, { ...report, orderId, isSeasonUnseen }, now);
}
