/** Manual decisions: after one, the rules leave the delivery alone until its lines change. */
import { canonicalJson, sha256 } from '../../lib/json.ts';
import type { Tx } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import type { Subject } from '../facts.ts';

/** Digest of the delivery's lines: barcodes, quantities and prices, in order. */
function linesHash({ facts }: Subject): string {
  const lines = facts.delivery.lines.map(({ barcode, quantity, price }) => [
    barcode,
    quantity,
    price,
  ]);
  return sha256(canonicalJson(lines));
}

/** Stores the manual decision together with the digest of the delivery's present lines. */
export async function writeReview(
  tx: Tx,
  subject: Subject,
  decision: Omit<Tables['review'], 'order_delivery_id' | 'lines_hash'>,
): Promise<void> {
  const row = { ...decision, lines_hash: linesHash(subject) };
  await tx
    .insertInto('review')
    .values({ order_delivery_id: subject.delivery.order_delivery_id, ...row })
    .onConflict((conflict) => conflict.column('order_delivery_id').doUpdateSet(row))
    .execute();
}

/**
 * Whether a person accepted, rejected, held or released the delivery and its lines are still the
 * same.
 */
export function hasManualDecision(subject: Subject): boolean {
  const { lines_hash: hash } = subject.past;
  return hash !== null && hash === linesHash(subject);
}
