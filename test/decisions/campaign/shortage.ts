/**
 * Whether a delivery may have seemed short of pieces to one who knows of stock and claims no less
 * than what was read: by the least stock since the last read of it, and by whatever others may
 * still have seemed to need then. What is not short by that was known to be covered.
 */
import type { Reference } from '../../../src/reference/reference.ts';
import type { Delivery } from '../../../src/reference/world/trade/orders.ts';
import { type History, historyIn } from './history.ts';
import type { Reads } from './reads.ts';
import { variantOf } from './shelf.ts';

interface Known {
  readonly reads: Reads;
  /** The pieces in it over time. */
  pieces(delivery: Delivery): History<number>;
  /** Whether somebody, or a rule that does not ask for the stock, may be accepting it. */
  mayBeAccepted(delivery: Delivery): boolean;
}

export class Shortage {
  readonly #world: Reference['world'];
  readonly #now: () => number;
  readonly #known: Known;
  /** Whether the list has variants that are sold out and not in running orders. */
  readonly #listsSoldOut: boolean;
  readonly #stock = new Map<number, History<number>>();
  /** Its pieces lie in stock for it. */
  readonly #open = new Map<number, History<boolean>>();

  constructor(world: Reference['world'], now: () => number, listsSoldOut: boolean, known: Known) {
    this.#world = world;
    this.#now = now;
    this.#known = known;
    this.#listsSoldOut = listsSoldOut;
    this.#watchStock();
    this.#watchDeliveries();
  }

  /** Whether the stock says how much there is. */
  isListed(delivery: Delivery): boolean {
    return this.#listsSoldOut || this.#world.stock.of(variantOf(this.#world, delivery)) > 0;
  }

  mayBeShort(delivery: Delivery, quantity: number, at: number): boolean {
    const { reads, pieces } = this.#known;
    const readAt = reads.lastStock(at);
    const variant = variantOf(this.#world, delivery);
    const stock = this.#stockOf(variant)
      .within(readAt, at)
      .filter((one) => one > 0 || this.#listsSoldOut);
    const claims = this.#others(delivery, variant, at).map((other) => {
      // Shipped pieces are needed until the stock was read after that, too.
      const heardAt = other.shippedAt === undefined ? at : readAt;
      const since = reads.lastOrder(other.orderId, heardAt);
      const isOpen = this.#openOf(other).within(since, at).some(Boolean);
      return isOpen ? Math.max(...pieces(other).within(since, at)) : 0;
    });
    return Math.min(...stock) - claims.reduce((sum, one) => sum + one, 0) < quantity;
  }

  /** Deliveries whose pieces count before its own. */
  #others(delivery: Delivery, variant: number, at: number): readonly Delivery[] {
    const id = delivery.orderDeliveryId;
    return this.#world.book.deliveries.all.filter(
      (other) =>
        other.createdAt <= at &&
        other.orderDeliveryId !== id &&
        variantOf(this.#world, other) === variant &&
        (other.orderDeliveryId < id ||
          other.status === 'accepted' ||
          this.#known.mayBeAccepted(other)),
    );
  }

  #stockOf(variant: number): History<number> {
    return historyIn(this.#stock, variant, this.#world.stock.of(variant));
  }

  #openOf(delivery: Delivery): History<boolean> {
    const history = historyIn(this.#open, delivery.orderDeliveryId, false);
    if (!history.now && history.isNew) history.set(delivery.createdAt, true);
    return history;
  }

  #watchStock(): void {
    const { stock } = this.#world;
    const { set } = stock;
    stock.set = (variant, quantity) => {
      this.#stockOf(variant);
      set(variant, quantity);
      this.#stockOf(variant).set(this.#now(), quantity);
    };
  }

  #watchDeliveries(): void {
    const { trade } = this.#world;
    const { moveDelivery, ship } = trade;
    const note = (delivery: Delivery): void => {
      const { status, shippedAt } = delivery;
      const isOpen = (status === 'pending' || status === 'accepted') && shippedAt === undefined;
      this.#openOf(delivery).set(this.#now(), isOpen);
    };
    trade.moveDelivery = (delivery, to) => {
      const moved = moveDelivery(delivery, to);
      if (moved === 'moved') note(delivery);
      return moved;
    };
    trade.ship = (delivery) => {
      const shipped = ship(delivery);
      if (shipped) note(delivery);
      return shipped;
    };
  }
}
