/**
 * Runs the two threads of the bulk streams. Fetching, splitting and comparing digests stay on the
 * main thread, whose transport knows limits and session. Each page's bytes are moved (not copied)
 * to a thread that parses them, and the rows to a thread with its own database connection, so that
 * a million rows never block the listener.
 */
import type { Clock } from '../../lib/clock.ts';
import { BugError } from '../../lib/errors.ts';
import type { ListDiff } from '../../mirror/rows/full-diff.ts';
import type { ListTable } from '../../mirror/rows/prepared.ts';
import type { SqliteStore, StoreOptions } from '../../store/store.ts';
import { handOffOfThread, releaseCheckpoint } from '../../store/writers/write-hand-off.ts';
import type { PageCounts, Run } from '../run/run-repository.ts';
import type { PageForm, PageReader, RowsOfPage, UnreadPage } from './page-reader.ts';
import type { PageWriter, UnwrittenPage } from './page-writer.ts';
import { createThread } from './thread.ts';

export type WriterQuestion =
  | { readonly kind: 'write'; readonly page: UnwrittenPage }
  | { readonly kind: 'invalidateOutOfBand' }
  | { readonly kind: 'invalidateDuplicates'; readonly stream: string }
  | { readonly kind: 'join'; readonly run: Run }
  | {
      readonly kind: 'group';
      readonly of: ListTable;
      readonly column: string;
      readonly value: string;
    }
  | {
      readonly kind: 'diff';
      readonly of: ListTable;
      readonly stream: string;
      readonly source: string;
    };

export type WriterAnswer =
  | { readonly kind: 'write'; readonly counts: PageCounts }
  | { readonly kind: 'invalidateOutOfBand' | 'invalidateDuplicates' | 'join' }
  | { readonly kind: 'group'; readonly rows: number }
  | { readonly kind: 'diff'; readonly diff: ListDiff };

/**
 * Heap limits of the threads: each keeps a few pages, and a larger heap would only delay garbage
 * collection.
 */
const READER_LIMITS = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 24 };
const WRITER_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 6 };

export interface BulkThreads extends AsyncDisposable {
  readonly reader: PageReader;
  readonly writer: PageWriter;
}

function createReader(data: PageForm, clock: Clock, onRead: () => void) {
  const name = 'the thread that reads lists';
  const options = { name, program: 'reader-main', data, limits: READER_LIMITS };
  const thread = createThread<UnreadPage, RowsOfPage>(options, clock);
  const reader: PageReader = {
    expect() {
      onRead();
      thread.start().catch(() => undefined);
    },
    read(page) {
      onRead();
      return thread.ask(page, [page.bytes.buffer]);
    },
  };
  return { thread, reader };
}

function createWriter(
  data: StoreOptions & Pick<SqliteStore, 'writeHandOff' | 'files'>,
  clock: Clock,
) {
  const name = 'the thread that writes lists';
  const onEnd = (): void => {
    // The thread may have died inside a transaction, so its write lock and checkpoint are released.
    handOffOfThread(data.writeHandOff).release();
    releaseCheckpoint(data.writeHandOff);
  };
  const options = { name, program: 'writer-main', data, limits: WRITER_LIMITS, onEnd };
  const thread = createThread<WriterQuestion, WriterAnswer>(options, clock);
  const wrong = (): BugError => new BugError('bug.thread_answer', `a wrong answer of ${name}`);
  const writer: PageWriter = {
    async write(page) {
      const answer = await thread.ask({ kind: 'write', page }, [
        page.json.buffer,
        page.extras.buffer,
      ]);
      if (answer.kind !== 'write') throw wrong();
      return answer.counts;
    },
    async invalidateOutOfBand() {
      await thread.ask({ kind: 'invalidateOutOfBand' });
    },
    async invalidateDuplicates(stream) {
      await thread.ask({ kind: 'invalidateDuplicates', stream });
    },
    async join(run) {
      await thread.ask({ kind: 'join', run });
    },
    async diff(of, stream, source) {
      const answer = await thread.ask({ kind: 'diff', of, stream, source });
      if (answer.kind !== 'diff') throw wrong();
      return answer.diff;
    },
    async countGroup(of, column, value) {
      const answer = await thread.ask({ kind: 'group', of, column, value });
      if (answer.kind !== 'group') throw wrong();
      return answer.rows;
    },
  };
  return { thread, writer };
}

/**
 * Creates the threads; `options` are those of the daemon's open database, `form` that of the
 * account's rows.
 */
export function createBulkThreads(
  options: StoreOptions & Pick<SqliteStore, 'writeHandOff' | 'files'>,
  clock: Clock,
  form: PageForm = {},
): BulkThreads {
  const { thread: writing, writer } = createWriter(options, clock);
  // The writer starts with the reader, because rows that are read will be written.
  const { thread: reading, reader } = createReader(form, clock, () => {
    // A failure to start is ignored here; the next question to the writer reports it.
    writing.start().catch(() => undefined);
  });
  return {
    reader,
    writer,
    async [Symbol.asyncDispose]() {
      await Promise.all([reading[Symbol.asyncDispose](), writing[Symbol.asyncDispose]()]);
    },
  };
}
