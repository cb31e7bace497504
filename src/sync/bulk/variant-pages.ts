/**
 * Pages of the lists of variants, from the bytes of the wire into the mirror: the work that a
 * thread of its own does ({@link ./thread.ts}). Segments that are as they were the last time are
 * proved by their digest; the others are parsed and checked before the transaction begins, which
 * holds SQL only, because writers of one database wait for each other.
 */
import type { WireCounts } from '../../client/http/tally.ts';
import { variantsOf } from '../../client/v1/variants.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import { distrustApart } from '../../mirror/catalog/apart.ts';
import { STOCK_VARIANT, seasonVariants } from '../../mirror/catalog/variant.ts';
import {
  compareSegments,
  digestOf,
  type ListCensus,
  type ListEntity,
  takeCensus,
  unchangedCounts,
  writeCompared,
} from '../../mirror/list.ts';
import { withTempFiles } from '../../store/bulk.ts';
import type { Store } from '../../store/store.ts';
import { type PageCounts, type Run, recordPage } from '../run/ledger.ts';
import { createProvedPages, type Proved, sumOf } from './proved.ts';

/** Which list: the stock, or what can be ordered ahead of one season. */
export type VariantList =
  | { readonly kind: 'stock' }
  | { readonly kind: 'season'; readonly seasonName: string };

/** The part of the client's batches that is needed here. */
export interface VariantBatch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly segments: readonly {
    readonly firstRow: number;
    readonly rowCount: number;
    readonly start: number;
    readonly end: number;
  }[];
}

/** Plain data: it travels between threads. */
export interface VariantPage {
  readonly run: Run;
  readonly list: VariantList;
  readonly checkpoint: JsonObject;
  readonly batch: VariantBatch;
  /** What the requests since the last page cost besides themselves. */
  readonly wire: WireCounts;
}

export interface VariantPages {
  /** Before the first page of a run, of whose earlier attempt nothing is kept. */
  begin(runId: number): Promise<void>;
  /** What it gives may be written down only with a later page, or with the end. */
  write(page: VariantPage): Promise<PageCounts>;
  /** Behind the last page, also of a run that was cut off: everything is written down. */
  end(runId: number): Promise<void>;
  /** `source` is that of the run that has seen the list. */
  census(stream: string, kind: VariantList['kind'], source: string): Promise<ListCensus>;
}

function entityOfList(list: VariantList): ListEntity {
  return list.kind === 'stock' ? STOCK_VARIANT : seasonVariants(list.seasonName);
}

export function createVariantPages(deps: {
  readonly store: Store;
  readonly clock: Clock;
}): VariantPages {
  const { store, clock } = deps;
  const proved = createProvedPages();
  const record = async (page: Proved | undefined): Promise<void> => {
    if (!page) return;
    await store.transaction((tx) => recordPage(tx, page.run, page.checkpoint, page.counts));
  };
  return {
    async begin(runId) {
      proved.take(runId);
      await distrustApart(store, clock, 'stock');
    },
    async write({ run, list, checkpoint, batch, wire }) {
      const entity = entityOfList(list);
      const place = { stream: run.stream, part: list.kind === 'stock' ? '' : list.seasonName };
      const segments = batch.segments.map(({ firstRow, rowCount, start, end }) => {
        const bytes = batch.bytes.subarray(start, end);
        return { firstRow, rowCount, digest: digestOf(bytes), read: () => variantsOf(bytes) };
      });
      const compared = await compareSegments(store.db, entity, place, segments);
      const common = { bytes: batch.bytes.length, wire };
      if (compared.changed.length === 0) {
        const counts = { ...unchangedCounts(compared), ...common };
        await record(proved.add({ run, checkpoint, counts }));
        return counts;
      }
      const before = proved.take(run.runId)?.counts;
      return store.transaction(async (tx) => {
        const at = clock.now();
        const provenance = { source: `run:${run.runId}`, readSeq: run.readSeq, at };
        const written = await writeCompared(tx, entity, place, compared, provenance);
        const counts = { ...written, ...common };
        await recordPage(tx, run, checkpoint, sumOf(before, counts));
        return counts;
      });
    },
    end: (runId) => record(proved.take(runId)),
    census(stream, kind, source) {
      const entity = kind === 'stock' ? STOCK_VARIANT : seasonVariants('');
      return withTempFiles(store.db, () => takeCensus(store.db, entity, stream, source));
    },
  };
}
