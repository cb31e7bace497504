/** What a person may do to the pulls, below `/api/sync/`. */
import { z } from 'zod';
import type { SyncOperations } from '../sync/operations.ts';
import type { RouteGroup } from './api.ts';
import { asker } from './asker.ts';

const runBody = z.strictObject({ ...asker, stream: z.string(), full: z.boolean() });
/** `which`: the name of a stream, or the number of a run. */
const releaseBody = z.strictObject({ ...asker, which: z.string().min(1) });

export function syncRoutes(operations: SyncOperations): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/sync/run', async ({ body }) => {
        const { stream, full, ...who } = runBody.parse(body);
        await operations.runNow(stream, full, who);
        return { stream };
      });
      app.post('/api/sync/release', async ({ body }) => {
        const { which, ...who } = releaseBody.parse(body);
        return operations.release(which, who);
      });
    },
  };
}
