/** Sink for changes of the world; the relay stands behind it. */
import type { JsonObject } from '../../lib/json.ts';

export interface EventSink {
  /** `type` and the shape of `data` are those of the wire contract, section 6. */
  publish(type: string, data: JsonObject, references?: JsonObject): void;
}
