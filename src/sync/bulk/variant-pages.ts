/**
 * Takes pages of variants from the wire to the mirror in three steps: compared here (chunks that
 * are unchanged since the last run, by their digest), read by one thread, written by another. While
 * a page is written, the next one waits and later ones are read and compared (attempts.ts keeps
 * them in order).
 */

import type { WireCounts } from '../../client/http/usage.ts';
import type { RowBatch } from '../../client/v1/variants.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import { digestOf, type KnownChunks } from '../../lib/json-rows/known.ts';
import type { ListPlace } from '../../mirror/catalog/duplicates.ts';
import { hasOutOfBandWrites } from '../../mirror/catalog/out-of-band.ts';
import { findChangedChunks, knownChunks, unchangedCounts } from '../../mirror/list.ts';
import type { Db, Store } from '../../store/store.ts';
import {
  mayBeMixed,
  type PageCounts,
  type Run,
  recordPage,
  sumOfPages,
} from '../run/run-repository.ts';
import { type Attempt, createAttempts, inTurn, type Turn } from './attempts.ts';
import { type PageForm, type PageReader, readerHere } from './page-reader.ts';
import { createPageWriter, type PageWriter } from './page-writer.ts';
import { partOfList, type VariantList } from './variant-list.ts';

// Unchanged pages are held until the next write, because their checkpoint alone is not worth a
// transaction, which waits for the disk and blocks other writers. A kill loses only the comparison;
// the pages are read again.

/** Unchanged rows after which the checkpoint is written anyway: a third of a second's work. */
const ROWS_MAX = 20_000;

interface UnchangedPage {
  readonly run: Run;
  readonly checkpoint: JsonObject;
  readonly counts: PageCounts;
}

interface UnchangedPages {
  /**
   * Adds an unchanged page; returns all that are held if too many rows have gathered to wait
   * longer.
   */
  add(page: UnchangedPage): UnchangedPage | undefined;
  /** Removes and returns the unchanged pages that are held for the run. */
  take(runId: number): UnchangedPage | undefined;
}

function createUnchangedPages(): UnchangedPages {
  const waiting = new Map<number, UnchangedPage>();
  const take = (runId: number): UnchangedPage | undefined => {
    const unchanged = waiting.get(runId);
    waiting.delete(runId);
    return unchanged;
  };
  return {
    take,
    add(page) {
      const { runId } = page.run;
      const counts = sumOfPages(waiting.get(runId)?.counts, page.counts);
      waiting.set(runId, { ...page, counts });
      return counts.rows < ROWS_MAX ? undefined : take(runId);
    },
  };
}

/** Members of the client's batches that are used here. */
export interface VariantBatch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly chunks: RowBatch['chunks'];
  /** Bytes received for the rows of the batch. */
  readonly size: number;
  /** Number of pages of the service that the batch was made from. */
  readonly pages: number;
}

interface VariantPage {
  readonly run: Run;
  readonly list: VariantList;
  readonly checkpoint: JsonObject;
  /** Batch of rows whose bytes are used up by the reader. */
  readonly batch: VariantBatch;
  /** Retries and waits of requests since the last page. */
  readonly wire: WireCounts;
}

export interface VariantPages
  extends Pick<PageWriter, 'diff' | 'countGroup' | 'invalidateDuplicates' | 'join'> {
  /**
   * Begins an attempt: drops the unchanged pages that an earlier attempt of the run still holds.
   */
  begin(run: Pick<Run, 'runId' | 'stream' | 'resumed'>): Promise<void>;
  /** Digests of the list's chunks as of the run's begin. */
  known(run: Run, list: VariantList): KnownChunks;
  /** Writes a page. The returned counts may be recorded only with a later page or at the end. */
  write(page: VariantPage): Promise<PageCounts>;
  /** Ends an attempt, also an interrupted one, after recording all pages. */
  end(runId: number): Promise<void>;
}

export interface VariantPagesDeps extends PageForm {
  readonly store: Store;
  readonly clock: Clock;
  /** Reader and writer on threads of their own; without them the main thread does their work. */
  readonly reader?: PageReader;
  readonly writer?: PageWriter;
}

const NOTHING = { keys: '[]', rejects: [] };

function placeOf(run: Run, list: VariantList): ListPlace {
  return { stream: run.stream, part: partOfList(list) };
}

