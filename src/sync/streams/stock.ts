/**
 * The stream `stock`: every variant that can be sold now. The list may hold a million rows; it
 * comes in batches, each of which is a page and a checkpoint.
 */
import type { StockLevel } from '../../client/v1/catalog.ts';
import type { V1Client } from '../../client/v1/client.ts';
import type { PullEnd } from '../../client/v1/variants.ts';
import { writeStockVariants } from '../../mirror/catalog/apart.ts';
import { STOCK_VARIANT } from '../../mirror/catalog/variant.ts';
import type { Fuse, PartCount, Stream } from '../stream.ts';

export interface ListPaging {
  readonly mode: 'stream' | 'pages';
  readonly pageRows: number;
}

export interface StockOptions extends ListPaging {
  readonly level: Required<StockLevel>;
  readonly fuse: Fuse;
  /** What a variant has that a complete list does not name. */
  readonly unlisted?: 'unknown' | 'zero';
}

/** What the service counted of a list, or a part of it. */
export function countOfPull(end: Omit<PullEnd, 'status'>, part: string, what: string): PartCount {
  const { countFirst: first, count: last, rows: came, shortPages } = end;
  return { part, what, unit: `rows of ${what}`, first, last, came, shortPages };
}

export function createStockStream(
  v1: Pick<V1Client, 'stock' | 'stockVariant'>,
  options: StockOptions,
): Stream {
  const { mode, pageRows, level, fuse, unlisted } = options;
  return {
    name: 'stock',
    options: { ...level, mode, pageRows },
    list: {
      entity: STOCK_VARIANT,
      fuse,
      isPaged: mode === 'pages',
      isLong: true,
      unlisted: unlisted === 'zero' ? unlisted : undefined,
      async lookUp(barcode, call) {
        const { value } = await v1.stockVariant(barcode, level, call);
        return {
          write: (tx, provenance) => writeStockVariants(tx, [value], provenance),
          isSoldOut: value.quantity !== null && value.quantity <= 0,
        };
      },
    },
    async pull({ run, known, variantPage, call, progress }) {
      const { next } = run.checkpoint;
      const from = typeof next === 'number' ? next : undefined;
      const about = { from, known: known({ kind: 'stock' }), onPage: progress };
      const list = v1.stock(level, { ...call, ...about });
      for await (const batch of list.batches) {
        await variantPage({ next: batch.next }, { kind: 'stock' }, batch);
      }
      const end = list.end();
      const counts = [countOfPull(end, '', 'the stock')];
      return { expectedRows: end.rows, counts, doubts: [], parts: new Map([['', end.rows]]) };
    },
  };
}
