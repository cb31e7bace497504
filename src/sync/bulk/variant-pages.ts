/**
 * Takes pages of variants from the wire to the mirror in three steps: compared here (chunks that
 * are unchanged since the last run, by their digest), read by one thread, written by another. While
 * a page is written, the next one waits and later ones are read and compared (attempts.ts keeps
 * them in order).
 */

import type { WireCounts } from '../../client/http/usage.ts';
import type { MemberName } from '../../client/v1/dialect.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import { digestOf, type KnownSegments } from '../../lib/json-rows/known.ts';
import { hasApart } from '../../mirror/catalog/out-of-band.ts';
import {
  knownSegments,
  type ListPlace,
  proveSegments,
  unchangedCounts,
} from '../../mirror/list.ts';
import type { Db, Store } from '../../store/store.ts';
import {
  mayBeMixed,
  type PageCounts,
  type Run,
  recordPage,
  sumOfPages,
} from '../run/run-repository.ts';
import { type Attempt, createAttempts, inTurn, type Turn } from './attempts.ts';
import { type PageReader, readerHere } from './page-reader.ts';
import { createPageWriter, type PageWriter } from './page-writer.ts';
import { partOfList, type VariantList } from './variant-list.ts';

// Holds unchanged pages until the next write, because their checkpoint alone is not worth a
// transaction, which waits for the disk and blocks other writers. A kill loses only the
// comparison; the pages are read again.

/** Rows after which the checkpoint is written anyway: a third of a second's work. */
const ROWS_MAX = 20_000;

interface Proved {
  readonly run: Run;
  readonly checkpoint: JsonObject;
  readonly counts: PageCounts;
}

interface ProvedPages {
  /** Adds a page; returns what must be written now if too many rows have gathered. */
  add(page: Proved): Proved | undefined;
  /** Removes and returns what is held for the run. */
  take(runId: number): Proved | undefined;
}

function createProvedPages(): ProvedPages {
  const waiting = new Map<number, Proved>();
  const take = (runId: number): Proved | undefined => {
    const proved = waiting.get(runId);
    waiting.delete(runId);
    return proved;
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

/** Part of the client's batches that is needed here. */
export interface VariantBatch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly segments: readonly {
    readonly firstRow: number;
    readonly rowCount: number;
    readonly start: number;
    readonly end: number;
    readonly isKnown: boolean;
  }[];
  /** Bytes received for these rows. */
  readonly size: number;
  /** Number of pages of the service that the batch was made from. */
  readonly pages: number;
}

interface VariantPage {
  readonly run: Run;
  readonly list: VariantList;
  readonly checkpoint: JsonObject;
  /** The bytes are used up. */
  readonly batch: VariantBatch;
  /** Retries and waits since the last page. */
  readonly wire: WireCounts;
}

export interface VariantPages
  extends Pick<PageWriter, 'census' | 'countGroup' | 'distrustTwice' | 'join'> {
  /** Begins an attempt: drops what an earlier attempt of the run still holds. */
  begin(run: Pick<Run, 'runId' | 'stream' | 'resumed'>): Promise<void>;
  /** Digests of the list's chunks as of the run's begin. */
  known(run: Run, list: VariantList): KnownSegments;
  /** The returned counts may be recorded only with a later page or at the end. */
  write(page: VariantPage): Promise<PageCounts>;
  /** Ends an attempt, also an interrupted one, after recording all pages. */
  end(runId: number): Promise<void>;
}

export interface VariantPagesDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Member names of the account; a thread gets its own copy. */
  readonly names?: readonly MemberName[];
  /** Threads; without them the work is done here. */
  readonly reader?: PageReader;
  readonly writer?: PageWriter;
}

const NOTHING = { keys: '[]', rejects: [] };

function placeOf(run: Run, list: VariantList): ListPlace {
  return { stream: run.stream, part: partOfList(list) };
}

