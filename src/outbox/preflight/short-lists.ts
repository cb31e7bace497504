/**
 * Reads a short list (seasons, freight) once more before an order is refused for a name that is not
 * in the mirror: it may be new since the last pull. Orders that wait share one read.
 */
import type { V1Client } from '../../client/v1/client.ts';
import type { Clock } from '../../lib/clock.ts';
import { type ShortListName, writeShortList } from '../../mirror/catalog/out-of-band.ts';
import type { ReadSequence } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import { FRESH_MS } from './articles.ts';

export interface ShortListsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly v1: Pick<V1Client, 'seasons' | 'freight'>;
  readonly sequence: ReadSequence;
}

export interface ShortLists {
  /** Rejects when the service cannot be reached. `since`: when the order came. */
  refresh(name: ShortListName, since: number, signal: AbortSignal): Promise<void>;
}

/** Gives up waiting, with the reason of the signal, once that aborts. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export function createShortLists({ store, clock, v1, sequence }: ShortListsDeps): ShortLists {
  const readAt = new Map<ShortListName, number>();
  const reading = new Map<ShortListName, Promise<void>>();

  const read = async (name: ShortListName): Promise<void> => {
    const readSeq = await sequence.next();
    const call = { priority: 'read' } as const;
    const list = name === 'seasons' ? await v1.seasons(call) : await v1.freight(call);
    await store.transaction(async (tx) => {
      const provenance = { source: 'refresh:preflight', readSeq, at: clock.now() };
      await writeShortList(tx, name, list, provenance);
    });
    readAt.set(name, list.startedAt);
  };

  return {
    async refresh(name, since, signal) {
      const isFresh = (): boolean => {
        const at = readAt.get(name) ?? Number.NEGATIVE_INFINITY;
        return at >= Math.min(since, clock.now() - FRESH_MS);
      };
      while (!isFresh()) {
        // It has no signal: whoever gives up must not take the read from the others.
        const shared = reading.get(name) ?? read(name).finally(() => reading.delete(name));
        reading.set(name, shared);
        await unlessAborted(shared, signal);
      }
    },
  };
}
