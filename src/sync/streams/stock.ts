/**
 * The stream `stock`: every variant that can be sold now. The list may hold a million rows; it
 * comes in batches, each of which is a page and a checkpoint.
 */
import type { StockLevel } from '../../client/v1/catalog.ts';
import type { V1Client } from '../../client/v1/client.ts';
import type { PullEnd } from '../../client/v1/variants.ts';
import { STOCK_VARIANT } from '../../mirror/catalog/variant.ts';
import type { Fuse, Stream } from '../stream.ts';

export interface ListPaging {
  readonly mode: 'stream' | 'pages';
  readonly pageRows: number;
}

export interface StockOptions extends ListPaging {
  readonly level: Required<StockLevel>;
  readonly fuse: Fuse;
}

/** What speaks against having seen the whole list as it was at one moment. */
export function doubtsOfPull(end: PullEnd, what: string): string[] {
  const doubts: string[] = [];
  if (end.shortPages > 0) doubts.push(`${end.shortPages} pages of ${what} were short`);
  if (end.countFirst !== end.count) {
    const [from, to] = [end.countFirst, end.count].map((count) => count ?? 'an unknown number of');
    doubts.push(`${what} went from ${from} to ${to} rows meanwhile`);
  }
  if (end.count !== undefined && end.count !== end.rows) {
    doubts.push(`the service counts ${end.count} rows of ${what}, ${end.rows} came`);
  }
  return doubts;
}

export function createStockStream(v1: Pick<V1Client, 'stock'>, options: StockOptions): Stream {
  const { mode, pageRows, level, fuse } = options;
  return {
    name: 'stock',
    options: { ...level, mode, pageRows },
    list: { entity: STOCK_VARIANT, fuse, isPaged: mode === 'pages', isLong: true },
    async pull({ run, known, variantPage, call, progress }) {
      const { next } = run.checkpoint;
      const from = typeof next === 'number' ? next : undefined;
      const about = { from, known: known({ kind: 'stock' }), onPage: progress };
      const list = v1.stock(level, { ...call, ...about });
      for await (const batch of list.batches) {
        await variantPage({ next: batch.next }, { kind: 'stock' }, batch);
      }
      const end = list.end();
      const doubts = doubtsOfPull(end, 'the stock');
      return { expectedRows: end.rows, doubts, parts: new Map([['', end.rows]]) };
    },
  };
}
