/**
 * Agenda: future tasks of the world in order of time, as plain data, so that a snapshot can have
 * them.
 */
import type { NewOrder } from './orders.ts';

export type Task =
  | { readonly kind: 'arrive' }
  | { readonly kind: 'restock' }
  | { readonly kind: 'pack'; readonly orderId: number }
  /**
   * Shipping of a delivery. `acceptedAt` tells its acceptance from a later one after a step back to
   * pending.
   */
  | { readonly kind: 'ship'; readonly orderDeliveryId: number; readonly acceptedAt: number }
  | { readonly kind: 'cancel'; readonly orderDeliveryId: number }
  | { readonly kind: 'return'; readonly orderDeliveryId: number }
  | { readonly kind: 'confirm'; readonly pendingRefundId: number }
  /** Creation of an order whose request was answered with 504. */
  | { readonly kind: 'commit'; readonly order: NewOrder };

export interface Entry {
  /** Time at which the task is due, epoch ms. */
  readonly at: number;
  readonly task: Task;
}

export interface Agenda {
  add(at: number, task: Task): void;
  /** Removes and returns the first entry that is due at `now`. */
  takeDue(now: number): Entry | undefined;
  nextAt(): number | undefined;
  entries(): readonly Entry[];
  replace(entries: readonly Entry[]): void;
  /** Calls the listener after each addition, so that a timer can be set again. */
  onAdded(listener: () => void): void;
}

export function createAgenda(): Agenda {
  const entries: Entry[] = [];
  const listeners: (() => void)[] = [];
  return {
    add(at, task) {
      // The place is searched from the end: nearly every task is scheduled later than those that
      // wait.
      let place = entries.length;
      while (place > 0 && (entries[place - 1]?.at ?? 0) > at) place -= 1;
      entries.splice(place, 0, { at, task });
      for (const listener of listeners) listener();
    },
    takeDue(now) {
      const first = entries[0];
      return first && first.at <= now ? entries.shift() : undefined;
    },
    nextAt: () => entries[0]?.at,
    entries: () => [...entries],
    replace(next) {
      entries.splice(0, entries.length, ...next);
      for (const listener of listeners) listener();
    },
    onAdded(listener) {
      listeners.push(listener);
    },
  };
}
