/** Dependencies of every action of trade, and the references of its events. */
import type { Clock } from '../../../lib/clock.ts';
import type { JsonObject } from '../../../lib/json.ts';
import type { CurrentKnobs } from '../../control/knobs.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Stock } from '../catalog/stock.ts';
import type { EventSink } from '../events.ts';
import type { Agenda } from './agenda.ts';
import type { Order, OrderBook } from './orders.ts';

export interface TradeDeps {
  readonly book: OrderBook;
  readonly catalog: Catalog;
  readonly stock: Stock;
  readonly agenda: Agenda;
  readonly events: EventSink;
  readonly clock: Pick<Clock, 'now'>;
  readonly knobs: CurrentKnobs;
}

/** Key of this system, as in `https://{systemKey}.{domain}`. */
const SYSTEM_KEY = 'reference';

/** References of an event: members beside `data` in the relay's messages. */
export function referencesOf(
  { knobs }: Pick<TradeDeps, 'knobs'>,
  { key, reference }: Order,
): JsonObject {
  const place = knobs().keys.findIndex(({ name }) => name === key);
  return { systemKey: SYSTEM_KEY, ...(place < 0 ? {} : { apiKeyId: place + 1 }), reference };
}
