/** Routes that control pulls, below `/api/sync/`. */
import { z } from 'zod';
import type { SyncOperations } from '../sync/operations.ts';
import { actorFields } from './actor.ts';
import type { RouteGroup } from './api.ts';

const runBody = z.strictObject({ ...actorFields, stream: z.string(), full: z.boolean() });
/** Body of a release; `which` is the name of a stream, or the number of a run. */
const releaseBody = z.strictObject({ ...actorFields, which: z.string().min(1) });
const previewBody = z.strictObject({ ...actorFields, which: z.string().min(1) });
const plainBody = z.strictObject(actorFields);

export function syncRoutes(operations: SyncOperations): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/sync/run', async ({ body }) => {
        const { stream, full, ...who } = runBody.parse(body);
        await operations.runNow(stream, full, who);
        return { stream };
      });
      app.post('/api/sync/preview-release', ({ body }) =>
        operations.previewRelease(previewBody.parse(body).which),
      );
      app.post('/api/sync/retry-quarantine', ({ body }) =>
        operations.retryQuarantine(plainBody.parse(body)),
      );
      app.post('/api/sync/release', async ({ body }) => {
        const { which, ...who } = releaseBody.parse(body);
        return operations.release(which, who);
      });
    },
  };
}
