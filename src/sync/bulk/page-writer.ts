/**
 * Writes pages of variants and answers queries over a whole list. All work on many rows that takes
 * milliseconds or more is here, so that a thread can do it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import { isStoreUnusable } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import {
  invalidateDuplicates,
  joinPlaces,
  type ListPlace,
} from '../../mirror/catalog/duplicates.ts';
import { invalidateOutOfBand } from '../../mirror/catalog/out-of-band.ts';
import { type ChangedPage, writePage } from '../../mirror/list.ts';
import { countGroup, diffAgainstList, type ListDiff } from '../../mirror/rows/full-diff.ts';
import type { ListTable } from '../../mirror/rows/prepared.ts';
import { type SqlValue, withTempFiles } from '../../store/bulk.ts';
import type { Store, Tx } from '../../store/store.ts';
import {
  type PageCounts,
  type Run,
  recordJoined,
  recordPage,
  sumOfPages,
} from '../run/run-repository.ts';
import { pageBeforeFailed } from './attempts.ts';
import type { RowsOfPage } from './page-reader.ts';
import { entityOfList, entityOfStream, type VariantList } from './variant-list.ts';

/**
 * A page whose rows are encoded and not yet written. Plain data, because it is sent between
 * threads.
 */
export interface UnwrittenPage {
  readonly run: Run;
  /** Number of the attempt; after a page that was not written, no later page of it is written. */
  readonly attempt: number;
  readonly list: VariantList;
  readonly place: ListPlace;
  readonly checkpoint: JsonObject;
  readonly page: Omit<ChangedPage, 'changedChunks'> & {
    readonly chunks: readonly (ChangedPage['changedChunks'][number] &
      RowsOfPage['chunks'][number])[];
  };
  /** Encoded rows of all chunks of the page (page-reader.ts). */
  readonly json: Uint8Array<ArrayBuffer>;
  readonly extras: Uint8Array<ArrayBuffer>;
  /** Counts of the page besides those of its rows. */
  readonly common: Pick<PageCounts, 'bytes' | 'pages' | 'wire'>;
  /** Counts of preceding unchanged pages, which are recorded together with this page. */
  readonly before: PageCounts | undefined;
}

export interface PageWriter {
  write(page: UnwrittenPage): Promise<PageCounts>;
  /** Clears the digests of stock chunks whose rows were written out of band. */
  invalidateOutOfBand(): Promise<void>;
  /** Clears the digests of chunks that have a key in common with another chunk. */
  invalidateDuplicates(stream: string): Promise<void>;
  /** Merges rows that occur in several places of a list that was read to its end. */
  join(run: Run): Promise<void>;
  /** Compares a table with the full list; `source` names the run that read the list. */
  diff(of: ListTable, stream: string, source: string): Promise<ListDiff>;
  /** Counts live rows of a table that have this value in a column. */
  countGroup(of: ListTable, column: string, value: string): Promise<number>;
}

/** Maximum rows of several pages in one transaction while no other writer waits: about 15 ms. */
const ROWS_TOGETHER = 2_048;

interface Waiting {
  readonly page: UnwrittenPage;
  readonly written: PromiseWithResolvers<PageCounts>;
}

/** Leading pages of the queue that one transaction may write: of one attempt, and with few rows. */
function togetherOf(queue: readonly Waiting[]): readonly Waiting[] {
  let rows = 0;
  const behind = queue.findIndex(({ page }, at) => {
    rows += page.page.rows - page.page.unchangedRows;
    const isOther = page.attempt !== queue[0]?.page.attempt;
    return at > 0 && (isOther || rows > ROWS_TOGETHER);
  });
  return queue.slice(0, behind < 0 ? queue.length : behind);
}

async function writeOne(tx: Tx, clock: Clock, unwritten: UnwrittenPage): Promise<PageCounts> {
  const { run, list, place, checkpoint, page, json, extras, common, before } = unwritten;
  const entity = entityOfList(list);
  const chunks = page.chunks.map((chunk) => {
    const keys: readonly SqlValue[] = JSON.parse(chunk.keys);
    return { ...chunk, keys };
  });
  const keys = chunks.flatMap((chunk) => chunk.keys);
  const prepared = { groups: { keys, json, extras } };
  const read = { ...page, chunks, prepared };
  const provenance = { source: `run:${run.runId}`, readSeq: run.readSeq, at: clock.now() };
  const counts = { ...(await writePage(tx, entity, place, read, provenance)), ...common };
  await recordPage(tx, run, checkpoint, sumOfPages(before, counts));
  return counts;
}

async function join(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  run: Run,
): Promise<void> {
  const { runId, stream, readSeq } = run;
  const entity = entityOfStream(stream);
  if (!entity) return;
  for (let after: string | undefined = ''; after !== undefined; ) {
    const from: string = after;
    after = await store.transaction(async (tx) => {
      const provenance = { source: `run:${runId}`, readSeq, at: clock.now() };
      const joined = await joinPlaces(tx, entity, { stream, after: from }, provenance);
      if (joined) await recordJoined(tx, runId, joined.counts);
      return joined?.last;
    });
    await nextTurn();
  }
}

export function createPageWriter(deps: {
  readonly store: Store;
  readonly clock: Clock;
  /** Tells whether another writer waits for the end of the transaction. */
  readonly isAwaited?: () => boolean;
}): PageWriter {
  const { store, clock, isAwaited = () => false } = deps;
  const failedAttempts = new Set<number>();
  const queue: Waiting[] = [];
  let isWorking = false;

  /** Writes pages until another writer waits, and returns the counts of those written. */
  const writeSome = (pages: readonly Waiting[]): Promise<readonly PageCounts[]> => {
    return store.transaction(async (tx) => {
      const counts: PageCounts[] = [];
      for (const { page } of pages) {
        counts.push(await writeOne(tx, clock, page));
        if (isAwaited()) break;
      }
      return counts;
    });
  };

  /** Writes pages in one transaction, and returns how many of them were handled. */
  const writeTogether = async (pages: readonly Waiting[]): Promise<number> => {
    const [first] = pages;
    if (!first) return 0;
    try {
      if (failedAttempts.has(first.page.attempt)) throw pageBeforeFailed();
      const counts = await writeSome(pages);
      for (const [at, one] of counts.entries()) pages[at]?.written.resolve(one);
      return counts.length;
    } catch (error) {
      // After a failure the first page is tried alone, so that pages before a bad one are still
      // written.
      if (pages.length > 1 && !isStoreUnusable(error)) return writeTogether([first]);
      failedAttempts.add(first.page.attempt);
      first.written.reject(error);
      return 1;
    }
  };

  const work = async (): Promise<void> => {
    if (isWorking) return;
    isWorking = true;
    while (queue.length > 0) {
      // The event loop gets one turn: each commit waits for the disk, and pages queued by then
      // share it.
      await nextTurn();
      queue.splice(0, await writeTogether(togetherOf(queue)));
    }
    isWorking = false;
  };

  return {
    write(page) {
      const written = Promise.withResolvers<PageCounts>();
      queue.push({ page, written });
      void work();
      return written.promise;
    },
    invalidateOutOfBand: () => invalidateOutOfBand(store),
    invalidateDuplicates(stream) {
      const isSummed = entityOfStream(stream) !== undefined;
      return withTempFiles(store.db, () => invalidateDuplicates(store, stream, isSummed));
    },
    join: (run) => join({ store, clock }, run),
    diff: (of, stream, source) =>
      withTempFiles(store.db, () => diffAgainstList(store.db, of, stream, source)),
    countGroup: (of, column, value) => countGroup(store.db, of, column, value),
  };
}
