/** Sink for changes of the world, through which the relay gets them. */
import type { JsonObject } from '../../lib/json.ts';

export interface EventSink {
  /**
   * Publishes an event; `type` and `data` are those of the wire contract, section 6. `account` is
   * the index of the account that it is about; undefined: it is for all.
   */
  publish(type: string, data: JsonObject, references?: JsonObject, account?: number): void;
}
