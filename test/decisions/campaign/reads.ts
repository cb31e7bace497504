/**
 * The daemon's reads, by the journal of the service: an answer that left whole can be known a
 * moment later, if nobody killed the daemon before it was written down.
 */
import type { Reference } from '../../../src/reference/reference.ts';

/** From an answer until it is in the database. */
const WRITTEN_MS = 2_000;
/** Longest time that a read may have been under way when the daemon is killed. */
const UNDER_WAY_MS = 60_000;
const STOCK = '/*/variants/stock';

export class Reads {
  readonly #journal: Reference['edge']['journal'];
  readonly #lost: { readonly from: number; readonly until: number }[] = [];

  constructor({ edge }: Reference) {
    this.#journal = edge.journal;
  }

  /** Marks reads of this time as possibly forgotten. */
  lose(from: number, until: number): void {
    this.#lost.push({ from: from - UNDER_WAY_MS, until });
  }

  /** Each time since then that the stock was read by what is known at this time. */
  stock(since: number, at: number): readonly number[] {
    return this.#whole(STOCK).filter((read) => read >= since && read <= at - WRITTEN_MS);
  }

  /** When the stock was read last that is known at this time; 0: never. */
  lastStock(at: number): number {
    return this.stock(0, at).at(-1) ?? 0;
  }

  /** The same of the deliveries of an order. */
  lastOrder(orderId: number, at: number): number {
    const reads = this.#whole(`/*/orders/${orderId}/deliveries`);
    return reads.findLast((read) => read <= at - WRITTEN_MS) ?? 0;
  }

  /** Whether nothing was done to the answers of this time, and the daemon was there. */
  isCalm(from: number, until: number): boolean {
    if (this.#lost.some((lost) => lost.from <= until && lost.until >= from)) return false;
    return this.#journal.list().every(({ at, faults }) => {
      const then = Date.parse(at);
      return then < from || then > until || faults.length === 0;
    });
  }

  #whole(path: string): readonly number[] {
    return this.#journal
      .list({ path, method: 'GET', status: 200 })
      .filter(({ faults }) => faults.length === 0)
      .map(({ at }) => Date.parse(at))
      .filter((at) => !this.#lost.some(({ from, until }) => at >= from && at <= until));
  }
}