function rowsOf(segments: VariantBatch['segments']): number {
  return segments.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

/** Rows that the client has not found unchanged. */
export function openRowsOf({ segments }: VariantBatch): number {
  return rowsOf(segments.filter(({ isKnown }) => !isKnown));
}

/** Finds the chunks of a batch that changed; the client has already marked most unchanged ones. */
async function openPage(
  db: Db,
  place: ListPlace,
  { bytes, segments }: VariantBatch,
  { begun }: Attempt,
) {
  const hasProofs = await begun;
  const others = segments
    .filter(({ isKnown }) => !isKnown)
    .map((segment) => {
      const { start, end } = segment;
      return { ...segment, size: end - start, digest: digestOf(bytes.subarray(start, end)) };
    });
  const { open } = hasProofs
    ? await proveSegments(db, place, others)
    : { open: others.map((segment) => ({ ...segment, keysBefore: undefined })) };
  const rows = rowsOf(segments);
  return { open, rows, sameRows: rows - rowsOf(open) };
}

function knownIn(db: Db, place: ListPlace, { begun }: Attempt): KnownSegments {
  return async (from, to) => ((await begun) ? knownSegments(db, place, from, to) : []);
}

async function record(store: Store, page: Proved | undefined): Promise<void> {
  if (!page) return;
  await store.transaction((tx) => recordPage(tx, page.run, page.checkpoint, page.counts));
}

/** Tells whether the list was ever read; a first run has no digests to compare with. */
async function hasSegments({ db }: Pick<Store, 'db'>, stream: string): Promise<boolean> {
  const one = db.selectFrom('segment').select('stream').where('stream', '=', stream).limit(1);
  return (await one.executeTakeFirst()) !== undefined;
}

/** Clears digests of chunks whose rows the mirror may have from another source than the list. */
async function distrust(
  { db }: Pick<Store, 'db'>,
  writer: PageWriter,
  run: Parameters<VariantPages['begin']>[0],
): Promise<void> {
  // Only for the stock, because another stream would consume the mark.
  if (run.stream === 'stock' && (await hasApart(db))) await writer.distrust();
  if (await mayBeMixed(db, run)) await writer.distrustTwice(run.stream);
}

export function createVariantPages(deps: VariantPagesDeps): VariantPages {
  const { store, clock, names = [] } = deps;
  const { reader = readerHere(names), writer = createPageWriter({ store, clock }) } = deps;
  const proved = createProvedPages();
  const attempts = createAttempts();
  const keepProved = async (page: Proved, turn: Turn): Promise<PageCounts> => {
    await turn.comeNext();
    const tooMuch = proved.add(page);
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
    const { open, ...page } = await openPage(store.db, place, batch, turn.attempt);
    if (open.length === 0) {
      bytes.buffer.transfer(0);
      return keepProved({ run, checkpoint, counts: { ...unchangedCounts(page), ...common } }, turn);
    }
    const spans = open.map(({ start, end }) => ({ start, end }));
    const reading = reader.read({ list, bytes, spans });
    // Awaited below; marked as handled until then.
    reading.catch(() => undefined);
    await turn.comeNext();
    const { segments, ...rows } = await reading;
    turn.goOn();
    const writing = writer.write({
      run,
      list,
      place,
      checkpoint,
      ...rows,
      common,
      attempt: turn.attempt.number,
      page: {
        ...page,
        segments: open.map((one, at) => ({ ...one, ...(segments[at] ?? NOTHING) })),
      },
      before: proved.take(run.runId)?.counts,
    });
    turn.handOver();
    return writing;
  };
  return {
    async begin(run) {
      const { runId } = run;
      proved.take(runId);
      const begun = distrust(store, writer, run).then(() => hasSegments(store, run.stream));
      attempts.begin(runId, begun);
      if (!(await begun)) reader.expect?.();
    },
    known: (run, list) => knownIn(store.db, placeOf(run, list), attempts.at(run.runId)),
    write(page) {
      const { runId } = page.run;
      // Drops unchanged pages after a failed one, because their checkpoint would skip it.
      const forget = (): void => void proved.take(runId);
      return inTurn(attempts.at(runId), (turn) => write(page, turn), forget);
    },
    async end(runId) {
      attempts.end(runId);
      await record(store, proved.take(runId));
    },
    census: writer.census,
    countGroup: writer.countGroup,
    join: writer.join,
    distrustTwice: writer.distrustTwice,
  };
}
