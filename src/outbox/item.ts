/** An outbox row as the dispatcher and the kinds see it, and what can become of it. */
import type { JsonObject } from '../lib/json.ts';
import type { Tx } from '../store/store.ts';
import type { OutboxState } from '../store/tables.ts';
import type { Problem } from './documents.ts';

export interface OutboxItem {
  readonly outboxId: number;
  readonly kind: string;
  /** Rows of one key go out one after the other. */
  readonly orderingKey: string;
  readonly reference: string;
  readonly body: JsonObject;
  readonly expectedFrom: string | null;
  readonly state: OutboxState;
  readonly attempts: number;
  /** What the service answered when it took it; null: it never did. */
  readonly result: string | null;
  /** Epoch ms; null while it is in no doubt. */
  readonly inDoubtSince: number | null;
  readonly createdAt: number;
}

/** What the pre-flight says of a document. A warning is told and stops nothing. */
export interface FlightProblem extends Problem {
  readonly severity: 'error' | 'warning';
}

/** What a look at the service says about an intent. */
export type Finding =
  /** The effect is there: nothing (more) to send. */
  | {
      readonly found: 'yes';
      readonly detail: JsonObject;
      /** What the service made: kept in the result where no answer told it. */
      readonly result?: JsonObject;
      /** What is not as it was sent; a person should know. */
      readonly differences?: readonly string[];
      /** Because of them nothing of it must be delivered before a person has looked. */
      readonly holds?: boolean;
      /** The reference that it is shown with, where it is this document for certain. */
      readonly shownReference?: string;
      /** Whether it is shown that a pre-order is one; left out: it is none. */
      readonly seasonSeen?: boolean;
    }
  /** The effect is not there, and sending it still makes sense. */
  | {
      readonly found: 'no';
      readonly detail: JsonObject;
      /** False: the look may have missed it, so its absence proves nothing. */
      readonly complete?: boolean;
    }
  /** The world has moved on: the intent must not be sent any more. */
  | { readonly found: 'overtaken'; readonly reason: string; readonly detail: JsonObject }
  /**
   * Something is there that may be it: it is looked for again, is not sent beside it, and is left
   * to a person once the quiet time is over.
   */
  | { readonly found: 'maybe'; readonly reason: string; readonly detail: JsonObject }
  /** Several, or one that is not like ours: only a person can tell. */
  | { readonly found: 'unclear'; readonly reason: string; readonly detail: JsonObject }
  /** The pre-flight found errors: it must not be sent at all. */
  | { readonly found: 'unfit'; readonly problems: readonly FlightProblem[] };

/** Whether what was not found may be there all the same. */
export function mayHaveMissed(finding: Finding): boolean {
  return finding.found === 'no' && finding.complete === false;
}

/** What is known before an attempt, so that a look afterwards can be complete. */
interface Baseline {
  /** No order with a higher id was there before. */
  readonly maxOrderIdBefore?: number;
  /** How many like it were there before. */
  readonly countBefore?: number;
}

/** It may be sent; what is known now is worth keeping. */
export interface Cleared {
  readonly send: true;
  readonly baseline: Baseline;
  readonly warnings: readonly FlightProblem[];
  /** The order it belongs to. */
  readonly orderId?: number;
  /** By a read of a moment ago instead of one of its own: good while that is young. */
  readonly isByRecentRead?: boolean;
}

export type Clearance = Cleared | { readonly send: false; readonly finding: Finding };

/** What a kind gives along with the request that sends. */
export interface SendCall {
  readonly signal: AbortSignal;
  /** Told the HTTP status of the answer, also of one that cannot be understood. */
  readonly onStatus: (status: number) => void;
  /** Throws when it must not leave any more: it may have waited for its turn, or for a log-in. */
  readonly beforeSend: () => void;
  /** As the clearance says. */
  readonly isByRecentRead: boolean;
  /** Writes what the answer shows along with the end of the attempt. */
  readonly alsoWrite: (write: (tx: Tx) => Promise<void>) => void;
}

/**
 * One kind of document: how to look for its effect and how to send it. `send` resolves with what
 * the service answered, or throws one of the error classes that say what is provable.
 */
export interface OutboxKind {
  readonly kind: string;
  /** Why a document is not taken at all, where configuration or level rule it out. */
  off?(document: JsonObject): Problem | undefined;
  /**
   * A 409 after which the effect is not there is the last word; else it is tried again. Only for
   * what makes nothing new.
   */
  readonly conflictEnds?: true;
  /**
   * Whether each sending makes something new at the service. Then a doubt is settled by proof
   * only (quiet time, two complete looks); otherwise one look is enough to send it again.
   */
  creates(item: OutboxItem): boolean;
  /** The pre-flight, before every sending. Throws RetryLaterError when it cannot tell now. */
  clear(item: OutboxItem, signal: AbortSignal): Promise<Clearance>;
  /** Looks at the service, fresh. Throws RetryLaterError when it cannot tell now. */
  look(item: OutboxItem, signal: AbortSignal): Promise<Finding>;
  send(item: OutboxItem, call: SendCall): Promise<JsonObject>;
  /** Left out: what was answered is read back at once. */
  readonly echo?: {
    /** The order whose reads show the effect. */
    orderOf(item: OutboxItem): number;
    /** The answer is in the mirror: the read that its event asks for confirms it. */
    isAwaited(item: OutboxItem): boolean;
  };
}

/** Clearance by a look alone: sends what is not there. */
export async function clearByLook(
  look: OutboxKind['look'],
  item: OutboxItem,
  signal: AbortSignal,
): Promise<Clearance> {
  const finding = await look(item, signal);
  return finding.found === 'no'
    ? { send: true, baseline: {}, warnings: [] }
    : { send: false, finding };
}
