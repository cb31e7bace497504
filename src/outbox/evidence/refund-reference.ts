/**
 * What the reference of a pending refund tells. Some services show that of the order in its place:
 * then it tells nothing, and the lines must.
 */
import { sql } from 'kysely';
import type { Db } from '../../store/store.ts';
import { type Fit, fitOf, type KnownSpellings } from './known-spellings.ts';
import { isPlausible } from './learn-spelling.ts';
import { foldReference } from './spelling.ts';

export interface RefundReferences {
  readonly known: KnownSpellings;
  /** References of the order itself, folded. */
  readonly ofOrder: ReadonlySet<string>;
}

export async function orderReferences(db: Db, orderId: number): Promise<ReadonlySet<string>> {
  const mirrored = await db
    .selectFrom('sales_order')
    .select('reference')
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  const own = await db
    .selectFrom('outbox')
    .select('reference')
    .where('order_id', '=', orderId)
    .where(sql<string>`+kind`, '=', 'order')
    .executeTakeFirst();
  const texts = [mirrored?.reference, own?.reference].map((text) => foldReference(text ?? ''));
  return new Set(texts.filter((text) => text !== ''));
}

export function refundFit(
  { known, ofOrder }: RefundReferences,
  sent: string,
  shown: string | null | undefined,
): Fit {
  if (ofOrder.has(foldReference(shown ?? ''))) return 'blank';
  return fitOf(known, sent, shown ?? null);
}

/** Whether what is shown may be how the service shows ours: then it is no difference. */
export function isRefundReference(
  references: RefundReferences,
  sent: string,
  shown: string | null | undefined,
): boolean {
  const isOurs = refundFit(references, sent, shown) !== 'no';
  return isOurs || isPlausible({ sent, shown: shown ?? '' });
}
