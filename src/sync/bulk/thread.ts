/**
 * The thread that writes lists of variants: splitting and fetching stay on the main thread, whose
 * one transport knows limits and session; the bytes of each page are handed over (moved, not
 * copied) to a thread with a database connection of its own. So a million rows never keep the
 * listener waiting.
 *
 * The thread starts with the first run. When it dies, everything that waits for it fails, the
 * runs go on from their checkpoints later, and the next one starts a new thread.
 */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Clock, systemClock, type Timer } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import type { ListCensus } from '../../mirror/list.ts';
import type { SqliteStore, StoreOptions } from '../../store/store.ts';
import { leaveLog, turnsOfThread } from '../../store/writers/turns.ts';
import type { PageCounts } from '../run/ledger.ts';
import type { VariantList, VariantPage, VariantPages } from './variant-pages.ts';

export type ThreadRequest =
  | { readonly id: number; readonly kind: 'write'; readonly page: VariantPage }
  | {
      readonly id: number;
      readonly kind: 'census';
      readonly stream: string;
      readonly list: VariantList['kind'];
      readonly source: string;
    }
  | { readonly id: number; readonly kind: 'begin' | 'end'; readonly runId: number }
  | { readonly id: number; readonly kind: 'close' };

export type ThreadAnswer =
  | { readonly id: number; readonly kind: 'written'; readonly counts: PageCounts }
  | { readonly id: number; readonly kind: 'counted'; readonly census: ListCensus }
  | { readonly id: number; readonly kind: 'done' }
  | { readonly id: number; readonly kind: 'failed'; readonly message: string };

type ThreadOptions = StoreOptions & Pick<SqliteStore, 'turns'>;

export interface VariantThread extends VariantPages, AsyncDisposable {}

/** The thread keeps a few pages; more heap would only put garbage collection off. */
const LIMITS = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 24 };

/** Beside this file: `.ts` in a checkout, `.js` in the package. */
function entry(): URL {
  const suffix = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./thread-main.${suffix}`, import.meta.url);
}

/** What the process has compiled and keeps: without it the thread takes twice as long to start. */
function environment(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir();
  // It names a folder for this very version of Node inside of the one that was asked for.
  return folder ? { ...process.env, NODE_COMPILE_CACHE: dirname(folder) } : process.env;
}

type Waiting = (answer: ThreadAnswer) => void;

class Thread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly ended: Promise<void>;
  hasEnded = false;

  constructor(options: ThreadOptions) {
    this.#worker = new Worker(entry(), {
      workerData: options,
      resourceLimits: LIMITS,
      env: environment(),
    });
    let reason = 'it stopped';
    this.#worker.on('message', (answer: ThreadAnswer) => {
      const resolve = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      resolve?.(answer);
      // Between pages it does not keep the process alive.
      if (this.#waiting.size === 0) this.#worker.unref();
    });
    this.#worker.on('error', (error: Error) => {
      reason = error.message;
    });
    this.ended = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.hasEnded = true;
        // It may have died inside a transaction.
        turnsOfThread(options.turns).leave();
        leaveLog(options.turns);
        const message = `the thread that writes lists ended: ${reason}`;
        for (const [id, give] of this.#waiting) give({ id, kind: 'failed', message });
        this.#waiting.clear();
        resolve();
      });
    });
    this.#worker.unref();
  }

  ask(request: ThreadRequest, moved: readonly ArrayBuffer[]): Promise<ThreadAnswer> {
    return new Promise((resolve) => {
      this.#waiting.set(request.id, resolve);
      this.#worker.ref();
      this.#worker.postMessage(request, moved);
    });
  }
}

function broken(answer: ThreadAnswer): RetryLaterError {
  const message = answer.kind === 'failed' ? answer.message : 'the thread gave a wrong answer';
  return new RetryLaterError('sync.thread_failed', message);
}

/** A thread without a run ends after this: its heap and its caches go back to the system. */
const IDLE_MS = 5_000;

/** `options` and turns are those of the database that the daemon has open. */
export function createVariantThread(
  options: ThreadOptions,
  clock: Clock = systemClock(),
): VariantThread {
  const runs = new Set<number>();
  let thread: Thread | undefined;
  let ending: Promise<void> | undefined;
  let idle: Timer | undefined;
  let lastId = 0;
  const ask = (
    request: (id: number) => ThreadRequest,
    moved: readonly ArrayBuffer[] = [],
  ): Promise<ThreadAnswer> => {
    if (!thread || thread.hasEnded) thread = new Thread(options);
    lastId += 1;
    return thread.ask(request(lastId), moved);
  };
  const askOfRun = async (kind: 'begin' | 'end', runId: number): Promise<void> => {
    const answer = await ask((id) => ({ id, kind, runId }));
    if (answer.kind !== 'done') throw broken(answer);
  };
  const close = (): void => {
    const old = thread;
    if (!old || old.hasEnded) return;
    thread = undefined;
    lastId += 1;
    void old.ask({ id: lastId, kind: 'close' }, []);
    ending = old.ended;
  };
  return {
    begin(runId) {
      idle?.cancel();
      runs.add(runId);
      return askOfRun('begin', runId);
    },
    async end(runId) {
      runs.delete(runId);
      try {
        await askOfRun('end', runId);
      } finally {
        idle?.cancel();
        idle = clock.after(IDLE_MS, () => (runs.size === 0 ? close() : undefined));
      }
    },
    async write(page) {
      const answer = await ask((id) => ({ id, kind: 'write', page }), [page.batch.bytes.buffer]);
      if (answer.kind !== 'written') throw broken(answer);
      return answer.counts;
    },
    async census(stream, list, source) {
      const answer = await ask((id) => ({ id, kind: 'census', stream, list, source }));
      if (answer.kind !== 'counted') throw broken(answer);
      return answer.census;
    },
    async [Symbol.asyncDispose]() {
      idle?.cancel();
      close();
      await ending;
    },
  };
}
