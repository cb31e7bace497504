/**
 * The queue of rejects: from the decision to reject until the delivery is rejected, or something
 * prevented it. An entry waits out its grace here, where everybody can see and stop it.
 */
import type { Tx } from '../../store/store.ts';

type EntryState = 'waiting' | 'pushing' | 'rejected' | 'stopped' | 'held' | 'withdrawn' | 'failed';
type EndState = Exclude<EntryState, 'waiting' | 'pushing'>;

interface End {
  readonly state: EndState;
  /** A person's name, or `daemon`. */
  readonly by: string;
  /** The rail that ended it, if one did. */
  readonly rail?: string;
  readonly detail: string;
  readonly at: number;
}

/** Ends the entry that waits for this delivery, if there is one. */
export async function endEntry(tx: Tx, orderDeliveryId: number, end: End): Promise<void> {
  const { state, by, rail = null, detail, at } = end;
  await tx
    .updateTable('reject_entry')
    .set({ state, rail, detail, ended_at: at, ended_by: by })
    .where('order_delivery_id', '=', orderDeliveryId)
    .where('state', '=', 'waiting')
    .execute();
}
