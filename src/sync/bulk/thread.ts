/**
 * Runs work on a thread that would keep the main thread from its listener. The thread starts with
 * the first question and ends after a while without one, so that its memory returns to the system.
 * When it dies, all pending questions fail and the next question starts a new thread.
 */

import type { ResourceLimits, Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../lib/clock.ts';
import { RetryLaterError, StoreError } from '../../lib/errors.ts';
import { programUrl } from '../../lib/process/program-url.ts';
import { startThread } from '../../lib/process/thread.ts';
import { DAMAGE_HINT } from '../../store/transaction/dialect.ts';

export type ThreadAnswer<T> =
  | { readonly id: number; readonly value: T }
  | {
      readonly id: number;
      readonly failed: string;
      /** Code of a StoreError, which no retry fixes; absent: another error. */
      readonly code?: string;
      readonly hint?: string | undefined;
    };

export interface ThreadQuestion<T> {
  readonly id: number;
  /** Question for the thread; undefined: the thread shall end. */
  readonly question: T | undefined;
}

export interface ThreadOptions {
  readonly name: string;
  /** Name of the thread's program, without suffix, beside this file. */
  readonly program: string;
  readonly data?: unknown;
  readonly limits: ResourceLimits;
  /** Called when the thread has ended, for whatever reason. */
  readonly onEnd?: () => void;
}

export interface Thread<Q, A> extends AsyncDisposable {
  /** Starts the thread before a question that is sure to come. */
  start(): Promise<void>;
  /** Asks the thread a question; `moved` is memory that is transferred with the question. */
  ask(question: Q, moved?: readonly ArrayBuffer[]): Promise<A>;
}

const IDLE_MS = 5_000;

/** Hints for the only two database failures at a thread's start that need a person. */
const FINAL_HINTS: ReadonlyMap<string, string> = new Map([
  ['store.damaged', DAMAGE_HINT],
  ['store.taken_away', 'keep the files, and restore a backup ("selvedge backup restore")'],
]);

class RunningThread<Q, A> {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (answer: ThreadAnswer<A>) => void>();
  readonly ended: Promise<void>;
  hasEnded = false;
  #lastId = 0;

  constructor({ name, program, data, limits, onEnd }: ThreadOptions, onIdle: () => void) {
    this.#worker = startThread(programUrl(import.meta.url, program), {
      data,
      limits,
      stepsBack: true,
    });
    let reason = 'it stopped';
    let final: { readonly code: string; readonly hint: string } | undefined;
    this.#worker.on('message', (answer: ThreadAnswer<A>) => {
      const resolve = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      resolve?.(answer);
      if (this.#waiting.size > 0) return;
      // An idle thread does not keep the process alive.
      this.#worker.unref();
      onIdle();
    });
    this.#worker.on('error', (error: Error & { readonly code?: unknown }) => {
      reason = error.message;
      const code = String(error.code);
      const hint = FINAL_HINTS.get(code);
      final = hint === undefined ? undefined : { code, hint };
    });
    this.ended = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.hasEnded = true;
        onEnd?.();
        const failed = `${name} ended: ${reason}`;
        const answer = { failed, ...final };
        for (const [id, give] of this.#waiting) give({ id, ...answer });
        this.#waiting.clear();
        resolve();
      });
    });
    this.#worker.unref();
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0;
  }

  ask(question: Q, moved: readonly ArrayBuffer[]): Promise<ThreadAnswer<A>> {
    return new Promise((resolve) => {
      const id = this.#next();
      // A question that cannot be sent throws when it is posted, and must not wait for an answer;
      // so it is posted first.
      this.#worker.postMessage({ id, question }, moved);
      this.#waiting.set(id, resolve);
      this.#worker.ref();
    });
  }

  end(): void {
    this.#worker.ref();
    this.#worker.postMessage({ id: this.#next(), question: undefined });
  }

  #next(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

export function createThread<Q, A>(options: ThreadOptions, clock: Clock): Thread<Q, A> {
  let running: RunningThread<Q, A> | undefined;
  let ending: Promise<void> | undefined;
  let idle: Timer | undefined;
  const end = (): void => {
    if (!running) return;
    if (!running.hasEnded) running.end();
    ending = running.ended;
    running = undefined;
  };
  const onIdle = (): void => {
    idle?.cancel();
    idle = clock.after(IDLE_MS, end);
  };
  const start = async (): Promise<RunningThread<Q, A>> => {
    idle?.cancel();
    // The old thread ends first, because two at once would not know of each other's transactions.
    await ending;
    if (!running || running.hasEnded) running = new RunningThread<Q, A>(options, onIdle);
    return running;
  };
  return {
    async start() {
      const { isIdle } = await start();
      // If the question never comes, the idle thread ends after a while.
      if (isIdle) onIdle();
    },
    async ask(question, moved = []) {
      const answer = await (await start()).ask(question, moved);
      if (!('failed' in answer)) return answer.value;
      const { failed, code, hint } = answer;
      if (code !== undefined) throw new StoreError(code, failed, { hint });
      throw new RetryLaterError('sync.thread_failed', failed);
    },
    async [Symbol.asyncDispose]() {
      idle?.cancel();
      end();
      await ending;
    },
  };
}
