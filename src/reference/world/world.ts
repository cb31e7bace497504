/**
 * The world of the reference service: catalog, stock, accounts, order book and agenda, made from a
 * seed. It knows nothing of HTTP or of timers; `life/` moves it, `v1/` and `v2/` show it.
 *
 * Same seed, same size and same start of the clock: the same world, to the byte. What can be
 * computed from an index is computed, so a million variants cost one number each.
 */
import type { Clock } from '../../lib/clock.ts';
import type { CurrentKnobs } from '../control/knobs.ts';
import { type Account, accountAt } from './accounts.ts';
import { type Catalog, createCatalog } from './catalog/catalog.ts';
import { createPrices, type Prices } from './catalog/prices.ts';
import { createStock, type Stock } from './catalog/stock.ts';
import type { EventSink } from './events.ts';
import { restoreSnapshot, takeSnapshot, type WorldSnapshot } from './snapshot.ts';
import { type Agenda, createAgenda } from './trade/agenda.ts';
import { createOrderBook, type OrderBook } from './trade/orders.ts';
import { createTrade, type Trade } from './trade/trade.ts';

export interface World {
  readonly catalog: Catalog;
  readonly prices: Prices;
  readonly stock: Stock;
  readonly book: OrderBook;
  readonly agenda: Agenda;
  readonly trade: Trade;
  readonly accounts: { readonly count: number; at(index: number): Account };
  snapshot(): WorldSnapshot;
  /** Takes the place of all that happened since; the catalog's seed and size stay. */
  restore(snapshot: WorldSnapshot): void;
}

export interface WorldDeps {
  readonly events: EventSink;
  readonly clock: Pick<Clock, 'now'>;
  readonly knobs: CurrentKnobs;
}

/** An account has the currency of its country, unless the dialect has one for all of them. */
function inOneCurrency(account: Account, knobs: CurrentKnobs): Account {
  const { currency } = knobs().dialect;
  return currency === 'EUR' ? account : { ...account, currency };
}

export function createWorld({ events, clock, knobs }: WorldDeps): World {
  const size = knobs().world;
  const catalog = createCatalog(size);
  const stock = createStock(catalog);
  const book = createOrderBook();
  const agenda = createAgenda();
  const trade = createTrade({ book, catalog, stock, agenda, events, clock, knobs });
  return {
    ...{ catalog, stock, book, agenda, trade },
    prices: createPrices(knobs),
    accounts: {
      count: size.accounts,
      at: (index) => inOneCurrency(accountAt(size.seed, index), knobs),
    },
    snapshot: () => takeSnapshot({ catalog, stock, book, agenda }),
    restore: (snapshot) => restoreSnapshot({ catalog, stock, book, agenda }, snapshot),
  };
}
