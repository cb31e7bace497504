/** A hold that has lasted its time and needs a person: an incident, open until it is over. */
import { inKeys } from '../../store/bulk.ts';
import type { Tx } from '../../store/store.ts';

const HOLD_EXPIRED = 'hold_expired';

interface Expired {
  readonly rule_id: string;
  readonly since: number;
  readonly expires_at: number;
}

/** Told once, however often the delivery is looked at. */
export async function escalate(
  tx: Tx,
  orderDeliveryId: number,
  holds: readonly Expired[],
  reason: string,
  now: number,
): Promise<void> {
  const detail = holds.map(({ rule_id: rule, since, expires_at: expiresAt }) => ({
    ...{ rule, since, expiresAt },
  }));
  await tx
    .insertInto('incident')
    .values({
      ...{ at: now, kind: HOLD_EXPIRED, entity: 'delivery', key: String(orderDeliveryId) },
      detail: JSON.stringify({ reason, holds: detail }),
      resolved_at: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function resolveEscalation(
  tx: Tx,
  ids: readonly number[],
  now: number,
): Promise<void> {
  await tx
    .updateTable('incident')
    .set({ resolved_at: now })
    .where('kind', '=', HOLD_EXPIRED)
    .where('entity', '=', 'delivery')
    .where(inKeys('key', ids.map(String)))
    .where('resolved_at', 'is', null)
    .execute();
}
