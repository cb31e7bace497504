/**
 * The world of the reference service: catalog, stock, accounts, order book and agenda, made from a
 * seed. The world knows nothing of HTTP or of timers; `life/` changes it as time passes, `v1/` and
 * `v2/` show it.
 *
 * With the same seed, size and start of the clock the world is the same, to the byte. Values that
 * can be computed from an index are computed, so a million variants cost one number each.
 */
import type { Clock } from '../../lib/clock.ts';
import type { CurrentKnobs } from '../control/knobs.ts';
import { type Account, accountAt } from './accounts.ts';
import { type Catalog, createCatalog, type Style } from './catalog/catalog.ts';
import { createPrices, type Prices } from './catalog/prices.ts';
import type { Season } from './catalog/seasons.ts';
import { createStock, type Stock } from './catalog/stock.ts';
import type { EventSink } from './events.ts';
import { type Agenda, createAgenda, type Entry } from './trade/agenda.ts';
import {
  createOrderBook,
  type Delivery,
  type Order,
  type OrderBook,
  type PendingRefund,
  type Refund,
} from './trade/orders.ts';
import { createTrade, type Trade } from './trade/trade.ts';

/** State of a world; of catalog and stock it has only the differences from the generated world. */
interface WorldSnapshot {
  readonly seed: number;
  /** Differences from the generated stock: pairs of variant and quantity. */
  readonly stock: readonly (readonly [number, number])[];
  readonly preOrdered: readonly (readonly [number, number])[];
  readonly styles: readonly Style[];
  readonly seasons: readonly Season[];
  readonly orders: readonly Order[];
  readonly deliveries: readonly Delivery[];
  readonly refunds: readonly Refund[];
  readonly pendingRefunds: readonly PendingRefund[];
  readonly made: readonly (readonly [string, number])[];
  readonly posts: number;
  readonly agenda: readonly Entry[];
}

interface Parts {
  readonly catalog: Catalog;
  readonly stock: Stock;
  readonly book: OrderBook;
  readonly agenda: Agenda;
}

function takeSnapshot({ catalog, stock, book, agenda }: Parts): WorldSnapshot {
  return structuredClone({
    seed: catalog.size.seed,
    stock: stock.changes(),
    preOrdered: [...stock.preOrdered()],
    styles: catalog.changes(),
    seasons: catalog.seasons,
    orders: book.orders.all,
    deliveries: book.deliveries.all,
    refunds: book.refunds.all,
    pendingRefunds: book.pendingRefunds.all,
    made: [...book.made],
    posts: book.posts,
    agenda: agenda.entries(),
  });
}

function restoreSnapshot(parts: Parts, snapshot: WorldSnapshot): void {
  const { catalog, stock, book, agenda } = parts;
  const copy = structuredClone(snapshot);
  catalog.replaceChanges(copy.styles);
  catalog.replaceSeasons(copy.seasons);
  stock.restore(copy.stock, copy.preOrdered);
  book.orders.replace(copy.orders);
  book.deliveries.replace(copy.deliveries);
  book.refunds.replace(copy.refunds);
  book.pendingRefunds.replace(copy.pendingRefunds);
  book.made.clear();
  for (const [key, id] of copy.made) book.made.set(key, id);
  book.posts = copy.posts;
  agenda.replace(copy.agenda);
}

export interface World {
  readonly catalog: Catalog;
  readonly prices: Prices;
  readonly stock: Stock;
  readonly book: OrderBook;
  readonly agenda: Agenda;
  readonly trade: Trade;
  readonly accounts: { readonly count: number; at(index: number): Account };
  snapshot(): WorldSnapshot;
  /** Restores a state in place of the present one; the catalog's seed and size stay. */
  restore(snapshot: WorldSnapshot): void;
}

export interface WorldDeps {
  readonly events: EventSink;
  readonly clock: Pick<Clock, 'now'>;
  readonly knobs: CurrentKnobs;
}

/** An account with the currency of its country, unless the dialect has one currency for all. */
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
    catalog,
    stock,
    book,
    agenda,
    trade,
    prices: createPrices(knobs),
    accounts: {
      count: size.accounts,
      at: (index) => inOneCurrency(accountAt(size.seed, index), knobs),
    },
    snapshot: () => takeSnapshot({ catalog, stock, book, agenda }),
    restore: (snapshot) => restoreSnapshot({ catalog, stock, book, agenda }, snapshot),
  };
}
