/**
 * Entry point of the thread that writes pages of variants and queries whole lists (started by
 * threads.ts).
 */
import { workerData } from 'node:worker_threads';
import { systemClock } from '../../lib/clock.ts';
import { openSecondWriter } from '../../store/store.ts';
import { createPageWriter } from './page-writer.ts';
import { type Given, serveThread } from './serve.ts';
import type { WriterAnswer, WriterQuestion } from './threads.ts';

/**
 * Options from threads.ts, which are not validated, because loading zod would take a third of the
 * thread's start.
 */
const options: Parameters<typeof openSecondWriter>[0] = workerData.data;
const clock = systemClock();
const store = await openSecondWriter(options, clock);
const writer = createPageWriter({ store, clock, isAwaited: () => store.isAwaited });

async function answer(question: WriterQuestion): Promise<Given<WriterAnswer>> {
  if (question.kind === 'diff') {
    const { of, stream, source } = question;
    return { value: { kind: 'diff', diff: await writer.diff(of, stream, source) } };
  }
  if (question.kind === 'join') {
    await writer.join(question.run);
    return { value: { kind: 'join' } };
  }
  if (question.kind === 'group') {
    const { of, column, value } = question;
    return { value: { kind: 'group', rows: await writer.countGroup(of, column, value) } };
  }
  if (question.kind === 'invalidateOutOfBand') {
    await writer.invalidateOutOfBand();
    return { value: { kind: 'invalidateOutOfBand' } };
  }
  if (question.kind === 'invalidateDuplicates') {
    await writer.invalidateDuplicates(question.stream);
    return { value: { kind: 'invalidateDuplicates' } };
  }
  try {
    return { value: { kind: 'write', counts: await writer.write(question.page) } };
  } finally {
    // The memory of the rows is freed at once; the garbage collector would let a hundred pages pile
    // up.
    const { json, extras } = question.page;
    for (const { buffer } of [json, extras]) buffer.transfer(0);
  }
}

serveThread(answer, () => store.close());
