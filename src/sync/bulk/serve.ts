/**
 * Thread side of thread.ts: answers each question as it arrives. The caller keeps questions that
 * depend on each other in order.
 */
import { parentPort } from 'node:worker_threads';
import { StoreError, toError } from '../../lib/errors.ts';
import type { ThreadAnswer, ThreadQuestion } from './thread.ts';

/** An answer, and the memory that is transferred to the other thread with it. */
export interface Given<A> {
  readonly value: A;
  readonly moved?: readonly ArrayBuffer[];
}

export function serveThread<Q, A>(
  answer: (question: Q) => Promise<Given<A>> | Given<A>,
  onEnd: () => Promise<void>,
): void {
  const port = parentPort;
  const open = new Set<Promise<void>>();
  const give = async (id: number, question: Q): Promise<void> => {
    let message: ThreadAnswer<A>;
    let moved: readonly ArrayBuffer[] = [];
    try {
      const given = await answer(question);
      message = { id, value: given.value };
      moved = given.moved ?? [];
    } catch (error) {
      const { message: failed } = toError(error);
      // An error's class does not survive the transfer between threads, so a StoreError is sent by
      // its code.
      const isStore = error instanceof StoreError;
      message = isStore ? { id, failed, code: error.code, hint: error.hint } : { id, failed };
    }
    port?.postMessage(message, moved);
  };
  const end = async (): Promise<void> => {
    await Promise.all(open);
    await onEnd();
    port?.close();
  };
  port?.on('message', ({ id, question }: ThreadQuestion<Q>) => {
    if (question === undefined) {
      void end();
      return;
    }
    const given = give(id, question).finally(() => open.delete(given));
    open.add(given);
  });
}
