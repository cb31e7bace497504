/**
 * The two threads of the bulk streams. Fetching, splitting and proving stay on the main thread,
 * whose one transport knows limits and session; the bytes of each page are handed over (moved, not
 * copied) to a thread that parses them, and what it makes of them to one with a connection of its
 * own. So a million rows never keep the listener waiting.
 */
import type { MemberName } from '../../client/v1/dialect.ts';
import type { Clock } from '../../lib/clock.ts';
import { BugError } from '../../lib/errors.ts';
import type { ListCensus } from '../../mirror/rows/census.ts';
import type { ListTable } from '../../mirror/rows/prepared.ts';
import type { SqliteStore, StoreOptions } from '../../store/store.ts';
import { handOffOfThread, releaseCheckpoint } from '../../store/writers/write-hand-off.ts';
import type { PageCounts, Run } from '../run/ledger.ts';
import type { PageReader, RowsOfPage, UnreadPage } from './page-reader.ts';
import type { PageWriter, UnwrittenPage } from './page-writer.ts';
import { createThread } from './thread.ts';

export type WriterQuestion =
  | { readonly kind: 'write'; readonly page: UnwrittenPage }
  | { readonly kind: 'distrust' }
  | { readonly kind: 'distrustTwice'; readonly stream: string }
  | { readonly kind: 'join'; readonly run: Run }
  | {
      readonly kind: 'group';
      readonly of: ListTable;
      readonly column: string;
      readonly value: string;
    }
  | {
      readonly kind: 'census';
      readonly of: ListTable;
      readonly stream: string;
      readonly source: string;
    };

export type WriterAnswer =
  | { readonly kind: 'write'; readonly counts: PageCounts }
  | { readonly kind: 'distrust' | 'distrustTwice' | 'join' }
  | { readonly kind: 'group'; readonly rows: number }
  | { readonly kind: 'census'; readonly census: ListCensus };

/** They keep a few pages; more heap would only put garbage collection off. */
const READER_LIMITS = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 24 };
const WRITER_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 6 };

export interface BulkThreads extends AsyncDisposable {
  readonly reader: PageReader;
  readonly writer: PageWriter;
}

function createReader(data: readonly MemberName[], clock: Clock, onRead: () => void) {
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
    // It may have died inside a transaction.
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
    async distrust() {
      await thread.ask({ kind: 'distrust' });
    },
    async distrustTwice(stream) {
      await thread.ask({ kind: 'distrustTwice', stream });
    },
    async join(run) {
      await thread.ask({ kind: 'join', run });
    },
    async census(of, stream, source) {
      const answer = await thread.ask({ kind: 'census', of, stream, source });
      if (answer.kind !== 'census') throw wrong();
      return answer.census;
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
 * `options` and turns are those of the database that the daemon has open; `names`: what the account
 * names otherwise.
 */
export function createBulkThreads(
  options: StoreOptions & Pick<SqliteStore, 'writeHandOff' | 'files'>,
  clock: Clock,
  names: readonly MemberName[] = [],
): BulkThreads {
  const { thread: writing, writer } = createWriter(options, clock);
  // What is read will be written: the two start at the same time.
  const { thread: reading, reader } = createReader(names, clock, () => {
    // What is wrong with it is told to whoever asks it.
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
