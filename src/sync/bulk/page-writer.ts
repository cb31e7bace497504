/**
 * Writes pages of variants and answers what needs a look at a whole list. What takes milliseconds
 * and more for a million rows is here, so that a thread of its own can do it.
 */
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import { distrustApart } from '../../mirror/catalog/apart.ts';
import {
  type ListCensus,
  type ListPlace,
  type ReadPage,
  takeCensus,
  writePage,
} from '../../mirror/list.ts';
import { rowsFromBytes } from '../../mirror/prepared.ts';
import { withTempFiles } from '../../store/bulk.ts';
import type { Store } from '../../store/store.ts';
import { type PageCounts, type Run, recordPage } from '../run/ledger.ts';
import { pageBeforeFailed } from './attempts.ts';
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
  readonly page: Omit<ReadPage, 'prepared'>;
  /** The rows of all its segments (page-reader.ts). */
  readonly json: Uint8Array<ArrayBuffer>;
  /** What is counted with it besides its rows. */
  readonly common: Pick<PageCounts, 'bytes' | 'wire'>;
  /** Of pages that were proved before it and are written down with it. */
  readonly before: PageCounts | undefined;
}

export interface PageWriter {
  /** Gives what the page itself did. */
  write(page: UnwrittenPage): Promise<PageCounts>;
  /** Takes their proof from rows of the stock that were written apart from the list. */
  distrust(): Promise<void>;
  /** `source` is that of the run that has seen the list. */
  census(stream: string, kind: VariantList['kind'], source: string): Promise<ListCensus>;
}

export function createPageWriter(deps: {
  readonly store: Store;
  readonly clock: Clock;
}): PageWriter {
  const { store, clock } = deps;
  const failedAttempts = new Set<number>();
  const writeNext: PageWriter['write'] = (unwritten) => {
    const { run, list, place, checkpoint, page, json, common, before } = unwritten;
    const entity = entityOfList(list);
    const keys = page.segments.flatMap((segment) => segment.keys);
    const read = { ...page, prepared: rowsFromBytes(keys, json) };
    return store.transaction(async (tx) => {
      const at = clock.now();
      const provenance = { source: `run:${run.runId}`, readSeq: run.readSeq, at };
      const counts = { ...(await writePage(tx, entity, place, read, provenance)), ...common };
      await recordPage(tx, run, checkpoint, sumOf(before, counts));
      return counts;
    });
  };
  let last: Promise<unknown> = Promise.resolve();
  const writeBehind = async (before: Promise<unknown>, page: UnwrittenPage) => {
    await before.catch(() => undefined);
    if (failedAttempts.has(page.attempt)) throw pageBeforeFailed();
    try {
      return await writeNext(page);
    } catch (error) {
      failedAttempts.add(page.attempt);
      throw error;
    }
  };
  return {
    write(page) {
      const written = writeBehind(last, page);
      last = written;
      return written;
    },
    distrust: () => distrustApart(store),
    census(stream, kind, source) {
      const entity = entityOfList(kind === 'stock' ? { kind } : { kind, seasonName: '' });
      return withTempFiles(store.db, () => takeCensus(store.db, entity, stream, source));
    },
  };
}
