/**
 * State of a delivery in words: its status, or its latest decision while it is pending. A decision
 * reads as done only once the service has confirmed its push; before that it is being sent.
 */
import { wordFor } from '../../config/words.ts';
import { statusWord } from '../../mirror/sales-order.ts';

export interface Decided {
  /** Status in the mirror, as the service showed it last. */
  readonly status: string;
  /** Whether it has a tracking number. */
  readonly shipped: boolean;
  /** Outcome of the latest decision; null: there is none. */
  readonly outcome: string | null;
  /** State of the decision's push; null: it has none. */
  readonly push: string | null;
}

/** Whether a decision that is right for a status still has to be told to the service. */
function needsPush(outcome: string): boolean {
  return outcome === 'accept' || outcome === 'reject';
}

export function deliveryState({ status, shipped, outcome, push }: Decided): string {
  const is = statusWord(status, shipped);
  if (outcome === null) return is;
  const done = wordFor('outcome', outcome);
  if (push === null) {
    if (status !== 'pending') return is;
    return needsPush(outcome) ? `${outcome}, not sent` : done;
  }
  const how = wordFor('decisionPush', push);
  if (push === 'confirmed') return status === 'pending' ? done : is;
  // The service shows what another decision made of it: an accept that is taken back, for example.
  const isOther = status !== 'pending' && status !== done;
  if (how !== 'being sent') return `${isOther ? `${is}, ` : ''}${outcome}, ${how}`;
  return isOther ? `${is}, ${outcome} ${how}` : `${done}, ${how}`;
}

/** Whether the state says that the service has yet to confirm the decision. */
export function isUnconfirmed({ push }: Pick<Decided, 'push'>): boolean {
  return push !== null && push !== 'confirmed';
}
