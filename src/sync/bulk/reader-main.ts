/** The thread that reads pages of variants (threads.ts starts it). */
import { type RowsOfPage, rowsOfPage, type UnreadPage } from './page-reader.ts';
import { serveThread } from './serve.ts';

serveThread<UnreadPage, RowsOfPage>(
  (page) => {
    const value = rowsOfPage(page);
    return { value, moved: [value.json.buffer, value.extras.buffer] };
  },
  async () => undefined,
);
