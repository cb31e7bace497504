/** The thread that writes pages of variants (threads.ts starts it). */
import { workerData } from 'node:worker_threads';
import { z } from 'zod';
import { systemClock } from '../../lib/clock.ts';
import { openSecondWriter } from '../../store/store.ts';
import { createPageWriter } from './page-writer.ts';
import { type Given, serveThread } from './serve.ts';
import type { WriterAnswer, WriterQuestion } from './threads.ts';

const optionsSchema = z.object({
  path: z.string(),
  busyTimeoutMs: z.number(),
  checkpoint: z.enum(['own', 'external']).optional(),
  turns: z.instanceof(SharedArrayBuffer),
});

const clock = systemClock();
const store = await openSecondWriter(optionsSchema.parse(workerData), clock);
const writer = createPageWriter({ store, clock });

async function answer(question: WriterQuestion): Promise<Given<WriterAnswer>> {
  if (question.kind === 'census') {
    const { stream, list, source } = question;
    return { value: { kind: 'census', census: await writer.census(stream, list, source) } };
  }
  if (question.kind === 'distrust') {
    await writer.distrust();
    return { value: { kind: 'distrust' } };
  }
  try {
    return { value: { kind: 'write', counts: await writer.write(question.page) } };
  } finally {
    // Frees it at once; the garbage collector would let a hundred pages pile up.
    question.page.json.buffer.transfer(0);
  }
}

serveThread(answer, () => store.close());
