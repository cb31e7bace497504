/** What to do next about an outbox row: one sentence for every state, also when it is "nothing". */
import type { OutboxState } from '../store/tables.ts';
import { BEFORE_MAX, stepAfter, type Waiting } from './waiting.ts';

export interface Situation {
  readonly outboxId: number;
  readonly kind: string;
  readonly state: OutboxState;
  readonly deskReason: string | null;
  readonly lastError: string | null;
  readonly pendingRefundId: number | null;
  readonly orderRefundId: number | null;
  /** By which the service refused it; null: our own checks did, or nobody. */
  readonly refusedWith: string | null;
  /** It was confirmed and is at the service no more: what is known of that, in a sentence. */
  readonly lost: string | null;
  /** No attempt at it can have had an effect. */
  readonly neverSent: boolean;
  /** What it waits for, while it has not left; null: it does not wait to be sent. */
  readonly waiting: Waiting | null;
  /** The service has it otherwise than it was sent, and nobody has noted that. */
  readonly differs: boolean;
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
    `decide: compare both sides with "selvedge outbox show ${outboxId}", then: selvedge outbox ` +
    `resolve ${outboxId} --as ${confirmed} --reason "…", or the same with --as absent, which ` +
    `sends it again; if it could not be looked for: selvedge outbox retry ${outboxId} --reason "…"`
  );
}

function confirmed({ outboxId, lost, differs, ...situation }: Situation): string {
  const { kind, pendingRefundId, orderRefundId } = situation;
  const noted = `selvedge outbox resolve ${outboxId} --as noted --reason "…"`;
  if (lost !== null) {
    return (
      `decide: ${lost}; it is not sent again by itself: hand it in under a new reference if it ` +
      `is still wanted, then: ${noted}`
    );
  }
  if (differs) {
    const shown = `"selvedge outbox show ${outboxId}"`;
    return (
      `compare: the service has it otherwise than it was sent, as ${shown} says; once that is ` +
      `settled: ${noted}`
    );
  }
  if (kind !== 'pending_refund' || pendingRefundId === null) return 'nothing: it is done';
  return orderRefundId === null
    ? 'nothing: the service has it and has yet to confirm it'
    : `nothing: the service confirmed it as refund ${orderRefundId}`;
}

const CORRECT = 'correct what its problems name and hand it in under a new reference';
const CORRECT_IT =
  'correct it where its problems say, and hand it in again under the same reference: it was ' +
  'never sent. Handed in again as it is, it is checked once more';

/** By the code of the service's refusal; what is not named here is a mistake in the document. */
const AFTER_REFUSAL: Readonly<Record<string, string>> = {
  'service.forbidden':
    'have the key allowed at the service to do this, then hand it in under a new reference',
  'service.not_found':
    'the service does not know what the document names: check its numbers, and hand it in under ' +
    'a new reference',
  'service.gone':
    'what the document names is gone at the service: hand in what is wanted instead, under a new ' +
    'reference',
  'service.too_large': 'split the document, and hand the parts in under references of their own',
};

/** The service cannot take it in this form, whatever stands in it. */
const BY_FORM = new Set([
  ...['service.bad_method', 'service.bad_media_type', 'service.unexpected_status'],
  'transport.too_large',
]);

function refused({ outboxId, kind, refusedWith, neverSent }: Situation): string {
  if (refusedWith !== null && BY_FORM.has(refusedWith)) {
    const shown = `"selvedge outbox show ${outboxId}"`;
    return `the service does not take requests of this form: show ${shown} to its support`;
  }
  const step = AFTER_REFUSAL[refusedWith ?? ''];
  if (kind === 'delivery_status') {
    return 'look at the delivery: it is as its error says, and is decided anew if it is pending';
  }
  if (step !== undefined) return step;
  if (kind === 'refund_status' && refusedWith === null) {
    return (
      'look at the refund: it is as its problems say; hand in another document if it is to ' +
      'change still'
    );
  }
  return neverSent ? CORRECT_IT : CORRECT;
}

function canceled({ kind, neverSent }: Situation): string {
  if (kind === 'delivery_status') return 'nothing: the delivery is decided anew if it is pending';
  return neverSent
    ? 'hand it in under a new reference if it is wanted after all; other content may come under ' +
        'the same reference, because it was never sent'
    : 'hand it in under a new reference if it is wanted after all';
}

const ERROR_CHARS_MAX = 300;

function tryingAgain(lastError: string): string {
  const step = stepAfter(lastError);
  const told = lastError.slice(0, ERROR_CHARS_MAX);
  if (step !== undefined) return `wait: ${told}; to go on: ${step}`;
  return (
    `wait: it was not sent yet (${told}) and is tried again by itself; if that names something, ` +
    'it is to be put right'
  );
}

function itsTurn(before: number): string {
  const turn = 'nothing: it is sent as soon as its turn has come';
  if (before === 0) return turn;
  const many = before >= BEFORE_MAX ? `${BEFORE_MAX} and more` : String(before);
  return `${turn}; before it: ${many}, as fast as service.limits allow`;
}

function queued({ lastError, waiting }: Situation): string {
  const { ahead = null, hold = null, before = 0 } = waiting ?? {};
  if (ahead?.isLeft) {
    return (
      `wait for outbox ${ahead.outboxId}, which goes first and is left to a person: "selvedge ` +
      `outbox show ${ahead.outboxId}" says what to decide`
    );
  }
  if (hold !== null) return `wait: ${hold.reason}; to go on: ${hold.step}`;
  if (ahead !== null) {
    const { kind, reference, outboxId, state } = ahead;
    return `wait: ${kind} ${reference} (document ${outboxId}, ${state}) goes first`;
  }
  return lastError === null ? itsTurn(before) : tryingAgain(lastError);
}

export function nextAction(situation: Situation): string {
  const { outboxId, state } = situation;
  if (state === 'queued') return queued(situation);
  if (state === 'sending') return 'nothing: it is on its way';
  if (state === 'sent') return 'nothing: the service took it, and it is read back';
  if (state === 'in_doubt') return inDoubt(situation);
  if (state === 'confirmed') return confirmed(situation);
  if (state === 'refused') return refused(situation);
  if (state === 'canceled') return canceled(situation);
  return (
    'it is provably not at the service: remove the cause of its error, then: selvedge outbox ' +
    `retry ${outboxId} --reason "…", or: selvedge outbox cancel ${outboxId} --reason "…"`
  );
}