function rowsOf(chunks: VariantBatch['chunks']): number {
  return chunks.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

/** Number of rows in chunks that the client has not found unchanged. */
export function changedRowsOf({ chunks }: VariantBatch): number {
  return rowsOf(chunks.filter(({ isKnown }) => !isKnown));
}

/** Finds the chunks of a batch that changed; the client has already marked most unchanged ones. */
async function changedPageOf(
  db: Db,
  place: ListPlace,
  { bytes, chunks }: VariantBatch,
  { begun }: Attempt,
) {
  const hasDigests = await begun;
  const others = chunks
    .filter(({ isKnown }) => !isKnown)
    .map((chunk) => {
      const { start, end } = chunk;
      return { ...chunk, size: end - start, digest: digestOf(bytes.subarray(start, end)) };
    });
  const { changedChunks } = hasDigests
    ? await findChangedChunks(db, place, others)
    : { changedChunks: others.map((chunk) => ({ ...chunk, keysBefore: undefined })) };
  const rows = rowsOf(chunks);
  return { changedChunks, rows, unchangedRows: rows - rowsOf(changedChunks) };
}

function knownIn(db: Db, place: ListPlace, { begun }: Attempt): KnownChunks {
  return async (from, to) => ((await begun) ? knownChunks(db, place, from, to) : []);
}

async function record(store: Store, page: UnchangedPage | undefined): Promise<void> {
  if (!page) return;
  await store.transaction((tx) => recordPage(tx, page.run, page.checkpoint, page.counts));
}

/** Tells whether the stream has chunks; a first run has no digests to compare with. */
async function hasChunks({ db }: Pick<Store, 'db'>, stream: string): Promise<boolean> {
  const one = db.selectFrom('chunk').select('stream').where('stream', '=', stream).limit(1);
  return (await one.executeTakeFirst()) !== undefined;
}

/** Clears the digests of chunks whose rows the mirror may have from elsewhere than the list. */
async function invalidateStale(
  { db }: Pick<Store, 'db'>,
  writer: PageWriter,
  run: Parameters<VariantPages['begin']>[0],
): Promise<void> {
  // Only a run of the stock clears these digests, because another stream would use up the note of
  // them.
  if (run.stream === 'stock' && (await hasOutOfBandWrites(db))) await writer.invalidateOutOfBand();
  if (await mayBeMixed(db, run)) await writer.invalidateDuplicates(run.stream);
}

export function createVariantPages(deps: VariantPagesDeps): VariantPages {
  const { store, clock } = deps;
  const { reader = readerHere(deps), writer = createPageWriter({ store, clock }) } = deps;
  const unchanged = createUnchangedPages();
  const attempts = createAttempts();
  const keepUnchanged = async (page: UnchangedPage, turn: Turn): Promise<PageCounts> => {
    await turn.comeNext();
    const tooMuch = unchanged.add(page);
    if (tooMuch) {
      await turn.writtenBefore;
      await record(store, tooMuch);
    }
    turn.handOver();
    return page.counts;
  };
  const write = async (
    { run, list, checkpoint, batch, wire }: VariantPage,
    turn: Turn,
  ): Promise<PageCounts> => {
    const { bytes } = batch;
    const place = placeOf(run, list);
    const common = { bytes: batch.size, pages: batch.pages, wire };
    const { changedChunks, ...page } = await changedPageOf(store.db, place, batch, turn.attempt);
    if (changedChunks.length === 0) {
      bytes.buffer.transfer(0);
      return keepUnchanged(
        { run, checkpoint, counts: { ...unchangedCounts(page), ...common } },
        turn,
      );
    }
    const spans = changedChunks.map(({ start, end }) => ({ start, end }));
    const reading = reader.read({ list, bytes, spans });
    // A failure of the reader is awaited below; until then it counts as handled.
    reading.catch(() => undefined);
    await turn.comeNext();
    const { chunks, ...rows } = await reading;
    turn.goOn();
    const all = changedChunks.map((one, at) => ({ ...one, ...(chunks[at] ?? NOTHING) }));
    const before = unchanged.take(run.runId)?.counts;
    const target = { run, list, place, checkpoint, attempt: turn.attempt.number };
    const writing = writer.write({
      ...target,
      ...rows,
      page: { ...page, chunks: all },
      common,
      before,
    });
    turn.handOver();
    return writing;
  };
  return {
    async begin(run) {
      const { runId } = run;
      unchanged.take(runId);
      const begun = invalidateStale(store, writer, run).then(() => hasChunks(store, run.stream));
      attempts.begin(runId, begun);
      if (!(await begun)) reader.expect?.();
    },
    known: (run, list) => knownIn(store.db, placeOf(run, list), attempts.at(run.runId)),
    write(page) {
      const { runId } = page.run;
      // After a failed page, the unchanged ones are dropped, because their checkpoint would skip
      // that page.
      const forget = (): void => void unchanged.take(runId);
      return inTurn(attempts.at(runId), (turn) => write(page, turn), forget);
    },
    async end(runId) {
      attempts.end(runId);
      await record(store, unchanged.take(runId));
    },
    diff: writer.diff,
    countGroup: writer.countGroup,
    join: writer.join,
    invalidateDuplicates: writer.invalidateDuplicates,
  };
}
