/** The thread that reads pages of variants (threads.ts starts it). */
import { workerData } from 'node:worker_threads';
import { createPageReader, type RowsOfPage, type UnreadPage } from './page-reader.ts';
import { serveThread } from './serve.ts';

/** As threads.ts has it. */
const names: Parameters<typeof createPageReader>[0] = workerData.data;
const readPage = createPageReader(names);

serveThread<UnreadPage, RowsOfPage>(
  (page) => {
    const value = readPage(page);
    return { value, moved: [value.json.buffer, value.extras.buffer] };
  },
  async () => undefined,
);
