/** The other end of a thread (thread.ts): answers one question at a time, in their order. */
import { parentPort } from 'node:worker_threads';
import { toError } from '../../lib/errors.ts';
import type { ThreadAnswer, ThreadQuestion } from './thread.ts';

/** What is answered, and the memory that is handed over with it. */
export interface Given<A> {
  readonly value: A;
  readonly moved?: readonly ArrayBuffer[];
}

export function serveThread<Q, A>(
  answer: (question: Q) => Promise<Given<A>> | Given<A>,
  onEnd: () => Promise<void>,
): void {
  const port = parentPort;
  let before: Promise<void> = Promise.resolve();
  port?.on('message', ({ id, question }: ThreadQuestion<Q>) => {
    before = before.then(async () => {
      if (question === undefined) {
        await onEnd();
        port.close();
        return;
      }
      let message: ThreadAnswer<A>;
      let moved: readonly ArrayBuffer[] = [];
      try {
        const given = await answer(question);
        message = { id, value: given.value };
        moved = given.moved ?? [];
      } catch (error) {
        message = { id, failed: toError(error).message };
      }
      port.postMessage(message, moved);
    });
  });
}
