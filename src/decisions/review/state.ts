/**
 * State of a delivery in words: its status, or its latest decision while it is pending. A decision
 * reads as done only once the service has confirmed its push; before that it is being sent.
 */

const DONE: Readonly<Record<string, string>> = {
  accept: 'accepted',
  reject: 'rejected',
  hold: 'held',
  release: 'released',
  no_rule: 'no rule',
};

/** Words behind a decision, by the state of its push. */
const UNCONFIRMED: Readonly<Record<string, string>> = {
  queued: 'being sent',
  sending: 'being sent',
  sent: 'being sent',
  in_doubt: 'outcome unknown',
  refused: 'refused',
  dead: 'given up',
  canceled: 'not sent',
};

export interface Decided {
  /** Status in the mirror, as the service showed it last. */
  readonly status: string;
  /** Outcome of the latest decision; null: there is none. */
  readonly outcome: string | null;
  /** State of the decision's push; null: it has none. */
  readonly push: string | null;
}

/** Whether a decision that is right for a status still has to be told to the service. */
function needsPush(outcome: string): boolean {
  return outcome === 'accept' || outcome === 'reject';
}

export function deliveryState({ status, outcome, push }: Decided): string {
  if (outcome === null) return status;
  const done = DONE[outcome] ?? outcome;
  if (push === null) {
    if (status !== 'pending') return status;
    return needsPush(outcome) ? `${outcome}, not sent` : done;
  }
  const how = UNCONFIRMED[push];
  if (how === undefined) return status === 'pending' ? done : status;
  // The service shows what another decision made of it: an accept that is taken back, for example.
  const isOther = status !== 'pending' && status !== done;
  if (how !== 'being sent') return `${isOther ? `${status}, ` : ''}${outcome}, ${how}`;
  return isOther ? `${status}, ${outcome} ${how}` : `${done}, ${how}`;
}

/** Whether the state says that the service has yet to confirm the decision. */
export function isUnconfirmed({ push }: Pick<Decided, 'push'>): boolean {
  return push !== null && UNCONFIRMED[push] !== undefined;
}
