/** A hold that has lasted its time and needs a person: an incident, open until it is over. */
import { endIncidents, openIncident } from '../../store/incidents.ts';
import type { Tx } from '../../store/store.ts';

const HOLD_EXPIRED = { kind: 'hold_expired', entity: 'delivery' } as const;

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
  const incident = { ...HOLD_EXPIRED, key: String(orderDeliveryId) };
  await openIncident(tx, { ...incident, detail: { reason, holds: detail } }, now);
}

export async function resolveEscalation(
  tx: Tx,
  ids: readonly number[],
  now: number,
): Promise<void> {
  await endIncidents(tx, HOLD_EXPIRED, ids.map(String), now);
}
