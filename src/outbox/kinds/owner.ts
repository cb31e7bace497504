/** Which other document of ours something at the service belongs to: taken for two, one is lost. */
import type { Store } from '../../store/store.ts';
import { readResult } from '../document-state.ts';
import { referenceKey } from '../documents.ts';
import type { OutboxItem } from '../item.ts';

export interface Owner {
  readonly outboxId: number;
  readonly reference: string;
}

/** The other one with this reference: what carries it is what that one has become. */
export async function ownerOf(
  { db }: Store,
  { kind, outboxId }: OutboxItem,
  reference: string | null | undefined,
): Promise<Owner | undefined> {
  return db
    .selectFrom('outbox')
    .select(['outbox_id as outboxId', 'reference'])
    .where('kind', '=', kind)
    .where('reference_key', '=', referenceKey(reference ?? ''))
    .where('outbox_id', '!=', outboxId)
    .executeTakeFirst();
}

/** What other documents of this order have become, by the id of the pending refund. */
export async function claimed(
  { db }: Store,
  { outboxId, orderingKey }: OutboxItem,
): Promise<ReadonlyMap<unknown, Owner>> {
  const others = await db
    .selectFrom('outbox')
    .select(['outbox_id as outboxId', 'reference', 'result'])
    .where('ordering_key', '=', orderingKey)
    .where('kind', '=', 'pending_refund')
    .where('outbox_id', '!=', outboxId)
    .where('state', '!=', 'canceled')
    .execute();
  return new Map(others.map((one) => [readResult(one.result).pendingRefundId, one]));
}
