/**
 * Writes pages of variants, and answers what needs a look at a whole list, whichever it is. What
 * takes milliseconds and more for many rows is here, so that a thread of its own can do it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import { isStoreUnusable } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { distrustApart } from '../../mirror/catalog/apart.ts';
import { joinPlaces } from '../../mirror/catalog/places.ts';
import { distrustTwice } from '../../mirror/catalog/twice.ts';
import { type ListPlace, type OpenPage, writePage } from '../../mirror/list.ts';
import { countGroup, type ListCensus, takeCensus } from '../../mirror/rows/census.ts';
import type { ListTable } from '../../mirror/rows/prepared.ts';
import { type SqlValue, withTempFiles } from '../../store/bulk.ts';
import type { Store, Tx } from '../../store/store.ts';
import { type PageCounts, type Run, recordJoined, recordPage } from '../run/ledger.ts';
import { pageBeforeFailed } from './attempts.ts';
import type { RowsOfPage } from './page-reader.ts';
import { sumOf } from './proved.ts';
import { entityOfList, entityOfStream, type VariantList } from './variant-list.ts';

/** Plain data: it travels between threads. */
export interface UnwrittenPage {
  readonly run: Run;
  /** Behind a page that was not written, no other of its attempt is. */
  readonly attempt: number;
  readonly list: VariantList;
  readonly place: ListPlace;
  readonly checkpoint: JsonObject;
  readonly page: Omit<OpenPage, 'open'> & {
    readonly segments: readonly (OpenPage['open'][number] & RowsOfPage['segments'][number])[];
  };
  /** The rows of all its segments (page-reader.ts). */
  readonly json: Uint8Array<ArrayBuffer>;
  readonly extras: Uint8Array<ArrayBuffer>;
  /** What is counted with it besides its rows. */
  readonly common: Pick<PageCounts, 'bytes' | 'pages' | 'wire'>;
  /** Of pages that were proved before it and are written down with it. */
  readonly before: PageCounts | undefined;
}

export interface PageWriter {
  /** Gives what the page itself did. */
  write(page: UnwrittenPage): Promise<PageCounts>;
  /** Takes their proof from rows of the stock that were written apart from the list. */
  distrust(): Promise<void>;
  /** The same from segments of the list that share a row. */
  distrustTwice(stream: string): Promise<void>;
  /** Makes rows of what stands in several places of the run's list, which is read to its end. */
  join(run: Run): Promise<void>;
  /** `source` is that of the run that has seen the list. */
  census(of: ListTable, stream: string, source: string): Promise<ListCensus>;
  /** Live rows with that value in a column. */
  countGroup(of: ListTable, column: string, value: string): Promise<number>;
}

/** Rows that are looked into together at most, and while nobody waits: some 15 ms. */
const ROWS_TOGETHER = 2_048;

interface Waiting {
  readonly page: UnwrittenPage;
  readonly written: PromiseWithResolvers<PageCounts>;
}

/** The pages of one attempt at the head of the queue that one transaction may write. */
function togetherOf(queue: readonly Waiting[]): readonly Waiting[] {
  let rows = 0;
  const behind = queue.findIndex(({ page }, at) => {
    rows += page.page.rows - page.page.sameRows;
    const isOther = page.attempt !== queue[0]?.page.attempt;
    return at > 0 && (isOther || rows > ROWS_TOGETHER);
  });
  return queue.slice(0, behind < 0 ? queue.length : behind);
}

async function writeOne(tx: Tx, clock: Clock, unwritten: UnwrittenPage): Promise<PageCounts> {
  const { run, list, place, checkpoint, page, json, extras, common, before } = unwritten;
  const entity = entityOfList(list);
  const segments = page.segments.map((segment) => {
    const keys: readonly SqlValue[] = JSON.parse(segment.keys);
    return { ...segment, keys };
  });
  const keys = segments.flatMap((segment) => segment.keys);
  const prepared = { groups: { keys, json, extras } };
  const read = { ...page, segments, prepared };
  const provenance = { source: `run:${run.runId}`, readSeq: run.readSeq, at: clock.now() };
  const counts = { ...(await writePage(tx, entity, place, read, provenance)), ...common };
  await recordPage(tx, run, checkpoint, sumOf(before, counts));
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
  /** Whether another writer waits for the end of the transaction. */
  readonly isAwaited?: () => boolean;
}): PageWriter {
  const { store, clock, isAwaited = () => false } = deps;
  const failedAttempts = new Set<number>();
  const queue: Waiting[] = [];
  let isWorking = false;

  /** As many of them as there is time for; gives what each has done. */
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

  /** Gives how many have been dealt with. */
  const writeTogether = async (pages: readonly Waiting[]): Promise<number> => {
    const [first] = pages;
    if (!first) return 0;
    try {
      if (failedAttempts.has(first.page.attempt)) throw pageBeforeFailed();
      const counts = await writeSome(pages);
      for (const [at, one] of counts.entries()) pages[at]?.written.resolve(one);
      return counts.length;
    } catch (error) {
      // Alone: those before a bad one can be written.
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
      // Each commit waits for the disk: whatever has come by now shares the next one.
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
    distrust: () => distrustApart(store),
    distrustTwice(stream) {
      const isSummed = entityOfStream(stream) !== undefined;
      return withTempFiles(store.db, () => distrustTwice(store, stream, isSummed));
    },
    join: (run) => join({ store, clock }, run),
    census: (of, stream, source) =>
      withTempFiles(store.db, () => takeCensus(store.db, of, stream, source)),
    countGroup: (of, column, value) => countGroup(store.db, of, column, value),
  };
}
