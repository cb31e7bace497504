/**
 * The stock of the few variants that everybody orders, as the service has it, and how much of it is
 * given already: to what is accepted, shipped or not, and to what was packed earlier and waits.
 */
import type { Reference } from '../../../src/reference/reference.ts';
import type { Delivery } from '../../../src/reference/world/trade/orders.ts';
import { History } from './history.ts';

const VARIANTS = 3;
const FIRST_PIECES = 30;

/** How old the stock may be that an accept rests on when it is sent: pulls may fail for a while. */
const STOCK_MS = 70 * 60_000;
/** How late we may hear of what others did at the service. */
const HEARD_MS = 70 * 60_000;

export function piecesOf({ lines }: Delivery): number {
  return lines.reduce((sum, { quantity }) => sum + quantity, 0);
}

interface Others {
  isOurs(other: Delivery): boolean;
  /** When it got the lines that it has. */
  packedAt(other: Delivery): number;
}

export class Shelf {
  readonly #world: Reference['world'];
  /** By variant: its stock and all that has shipped of it, which shipping does not change. */
  readonly #supply: ReadonlyMap<number, History<number>>;

  constructor(world: Reference['world'], now: () => number) {
    const { stock, catalog } = world;
    this.#world = world;
    const variants = Array.from({ length: VARIANTS }, (_, nth) =>
      stock.nth(0, catalog.variantCount, nth * 5),
    );
    for (const variant of variants) stock.set(variant, FIRST_PIECES);
    this.#supply = new Map(variants.map((one) => [one, new History(FIRST_PIECES)]));
    const set = stock.set;
    stock.set = (variant, quantity) => {
      set(variant, quantity);
      const shipped = this.#of(variant).filter(({ shippedAt }) => shippedAt !== undefined);
      this.#supply.get(variant)?.set(now(), quantity + sum(shipped));
    };
  }

  get variants(): readonly number[] {
    return [...this.#supply.keys()];
  }

  /** Pieces that somebody waits for. */
  wanted(variant: number): number {
    return sum(this.#of(variant).filter((one) => isOpen(one) && !one.shippedAt));
  }

  /** Whether it has its pieces when everything is known. */
  covers(delivery: Delivery): boolean {
    return this.#isEnough(
      delivery,
      (supply) => [supply.now],
      () => true,
    );
  }

  /**
   * Whether it may have seemed so to one who knows at once what `isOurs`, and of all else only what
   * was so for a while.
   */
  mayCover(delivery: Delivery, at: number, { isOurs, packedAt }: Others): boolean {
    const known = at - HEARD_MS;
    return this.#isEnough(
      delivery,
      (supply) => supply.within(at - STOCK_MS, at),
      (other) => {
        const isOld = other.orderDeliveryId < delivery.orderDeliveryId;
        const since = isOld ? packedAt(other) : (other.acceptedAt ?? at);
        return since < known || (other.status === 'accepted' && isOurs(other));
      },
    );
  }

  #isEnough(
    delivery: Delivery,
    supplies: (supply: History<number>) => readonly number[],
    counts: (other: Delivery) => boolean,
  ): boolean {
    const variant = variantOf(this.#world, delivery);
    const supply = this.#supply.get(variant);
    if (!supply) return false;
    const others = this.#of(variant).filter(
      (other) =>
        other !== delivery &&
        (other.status === 'accepted' ||
          (other.status === 'pending' && other.orderDeliveryId < delivery.orderDeliveryId)) &&
        counts(other),
    );
    return Math.max(...supplies(supply)) - sum(others) >= piecesOf(delivery);
  }

  #of(variant: number): readonly Delivery[] {
    return this.#world.book.deliveries.all.filter((one) => variantOf(this.#world, one) === variant);
  }
}

export function variantOf(
  { book }: Reference['world'],
  { orderId, lines: [first] }: Delivery,
): number {
  return book.orders.get(orderId)?.lines[first?.line ?? 0]?.variant ?? -1;
}

function isOpen({ status }: Delivery): boolean {
  return status === 'pending' || status === 'accepted';
}

function sum(deliveries: readonly Delivery[]): number {
  return deliveries.reduce((total, one) => total + piecesOf(one), 0);
}
