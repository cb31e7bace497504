/** Future of the world as plain data in order of time, so that a snapshot can carry it. */
import type { NewOrder } from './orders.ts';

export type Task =
  | { readonly kind: 'arrive' }
  | { readonly kind: 'restock' }
  | { readonly kind: 'pack'; readonly orderId: number }
  /** `acceptedAt` tells this acceptance from a later one after a step back to pending. */
  | { readonly kind: 'ship'; readonly orderDeliveryId: number; readonly acceptedAt: number }
  | { readonly kind: 'cancel'; readonly orderDeliveryId: number }
  | { readonly kind: 'return'; readonly orderDeliveryId: number }
  | { readonly kind: 'confirm'; readonly pendingRefundId: number }
  /** An order whose request was answered with 504 comes into being. */
  | { readonly kind: 'commit'; readonly order: NewOrder };

export interface Entry {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly task: Task;
}

export interface Agenda {
  add(at: number, task: Task): void;
  /** Takes out the first entry that is due at `now`. */
  takeDue(now: number): Entry | undefined;
  nextAt(): number | undefined;
  entries(): readonly Entry[];
  replace(entries: readonly Entry[]): void;
  /** Called after each addition, so that a timer can be set again. */
  onAdded(listener: () => void): void;
}

export function createAgenda(): Agenda {
  const entries: Entry[] = [];
  const listeners: (() => void)[] = [];
  return {
    add(at, task) {
      // From the back: nearly everything is scheduled later than what already waits.
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
