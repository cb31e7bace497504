/** The whole state of a world as plain data: kept by an operator, brought back, or started over. */
import type { Catalog, Style } from './catalog/catalog.ts';
import type { Season } from './catalog/seasons.ts';
import type { Stock } from './catalog/stock.ts';
import type { Agenda, Entry } from './trade/agenda.ts';
import type { Delivery, Order, OrderBook, PendingRefund, Refund } from './trade/orders.ts';

/** Only what differs from the generated world is kept of the catalog and of stock. */
export interface WorldSnapshot {
  readonly seed: number;
  /** Pairs of variant and quantity. */
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

export function takeSnapshot({ catalog, stock, book, agenda }: Parts): WorldSnapshot {
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

export function restoreSnapshot(parts: Parts, snapshot: WorldSnapshot): void {
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
