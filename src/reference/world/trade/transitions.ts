/** The transition table of deliveries and refunds (wire contract, section 4), as a function. */
import type { DecisionStatus } from './orders.ts';

/**
 * Result of a status change: `same` changes nothing and is no error; `conflict` is the wire's 409.
 */
export type Moved = 'moved' | 'same' | 'conflict';

export interface MoveRequest {
  readonly from: DecisionStatus;
  /** Requested status. Only the service itself requests `canceled`: clients have no word for it. */
  readonly to: DecisionStatus;
  readonly shipped: boolean;
  readonly rejectFromAccepted: 'conflict' | 'allow';
}

export function judgeMove(move: MoveRequest): Moved {
  const { from, to } = move;
  if (from === 'rejected' || from === 'canceled') return 'conflict';
  if (from === to) return 'same';
  if (move.shipped) return 'conflict';
  if (from === 'accepted' && to === 'rejected') {
    return move.rejectFromAccepted === 'allow' ? 'moved' : 'conflict';
  }
  return 'moved';
}
