/**
 * Incidents (`push_differs`) about documents that the service does not have as they were sent. An
 * incident ends when the mirror shows the document as sent, or when a person notes the difference
 * (`outbox resolve --as noted`).
 */

import { z } from 'zod';
import { parseJsonObject, tryParseJson } from '../../lib/json.ts';
import { openIncident } from '../../store/incidents.ts';
import type { Db, Tx } from '../../store/store.ts';
import { readResult } from '../document-state.ts';
import { newOrderOf, newPendingRefundOf, readBody } from '../documents.ts';
import { compareOrder, comparePendingRefund, describeOrder } from '../evidence/compare.ts';
import {
  isOurs,
  isRefundReference,
  knownSpellings,
  orderReferences,
} from '../evidence/known-spellings.ts';
import { mirroredOrder, mirroredPendingRefund } from '../evidence/mirrored.ts';
import { seasonsShown } from '../evidence/seasons.ts';
import type { OutboxItem } from '../item.ts';

/** Kind of these incidents; the key of each is the outbox id. */
export const DIFFERENCE = { kind: 'push_differs', entity: 'outbox' } as const;

const INCIDENTS_MAX = 200;

interface Pushed {
  readonly kind: string;
  readonly reference: string;
  readonly body: string;
  readonly result: string | null;
}

/**
 * Whether the mirror shows the document as sent; members that the mirror does not have are ignored.
 */
async function isAsSent(db: Db, { kind, reference, body, result }: Pushed): Promise<boolean> {
  const document = parseJsonObject(body);
  const { orderId, pendingRefundId } = readResult(result);
  const known = await knownSpellings(db, kind);
  if (kind === 'order' && orderId) {
    const shown = await mirroredOrder(db, orderId);
    const sent = newOrderOf(reference, readBody.order(document));
    if (!shown || !isOurs(known, reference, shown.reference)) return false;
    const seasons = await seasonsShown(db);
    return describeOrder(compareOrder(sent, shown), sent, seasons).differences.length === 0;
  }
  if (kind === 'pending_refund' && pendingRefundId) {
    const shown = await mirroredPendingRefund(db, pendingRefundId);
    const sent = newPendingRefundOf(reference, readBody.pendingRefund(document));
    const references = { known, ofOrder: await orderReferences(db, orderId ?? 0) };
    if (!isRefundReference(references, reference, shown.reference)) return false;
    return comparePendingRefund(sent, shown).length === 0;
  }
  return false;
}

interface Difference {
  readonly orderId: unknown;
  readonly differences: readonly string[];
  readonly holds: boolean;
  readonly isSeasonUnseen: boolean;
}

/** Opens an incident about differences: nothing is sent again, but a person should know. */
export async function reportDifferences(
  tx: Tx,
  { outboxId, kind, reference }: Pick<OutboxItem, 'outboxId' | 'kind' | 'reference'>,
  { orderId, differences, holds, isSeasonUnseen }: Difference,
  now: number,
): Promise<void> {
  const resolve = `selvedge outbox resolve ${outboxId} --as noted --reason "…"`;
  const compare = `compare: selvedge outbox show ${outboxId}`;
  const held = holds ? '; until then its deliveries are not accepted' : '';
  const isLearned = isSeasonUnseen && (await seasonsShown(tx)) === 'unknown';
  // Two notes teach the whole account that the service shows no pre-orders.
  const twice = isLearned ? ' (said of two, no further pre-order is held for this)' : '';
  const hint = `${compare}; then: ${resolve}${twice}${held}`;
  const detail = { kind, reference, orderId, differences, holds, isSeasonUnseen, hint };
  await openIncident(tx, { ...DIFFERENCE, key: String(outboxId), detail }, now);
}

const detailSchema = z.object({ isSeasonUnseen: z.boolean() });

/** Whether the open incident is about a pre-order that is shown as a plain order. */
export async function isSeasonUnseen(tx: Tx, outboxId: number): Promise<boolean> {
  const row = await tx
    .selectFrom('incident')
    .select('detail')
    .where('kind', '=', DIFFERENCE.kind)
    .where('entity', '=', DIFFERENCE.entity)
    .where('key', '=', String(outboxId))
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  const parsed = detailSchema.safeParse(tryParseJson(row?.detail ?? ''));
  return parsed.success && parsed.data.isSeasonUnseen;
}

/** Lists the keys of open incidents whose differences are gone. */
export async function endedDifferences(db: Db): Promise<string[]> {
  const open = await db
    .selectFrom('incident')
    .select('key')
    .where('kind', '=', DIFFERENCE.kind)
    .where('resolved_at', 'is', null)
    .limit(INCIDENTS_MAX)
    .execute();
  const ended: string[] = [];
  for (const { key } of open) {
    const row = await db
      .selectFrom('outbox')
      .select(['kind', 'reference', 'body', 'result'])
      .where('outbox_id', '=', Number(key))
      .executeTakeFirst();
    if (row && (await isAsSent(db, row))) ended.push(key);
  }
  return ended;
}
