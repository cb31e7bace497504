/** The transition table of deliveries and refunds (wire contract, section 4), as a function. */
import type { DecisionStatus } from './orders.ts';

export interface MoveRequest {
  readonly from: DecisionStatus;
  readonly to: DecisionStatus;
  /** Who asks: the client by POST, or the service itself. */
  readonly by: 'client' | 'service';
  readonly shipped: boolean;
  readonly rejectFromAccepted: 'conflict' | 'allow';
}

/** `same` changes nothing and is no error; `conflict` is the wire's 409. */
export function judgeMove(move: MoveRequest): 'moved' | 'same' | 'conflict' {
  const { from, to } = move;
  if (from === 'rejected' || from === 'canceled') return 'conflict';
  if (from === to) return 'same';
  if (move.shipped) return 'conflict';
  if (move.by === 'service') return to === 'canceled' ? 'moved' : 'conflict';
  if (to === 'canceled') return 'conflict';
  if (from === 'accepted' && to === 'rejected') {
    return move.rejectFromAccepted === 'allow' ? 'moved' : 'conflict';
  }
  return 'moved';
}
