/**
 * Reads the stock of ordered articles at once instead of with the next pull. The read is best
 * effort: the next pull brings articles that did not fit the queue, were lost with the process, or
 * are not listed any more.
 */
import type { StockLevel } from '../../client/v1/catalog.ts';
import type { V1Client } from '../../client/v1/client.ts';
import type { Variant } from '../../client/v1/schemas.ts';
import type { Clock } from '../../lib/clock.ts';
import { isStoreUnusable, SelvedgeError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { ORDERED_SOURCE, writeStockVariants } from '../../mirror/catalog/out-of-band.ts';
import type { ReadSequence } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import { unlessGone } from '../service.ts';

export interface OrderedStockDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly v1: Pick<V1Client, 'stockVariant'>;
  readonly sequence: ReadSequence;
  /**
   * Detail level of the stock's pull: a read with less detail would empty columns of the mirror.
   */
  readonly level: StockLevel;
}

const WAITING_MAX = 5_000;
const BATCH = 20;
const IDLE_MS = 60_000;

async function readBatch(
  deps: OrderedStockDeps,
  barcodes: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { store, v1, level, clock, sequence } = deps;
  const readSeq = await sequence.next();
  const call = { priority: 'pull', signal } as const;
  const reads = await Promise.all(
    barcodes.map((barcode) => unlessGone(v1.stockVariant(barcode, level, call))),
  );
  const variants: Variant[] = reads.flatMap((read) => (read ? [read.value] : []));
  await store.transaction(async (tx) => {
    const provenance = { source: ORDERED_SOURCE, readSeq, at: clock.now() };
    await writeStockVariants(tx, variants, provenance);
  });
}

export function createOrderedStock(deps: OrderedStockDeps) {
  const waiting = new Set<string>();
  let wake = new AbortController();
  return {
    name: 'ordered-stock',
    add(barcodes: readonly string[]): void {
      for (const barcode of barcodes) if (waiting.size < WAITING_MAX) waiting.add(barcode);
      wake.abort();
    },
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        wake = new AbortController();
        const batch = [...waiting].slice(0, BATCH);
        if (batch.length === 0) {
          const either = AbortSignal.any([signal, wake.signal]);
          await deps.clock.sleep(IDLE_MS, either).catch(() => undefined);
          continue;
        }
        for (const barcode of batch) waiting.delete(barcode);
        try {
          await readBatch(deps, batch, signal);
        } catch (error) {
          if (signal.aborted) return;
          if (isStoreUnusable(error) || !(error instanceof SelvedgeError)) throw error;
          deps.log.warn({ err: error, barcodes: batch.length }, 'stock not read; the pull will');
        }
      }
    },
  };
}
