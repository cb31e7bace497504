/** What to do next about an outbox row: one sentence for every state, also when it is "nothing". */
import type { OutboxState } from '../store/tables.ts';

export interface Situation {
  readonly outboxId: number;
  readonly kind: string;
  readonly state: OutboxState;
  readonly deskReason: string | null;
  readonly lastError: string | null;
  readonly pendingRefundId: number | null;
  readonly orderRefundId: number | null;
}

/** What `outbox resolve --as confirmed:` wants to know. */
const MADE: Readonly<Record<string, string>> = {
  order: '<orderId>',
  pending_refund: '<pendingRefundId>',
  style: '<styleId>',
};

function inDoubt({ outboxId, kind, deskReason }: Situation): string {
  if (deskReason === null) {
    return (
      'wait: it is being looked for at the service and is sent again only when it is proved not ' +
      'to be there; do not hand it in again under another reference'
    );
  }
  const made = MADE[kind];
  const confirmed = made === undefined ? 'confirmed' : `confirmed:${made}`;
  return (
    `decide: compare both sides with "selvedge outbox show ${outboxId}", then "selvedge outbox ` +
    `resolve ${outboxId} --as ${confirmed}" or "--as absent", with --reason`
  );
}

function confirmed({ kind, pendingRefundId, orderRefundId }: Situation): string {
  if (kind !== 'pending_refund' || pendingRefundId === null) return 'nothing: it is done';
  return orderRefundId === null
    ? 'nothing: the service has it and has yet to confirm it'
    : `nothing: the service confirmed it as refund ${orderRefundId}`;
}

function refused({ kind }: Situation): string {
  return kind === 'delivery_status'
    ? 'look at the delivery: it is as its error says, and is decided anew if it is pending'
    : 'correct the document as its problems say and hand it in under a new reference';
}

export function nextAction(situation: Situation): string {
  const { outboxId, state, lastError } = situation;
  if (state === 'queued') {
    return lastError === null
      ? 'nothing: it is sent as soon as its turn has come'
      : 'nothing: it was not sent yet and is tried again by itself';
  }
  if (state === 'sending') return 'nothing: it is on its way';
  if (state === 'sent') return 'nothing: the service took it, and it is read back';
  if (state === 'in_doubt') return inDoubt(situation);
  if (state === 'confirmed') return confirmed(situation);
  if (state === 'refused') return refused(situation);
  if (state === 'canceled') return 'hand it in under a new reference if it is wanted after all';
  return (
    `it is provably not at the service: remove the cause of its error, then "selvedge outbox ` +
    `retry ${outboxId}", or "selvedge outbox cancel ${outboxId}"`
  );
}
