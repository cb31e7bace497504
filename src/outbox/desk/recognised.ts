/** What follows from an order that a person has recognised as a document, as the mirror has it. */
import { parseJsonObject } from '../../lib/json.ts';
import type { Tx } from '../../store/store.ts';
import { newOrderOf, readBody } from '../documents.ts';
import { learnSpelling } from '../evidence/known-spellings.ts';
import { mirroredOrder } from '../evidence/mirrored.ts';
import { seasonsShown } from '../evidence/seasons.ts';
import { compareOrder, tellOrder } from '../kinds/compare.ts';
import { tellDifferences } from '../watch/differences.ts';
import type { DeskRow } from './selection.ts';

/**
 * Teaches how references are shown, unless it has other pieces; and holds its deliveries where it
 * was taken in otherwise than it was sent. Differences that change no goods the person has seen.
 */
export async function noteRecognised(
  tx: Tx,
  row: Pick<DeskRow, 'outboxId' | 'kind' | 'reference'>,
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
  const told = tellOrder(found, sent, await seasonsShown(tx));
  const { isSeasonUnseen } = found;
  if (told.holds) await tellDifferences(tx, row, { ...told, orderId, isSeasonUnseen }, now);
}
