/**
 * Pages of the lists of variants, from the bytes of the wire into the mirror, in three steps:
 * proved here (segments that are as they were the last time, by their digest), read by one thread
 * and written by another. While a page is written the next one waits beside it, and those after it
 * are read and proved; all the same the pages of a run are written down in their order, and behind
 * one that failed none is: a checkpoint stands for everything before it.
 */
import type { WireCounts } from '../../client/http/tally.ts';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { hasApart } from '../../mirror/catalog/apart.ts';
import { digestOf, proveSegments, unchangedCounts } from '../../mirror/list.ts';
import type { Store } from '../../store/store.ts';
import { type PageCounts, type Run, recordPage } from '../run/ledger.ts';
import { type PageReader, READER_HERE, type VariantList } from './page-reader.ts';
import { createPageWriter, type PageWriter } from './page-writer.ts';
import { createProvedPages, type Proved } from './proved.ts';

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

export interface VariantPage {
  readonly run: Run;
  readonly list: VariantList;
  readonly checkpoint: JsonObject;
  /** Its bytes are used up. */
  readonly batch: VariantBatch;
  /** What the requests since the last page cost besides themselves. */
  readonly wire: WireCounts;
}

export interface VariantPages extends Pick<PageWriter, 'census'> {
  /** Before the first page of a run, of whose earlier attempt nothing is kept. */
  begin(runId: number): Promise<void>;
  /** What it gives may be written down only with a later page, or with the end. */
  write(page: VariantPage): Promise<PageCounts>;
  /** Behind the last page, also of a run that was cut off: everything is written down. */
  end(runId: number): Promise<void>;
}

export interface VariantPagesDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Threads of their own; without them all is done here. */
  readonly reader?: PageReader;
  readonly writer?: PageWriter;
}

const BEHIND_A_FAILURE = 'a page before it was not written';

/** One attempt at a run. */
interface Attempt {
  /** Tells the attempts of a run apart. */
  readonly number: number;
  /** Digests prove nothing before. */
  readonly begun: Promise<void>;
  /** When the page before is with the writer, or proved: the next one may follow. */
  handed: Promise<void>;
  /** When all pages so far are written. */
  written: Promise<unknown>;
  hasFailed: boolean;
}

/** A page in its place among those of its attempt. */
interface Turn {
  readonly attempt: Attempt;
  /** Until then nothing of this page may be handed over. */
  readonly after: Promise<void>;
  /** Until then no checkpoint may be written down here. */
  readonly writtenBefore: Promise<unknown>;
  readonly handOver: () => void;
}

function takeTurn(attempt: Attempt): Turn {
  const { promise, resolve } = Promise.withResolvers<void>();
  const turn = {
    ...{ attempt, after: attempt.handed, writtenBefore: attempt.written },
    handOver: resolve,
  };
  attempt.handed = promise;
  return turn;
}

export function createVariantPages(deps: VariantPagesDeps): VariantPages {
  const { store, clock, reader = READER_HERE, writer = createPageWriter({ store, clock }) } = deps;
  const proved = createProvedPages();
  const attempts = new Map<number, Attempt>();
  let attemptCount = 0;
  const record = async (page: Proved | undefined): Promise<void> => {
    if (!page) return;
    await store.transaction((tx) => recordPage(tx, page.run, page.checkpoint, page.counts));
  };
  const attemptAt = (runId: number, begun: Promise<void> = Promise.resolve()): Attempt => {
    const known = attempts.get(runId);
    if (known) return known;
    attemptCount += 1;
    const state = { begun, handed: begun, written: begun, hasFailed: false };
    const attempt = { number: attemptCount, ...state };
    attempts.set(runId, attempt);
    return attempt;
  };
  const comeNext = async ({ attempt, after }: Turn): Promise<void> => {
    await after;
    if (attempt.hasFailed) throw new RetryLaterError('sync.page_before_failed', BEHIND_A_FAILURE);
  };
  const keepProved = async (page: Proved, turn: Turn): Promise<PageCounts> => {
    await comeNext(turn);
    const tooMuch = proved.add(page);
    if (tooMuch) {
      await turn.writtenBefore;
      await record(tooMuch);
    }
    turn.handOver();
    return page.counts;
  };
  const writeInTurn = async (
    { run, list, checkpoint, batch, wire }: VariantPage,
    turn: Turn,
  ): Promise<PageCounts> => {
    const { bytes } = batch;
    const place = { stream: run.stream, part: list.kind === 'stock' ? '' : list.seasonName };
    const common = { bytes: bytes.length, wire };
    await turn.attempt.begun;
    const digested = batch.segments.map((segment) => {
      return { ...segment, digest: digestOf(bytes.subarray(segment.start, segment.end)) };
    });
    const { open, ...page } = await proveSegments(store.db, place, digested);
    if (open.length === 0) {
      bytes.buffer.transfer(0);
      return keepProved({ run, checkpoint, counts: { ...unchangedCounts(page), ...common } }, turn);
    }
    const reading = reader.read({ list, bytes, spans: open });
    // Heeded below; until then a failure must not count as unhandled.
    reading.catch(() => undefined);
    await comeNext(turn);
    const { segments, json } = await reading;
    const none = { keys: [], rejects: [] };
    const writing = writer.write({
      ...{ run, list, place, checkpoint, json, common, attempt: turn.attempt.number },
      page: { ...page, segments: open.map((one, at) => ({ ...one, ...(segments[at] ?? none) })) },
      before: proved.take(run.runId)?.counts,
    });
    turn.handOver();
    return writing;
  };
  return {
    begin(runId) {
      proved.take(runId);
      attempts.delete(runId);
      const distrust = async (): Promise<void> => {
        if (await hasApart(store.db)) await writer.distrust();
      };
      return attemptAt(runId, distrust()).begun;
    },
    write(page) {
      const { runId } = page.run;
      const attempt = attemptAt(runId);
      const turn = takeTurn(attempt);
      const written = writeInTurn(page, turn).catch((error: unknown) => {
        attempt.hasFailed = true;
        // What was proved behind it has no checkpoint to stand on.
        proved.take(runId);
        turn.handOver();
        throw error;
      });
      attempt.written = Promise.all([attempt.written, written]);
      // Whoever waits for the page is told.
      attempt.written.catch(() => undefined);
      return written;
    },
    async end(runId) {
      attempts.delete(runId);
      await record(proved.take(runId));
    },
    census: writer.census,
  };
}
