/** Entry point of the thread that reads pages of variants (started by threads.ts). */
import { workerData } from 'node:worker_threads';
import { createPageReader, type RowsOfPage, type UnreadPage } from './page-reader.ts';
import { serveThread } from './serve.ts';

/** Form of the account's rows, which threads.ts passes to the thread. */
const form: Parameters<typeof createPageReader>[0] = workerData.data;
const readPage = createPageReader(form);

serveThread<UnreadPage, RowsOfPage>(
  (page) => {
    const value = readPage(page);
    return { value, moved: [value.json.buffer, value.extras.buffer] };
  },
  async () => undefined,
);
