/** The thread that writes lists of variants (thread.ts starts it). One request at a time. */
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { systemClock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import { openSecondWriter, type SqliteStore } from '../../store/store.ts';
import type { ThreadAnswer, ThreadRequest } from './thread.ts';
import { createVariantPages, type VariantPages } from './variant-pages.ts';

const optionsSchema = z.object({
  path: z.string(),
  busyTimeoutMs: z.number(),
  checkpoint: z.enum(['own', 'external']).optional(),
  turns: z.instanceof(SharedArrayBuffer),
});

async function answerTo(pages: VariantPages, request: ThreadRequest): Promise<ThreadAnswer> {
  const { id } = request;
  try {
    if (request.kind === 'write') {
      return { id, kind: 'written', counts: await pages.write(request.page) };
    }
    if (request.kind === 'census') {
      const census = await pages.census(request.stream, request.list, request.source);
      return { id, kind: 'counted', census };
    }
    if (request.kind === 'close') return { id, kind: 'failed', message: 'nothing to do' };
    await pages[request.kind](request.runId);
    return { id, kind: 'done' };
  } catch (error) {
    return { id, kind: 'failed', message: toError(error).message };
  } finally {
    // Frees the page's bytes at once; the garbage collector would let a hundred pages pile up.
    if (request.kind === 'write') request.page.batch.bytes.buffer.transfer(0);
  }
}

function serve(store: SqliteStore): void {
  const pages = createVariantPages({ store, clock: systemClock() });
  let before: Promise<void> = Promise.resolve();
  parentPort?.on('message', (request: ThreadRequest) => {
    before = before.then(async () => {
      if (request.kind === 'close') {
        await store.close();
        parentPort?.close();
        return;
      }
      parentPort?.postMessage(await answerTo(pages, request));
    });
  });
}

serve(await openSecondWriter(optionsSchema.parse(workerData), systemClock()));
