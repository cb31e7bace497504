/** Rows of the outbox as the dispatcher and the kinds see them, and the results of a lookup. */

import type { SentFor } from '../client/http/request.ts';
import type { PushKind } from '../config/words.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Tx } from '../store/store.ts';
import type { OutboxState } from '../store/tables.ts';
import type { Problem } from './documents.ts';

export interface OutboxItem {
  readonly outboxId: number;
  readonly kind: string;
  readonly orderingKey: string;
  readonly reference: string;
  readonly body: JsonObject;
  readonly expectedFrom: string | null;
  readonly state: OutboxState;
  readonly attempts: number;
  /** Answer of the service when it took the push; null: it never did. */
  readonly result: string | null;
  /** Epoch ms since the outcome is unknown; null while it is not. */
  readonly inDoubtSince: number | null;
  /** Epoch ms of the submission; with the id, it tells the document from corrections of it. */
  readonly createdAt: number;
}

/** Writes something else in the transaction that confirms a row. */
export type AlsoConfirm = (
  tx: Tx,
  item: OutboxItem,
  onCommit: (effect: () => void) => void,
) => Promise<void>;

/** A problem that the pre-flight found. A warning is reported and stops nothing. */
export interface FlightProblem extends Problem {
  readonly severity: 'error' | 'warning';
}

/** The service has the effect: nothing (more) is sent. */
export interface Matched {
  readonly outcome: 'matched';
  readonly detail: JsonObject;
  /** Ids that the service made; fills the stored result where no answer had them. */
  readonly result?: JsonObject;
  /** Members that differ from the document; a person should know. */
  readonly differences?: readonly string[];
  /** The differences forbid any delivery before a person has looked. */
  readonly holds?: boolean;
  /** Reference as the service shows it, where this is the document for certain. */
  readonly shownReference?: string;
  /** Whether the service shows a pre-order as one; left out for a plain order. */
  readonly seasonSeen?: boolean;
}

/** The effect is missing, and sending still makes sense. */
export interface NotFound {
  readonly outcome: 'not_found';
  readonly detail: JsonObject;
  /** False: the lookup may have missed it, so the absence proves nothing. */
  readonly complete?: boolean;
}

/**
 * - `superseded`: the service has moved on; the push must not be sent any more.
 * - `possible`: an order or refund there may be the effect. The push is not sent beside it, is
 *   looked up again, and is left to a person after the settlement delay.
 * - `ambiguous`: several fit, or one that is unlike the document; only a person can tell.
 */
interface Inconclusive {
  readonly outcome: 'superseded' | 'possible' | 'ambiguous';
  readonly reason: string;
  readonly detail: JsonObject;
}

/** The pre-flight found errors: the document must not be sent at all. */
interface Invalid {
  readonly outcome: 'invalid';
  readonly problems: readonly FlightProblem[];
}

export type LookupResult = Matched | NotFound | Inconclusive | Invalid;

/** The pre-flight passed: the push may be sent. */
export interface Cleared {
  readonly send: true;
  /** Known before the attempt, so that a later lookup can be complete. */
  readonly baseline: {
    /** No order with a higher id existed before. */
    readonly maxOrderIdBefore?: number;
    readonly countBefore?: number;
  };
  readonly warnings: readonly FlightProblem[];
  readonly orderId?: number;
  /**
   * Cleared by a very recent read instead of an own lookup; valid only while that read is young.
   */
  readonly isByRecentRead?: boolean;
}

export type Clearance = Cleared | { readonly send: false; readonly lookup: LookupResult };

export interface SendCall {
  readonly signal: AbortSignal;
  /** Receives the HTTP status of every answer, also of one that cannot be understood. */
  readonly onStatus: (status: number) => void;
  /** Throws when the push must not leave any more: it may have waited for a slot or a log-in. */
  readonly beforeSend: () => void;
  /** Says which attempt of which push the request is. */
  readonly sentFor: () => SentFor;
  readonly isByRecentRead: boolean;
  /** Adds a write of the answer to the transaction that ends the attempt. */
  readonly alsoWrite: (write: (tx: Tx) => Promise<void>) => void;
}

/**
 * A kind of push: how to look its effect up and how to send it. `send` resolves with the answer of
 * the service, or throws one of the error classes that say what is provable.
 *
 * The head of `push.ts` names all places of a new kind.
 */
export interface OutboxKind {
  readonly kind: PushKind;
  /** Says why configuration or level rule a document out; undefined: they do not. */
  off?(document: JsonObject): Problem | undefined;
  /**
   * True: a 409 without an effect ends the push; else the push is tried again. Only for kinds that
   * create nothing.
   */
  readonly conflictEnds?: true;
  /**
   * Whether each sending creates something new. Then only a proof (settlement delay, two complete
   * lookups) allows a resend; otherwise one lookup is enough.
   */
  creates(item: OutboxItem): boolean;
  /** Pre-flight before every sending. Throws RetryLaterError when it cannot tell now. */
  clear(item: OutboxItem, signal: AbortSignal): Promise<Clearance>;
  /** Looks the effect up at the service. Throws RetryLaterError when it cannot tell now. */
  lookUp(item: OutboxItem, signal: AbortSignal): Promise<LookupResult>;
  send(item: OutboxItem, call: SendCall): Promise<JsonObject>;
  /** Confirmation by the read that the push's own event asks for; without it, read back at once. */
  readonly echo?: {
    orderOf(item: OutboxItem): number;
    /** Whether the answer is in the mirror, so that the event's read can confirm it. */
    isAwaited(item: OutboxItem): boolean;
  };
}

/** Clears a push by a lookup alone: a missing effect is sent. */
export async function clearByLookup(
  lookUp: OutboxKind['lookUp'],
  item: OutboxItem,
  signal: AbortSignal,
): Promise<Clearance> {
  const lookup = await lookUp(item, signal);
  return lookup.outcome === 'not_found'
    ? { send: true, baseline: {}, warnings: [] }
    : { send: false, lookup };
}
