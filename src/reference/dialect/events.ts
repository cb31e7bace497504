/** Rewrites events into the dialect of an account, and sometimes adds those of another system. */
import type { Json, JsonObject } from '../../lib/json.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { CurrentKnobs } from '../control/knobs.ts';
import { hashAt } from '../world/catalog/hash.ts';
import type { EventSink } from '../world/events.ts';
import { createRewriting } from './answers.ts';
import { hasEvents } from './levels.ts';
import { translateValue } from './values.ts';

const SALT_FOREIGN = 97;
const FOREIGN_KEY = 'elsewhere';
/** Number that is added to ids of another system's orders, so that none of our orders has them. */
const FOREIGN_IDS_FROM = 9_000_000;

/** Turns a value that was made from JSON into JSON again. */
function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null));
}

function translated(data: JsonObject, knobs: CurrentKnobs): JsonObject {
  const { v1, dialect } = knobs();
  const value = asJson(translateValue(asJson(data), 'data', { level: v1.level, dialect }));
  return isJsonObject(value) ? value : {};
}

const OTHER_ORDERS: Readonly<Record<string, (value: Json) => Json>> = {
  orderId: (id) => Number(id) + FOREIGN_IDS_FROM,
  orderDeliveryId: (id) => Number(id) + FOREIGN_IDS_FROM,
  orderRefundId: (id) => Number(id) + FOREIGN_IDS_FROM,
  reference: (text) => `EXT-${text}`,
  orderNo: (text) => `EXT-${text}`,
};

/** The same event as another system of the same provider would send it. */
function foreign(data: JsonObject): JsonObject {
  const text = JSON.stringify(data, (name, value: Json) => OTHER_ORDERS[name]?.(value) ?? value);
  return JSON.parse(text);
}

/**
 * Wraps an event sink: it gets events in the account's dialect, and sometimes those of another
 * system.
 */
export function createEventVoice(knobs: CurrentKnobs, sink: EventSink): EventSink {
  const rewrites = createRewriting(knobs);
  const spoken = (data: JsonObject): JsonObject => (rewrites() ? translated(data, knobs) : data);
  let published = 0;
  return {
    publish(type, data, references, account) {
      const { v1, dialect, world } = knobs();
      if (!hasEvents(v1.level)) return;
      sink.publish(type, spoken(data), references, account);
      published += 1;
      const draw = hashAt(world.seed, published, SALT_FOREIGN) / 2 ** 32;
      if (draw >= dialect.foreignEvents) return;
      const elsewhere = { ...foreign(references ?? {}), systemKey: FOREIGN_KEY };
      sink.publish(type, spoken(foreign(data)), elsewhere);
    },
  };
}
