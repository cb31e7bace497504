/** An outbox row as the dispatcher and the kinds see it, and what can become of it. */
import type { JsonObject } from '../lib/json.ts';
import type { OutboxState } from '../store/tables.ts';

export interface OutboxItem {
  readonly outboxId: number;
  readonly kind: string;
  readonly lane: string;
  readonly reference: string;
  readonly body: JsonObject;
  readonly expectedFrom: string | null;
  readonly state: OutboxState;
  readonly attempts: number;
  /** The service has answered that it took it. */
  readonly answered: boolean;
  readonly cause: string;
}

/** What a look at the service says about an intent. */
export type Finding =
  /** The effect is there: nothing (more) to send. */
  | { readonly found: 'yes'; readonly detail: JsonObject }
  /** The effect is provably not there, and sending it still makes sense. */
  | { readonly found: 'no'; readonly detail: JsonObject }
  /** The world has moved on: the intent must not be sent any more. */
  | { readonly found: 'overtaken'; readonly reason: string; readonly detail: JsonObject };

/**
 * One kind of document: how to look for its effect and how to send it. `send` resolves with what
 * the service answered, or throws one of the error classes that say what is provable.
 */
export interface OutboxKind {
  readonly kind: string;
  /** A 409 after which the effect is not there is the last word; else it is tried again. */
  readonly conflictEnds?: true;
  /** Looks at the service, fresh. Throws RetryLaterError when it cannot tell now. */
  look(item: OutboxItem, signal: AbortSignal): Promise<Finding>;
  send(item: OutboxItem, signal: AbortSignal): Promise<JsonObject>;
}
