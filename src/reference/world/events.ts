/** Sink for changes of the world, through which the relay gets them. */
import type { JsonObject } from '../../lib/json.ts';

export interface EventSink {
  /** Publishes an event; `type` and `data` are those of the wire contract, section 6. */
  publish(type: string, data: JsonObject, references?: JsonObject): void;
}
