/**
 * Answered pushes whose event is yet to come. The read that it asks for confirms them as well, so
 * that none is made for that alone. Forgotten with the process: then they are read back when due.
 */
import { pendingRefetch } from '../../mirror/refetch-queue.ts';
import type { Db } from '../../store/store.ts';
import type { OutboxItem, OutboxKind } from '../item.ts';

/** The event mostly comes within a second; without it, there is a read of our own. */
export const ECHO_MS = 10_000;

export interface Echoes {
  /** Before it is sent: the event may be faster than the answer. */
  begin(item: OutboxItem, kind: OutboxKind): void;
  /** It is in the mirror, and was not read since. */
  isAwaited(item: OutboxItem, kind: OutboxKind): boolean;
  /** Its event has come, and the read that it asks for waits for its turn. */
  isComing(db: Db, outboxId: number): Promise<boolean>;
  end(outboxId: number): void;
  /** The order was read; whether something has waited for that. */
  read(orderId: number): boolean;
  /** Those that were read meanwhile, but for what is being worked on. They are not given twice. */
  takeRead(busy: ReadonlySet<string>): number[];
}

export function createEchoes(): Echoes {
  const awaited = new Map<number, { orderId: number; orderingKey: string; isRead: boolean }>();
  return {
    begin(item, { echo }) {
      if (!echo) return;
      const { outboxId, orderingKey } = item;
      awaited.set(outboxId, { orderId: echo.orderOf(item), orderingKey, isRead: false });
    },
    isAwaited(item, { echo }) {
      if (!echo?.isAwaited(item)) awaited.delete(item.outboxId);
      return awaited.get(item.outboxId)?.isRead === false;
    },
    async isComing(db, outboxId) {
      const { orderId, isRead } = awaited.get(outboxId) ?? {};
      if (orderId === undefined || isRead) return false;
      return (await pendingRefetch(db, orderId))?.attempts === 0;
    },
    end: (outboxId) => void awaited.delete(outboxId),
    read(orderId) {
      const found = [...awaited.values()].filter((one) => one.orderId === orderId);
      for (const one of found) one.isRead = true;
      return found.length > 0;
    },
    takeRead(busy) {
      const found = [...awaited].filter(
        ([, { isRead, orderingKey }]) => isRead && !busy.has(orderingKey),
      );
      for (const [outboxId] of found) awaited.delete(outboxId);
      return found.map(([outboxId]) => outboxId);
    },
  };
}
