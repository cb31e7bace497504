/**
 * Facts about the looks of sweeps at orders that reader and streams share, in memory only: whether
 * the account's list of orders is proved to show an order as well as its own address does, and how
 * many requests sweeps have made. After a restart the list is proved again.
 */

import type { Clock } from '../lib/clock.ts';
import type { Spent } from '../mirror/order-book.ts';

/** Number of orders in a row that list and own address must show alike. */
const ALIKE_MIN = 20;

export interface OrderLooks {
  /** Notes that a walk over the list began, whose orders have this read number or a higher one. */
  walked(readSeq: number): void;
  /**
   * Notes an order that was read by its own address: whether that changed what the mirror had.
   * Counts for orders that the last walk has shown, by their read number from before.
   */
  compared(readSeqBefore: number, isChanged: boolean): void;
  /** Whether the list shows orders as well as their own address does. */
  isListProved(): boolean;
  /** Counts requests that sweeps have made. */
  spend(requests: number): void;
  /** Gives the requests of sweeps since the last call, and that time. */
  takeSpent(): Spent;
}

export function createOrderLooks(clock: Pick<Clock, 'monotonic'>): OrderLooks {
  let listedFrom = Number.POSITIVE_INFINITY;
  let alike = 0;
  let requests = 0;
  let takenAt = clock.monotonic();
  return {
    walked(readSeq) {
      listedFrom = readSeq;
    },
    compared(readSeqBefore, isChanged) {
      if (readSeqBefore < listedFrom) return;
      // One order that the list shows otherwise is reason enough to read all by themselves again.
      alike = isChanged ? 0 : alike + 1;
    },
    isListProved: () => alike >= ALIKE_MIN,
    spend(more) {
      requests += more;
    },
    takeSpent() {
      const now = clock.monotonic();
      const spent = { requests, ms: now - takenAt };
      requests = 0;
      takenAt = now;
      return spent;
    },
  };
}
