/**
 * Writes pages of variants and answers what needs a look at a whole list. What takes milliseconds
 * and more for a million rows is here, so that a thread of its own can do it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import { distrustApart } from '../../mirror/catalog/apart.ts';
import {
  type ListCensus,
  type ListPlace,
  type OpenPage,
  type ReadPage,
  takeCensus,
  writePage,
} from '../../mirror/list.ts';
import { joinedRows, rowsFromBytes } from '../../mirror/prepared.ts';
import { type SqlValue, withTempFiles } from '../../store/bulk.ts';
import type { Store, Tx } from '../../store/store.ts';
import { type PageCounts, type Run, recordPage } from '../run/ledger.ts';
import { pageBeforeFailed } from './attempts.ts';
import type { RowsOfPage } from './page-reader.ts';
import { sumOf } from './proved.ts';
import { entityOfList, type VariantList } from './variant-list.ts';

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
  /** What is counted with it besides its rows. */
  readonly common: Pick<PageCounts, 'bytes' | 'pages' | 'wire'>;
  /** Of pages that were proved before it and are written down with it. */
  readonly before: PageCounts | undefined;
}

export interface PageWriter {
  /** Gives what the page itself did; of pages that are written together the first one tells it. */
  write(page: UnwrittenPage): Promise<PageCounts>;
  /** Takes their proof from rows of the stock that were written apart from the list. */
  distrust(): Promise<void>;
  /** `source` is that of the run that has seen the list. */
  census(stream: string, kind: VariantList['kind'], source: string): Promise<ListCensus>;
}

/** Rows that are compared and written in one transaction, while nobody waits for it: some 15 ms. */
const ROWS_A_COMMIT = 2_048;
/** Rows that the same few statements write; behind them another writer may come in. */
const ROWS_A_WRITE = 512;

interface Waiting {
  readonly page: UnwrittenPage;
  readonly written: PromiseWithResolvers<PageCounts>;
}

/** Of a page that another one has told of. */
const NOTHING = { pages: 0, rows: 0, changed: 0, unchanged: 0, quarantined: 0, bytes: 0 };

function rowsIn({ page }: UnwrittenPage): number {
  return page.segments.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

/** Those at the head that are like the first one, and with it have no more rows than that. */
function headOf(
  waiting: readonly Waiting[],
  rowsMax: number,
  isLike: (first: UnwrittenPage, page: UnwrittenPage) => boolean,
): readonly Waiting[] {
  const [first] = waiting;
  if (!first) return [];
  let rows = 0;
  const behind = waiting.findIndex(({ page }, at) => {
    rows += rowsIn(page);
    return at > 0 && (rows > rowsMax || !isLike(first.page, page));
  });
  return waiting.slice(0, behind < 0 ? waiting.length : behind);
}

function isOfAttempt(first: UnwrittenPage, page: UnwrittenPage): boolean {
  return page.attempt === first.attempt;
}

function isOfPart(first: UnwrittenPage, page: UnwrittenPage): boolean {
  return page.place.part === first.place.part;
}

/** What the pages hold, as if it had come in one; they are of one part in one attempt. */
function pageOf(pages: readonly UnwrittenPage[]): ReadPage {
  const all = pages.map(({ page }) => page);
  const segments = all
    .flatMap((page) => page.segments)
    .map((segment) => {
      const keys: readonly SqlValue[] = JSON.parse(segment.keys);
      return { ...segment, keys };
    });
  const keys = segments.flatMap((segment) => segment.keys);
  return {
    rows: all.reduce((sum, { rows }) => sum + rows, 0),
    sameRows: all.reduce((sum, { sameRows }) => sum + sameRows, 0),
    segments,
    prepared: rowsFromBytes(keys, joinedRows(pages.map(({ json }) => json))),
  };
}

/**
 * Pages of one part in one attempt, with the checkpoint of the last. Where few rows of each have
 * changed, the statements cost more than the rows: they run once for all. Gives what they did.
 */
async function writeAll(
  tx: Tx,
  clock: Clock,
  first: UnwrittenPage,
  others: readonly UnwrittenPage[],
): Promise<PageCounts> {
  const { run, list, place } = first;
  const pages = [first, ...others];
  const { checkpoint } = others.at(-1) ?? first;
  const provenance = { source: `run:${run.runId}`, readSeq: run.readSeq, at: clock.now() };
  const written = await writePage(tx, entityOfList(list), place, pageOf(pages), provenance);
  const cost = pages.map(({ common }): PageCounts => ({ ...NOTHING, ...common })).reduce(sumOf);
  const counts = { ...written, ...sumOf(cost, { ...written, pages: 0, bytes: 0 }) };
  const before = pages.flatMap((page) => page.before ?? []);
  await recordPage(tx, run, checkpoint, [...before, counts].reduce(sumOf));
  return counts;
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

  /** As many of them as there is time for; gives what each tells. */
  const writeSome = (waiting: readonly Waiting[]): Promise<readonly PageCounts[]> => {
    return store.transaction(async (tx) => {
      const counts: PageCounts[] = [];
      for (let left = waiting; left.length > 0; left = waiting.slice(counts.length)) {
        const [first, ...others] = headOf(left, ROWS_A_WRITE, isOfPart).map(({ page }) => page);
        if (!first) break;
        counts.push(await writeAll(tx, clock, first, others), ...others.map(() => NOTHING));
        if (isAwaited()) break;
      }
      return counts;
    });
  };

  /** Gives how many have been dealt with. */
  const writeTogether = async (waiting: readonly Waiting[]): Promise<number> => {
    const [first] = waiting;
    if (!first) return 0;
    try {
      if (failedAttempts.has(first.page.attempt)) throw pageBeforeFailed();
      const counts = await writeSome(waiting);
      for (const [at, one] of counts.entries()) waiting[at]?.written.resolve(one);
      return counts.length;
    } catch (error) {
      // Alone: those before a bad one can be written.
      if (waiting.length > 1) return writeTogether([first]);
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
      queue.splice(0, await writeTogether(headOf(queue, ROWS_A_COMMIT, isOfAttempt)));
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
    census(stream, kind, source) {
      const entity = entityOfList(kind === 'stock' ? { kind } : { kind, seasonName: '' });
      return withTempFiles(store.db, () => takeCensus(store.db, entity, stream, source));
    },
  };
}
