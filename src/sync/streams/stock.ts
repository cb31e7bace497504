/**
 * The stream `stock`: every variant that can be sold now. The list may hold a million rows; it
 * comes in batches, each of which is a page and a checkpoint.
 */
import type { StockLevel } from '../../client/v1/catalog.ts';
import type { V1Client } from '../../client/v1/client.ts';
import { type RowBatch, variantsOf } from '../../client/v1/variants.ts';
import type { Provenance } from '../../mirror/entity.ts';
import { quarantineRows } from '../../mirror/quarantine.ts';
import { writeStockVariants } from '../../mirror/stock-variant.ts';
import type { Tx } from '../../store/store.ts';
import type { PageCounts } from '../run-ledger.ts';
import type { Stream } from '../stream.ts';

export interface StockOptions {
  readonly level: Required<StockLevel>;
  readonly mode: 'stream' | 'pages';
  readonly pageRows: number;
}

async function writeBatch(tx: Tx, batch: RowBatch, provenance: Provenance): Promise<PageCounts> {
  const parsed = batch.segments.map(({ start, end }) =>
    variantsOf(batch.bytes.subarray(start, end)),
  );
  const rejects = parsed.flatMap((segment) => segment.rejects);
  const rows = parsed.flatMap((segment) => segment.rows);
  const counts = await writeStockVariants(tx, rows, provenance);
  await quarantineRows(tx, 'stock_variant', rejects, provenance);
  return {
    rows: batch.rowCount,
    changed: counts.inserted + counts.changed,
    unchanged: counts.unchanged,
    quarantined: rejects.length,
    bytes: batch.bytes.length,
  };
}

export function createStockStream(v1: Pick<V1Client, 'stock'>, options: StockOptions): Stream {
  return {
    name: 'stock',
    options: { ...options.level, mode: options.mode, pageRows: options.pageRows },
    async pull({ run, page, signal }) {
      const { next } = run.checkpoint;
      const from = typeof next === 'number' ? next : undefined;
      const list = v1.stock(options.level, { signal, priority: 'pull', from });
      for await (const batch of list.batches) {
        await page({ next: batch.next }, (tx, provenance) => writeBatch(tx, batch, provenance));
      }
      const end = list.end();
      const doubts: string[] = [];
      if (end.shortPages > 0) doubts.push(`${end.shortPages} pages were short`);
      if (end.countFirst !== end.count) {
        doubts.push(`the list went from ${end.countFirst} to ${end.count} rows meanwhile`);
      }
      return { expectedRows: end.count, doubts };
    },
  };
}
