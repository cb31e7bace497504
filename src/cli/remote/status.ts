/** Reads the overview of a console over a URL. */
import { z } from 'zod';
import type { OverviewData } from '../../console/read/overview.ts';
import type { RemoteConsole } from './console.ts';
import { shaped } from './shapes.ts';

const counted = z.object({ count: z.int(), oldestAt: z.number().nullable() });
const counts = z.record(z.string(), z.number());
const waitingOf = z.looseObject({ count: z.int(), parts: z.array(z.looseObject({})) });
const overview = shaped<OverviewData>(
  z.looseObject({
    status: z.looseObject({
      daemon: z.looseObject({ running: z.boolean() }),
      streams: z.array(z.looseObject({ stream: z.string(), dueInMs: z.number() })),
      deliveries: counts,
      pending: counts,
      waiting: z
        .looseObject({
          total: z.int(),
          overdue: z.int(),
          deliveries: waitingOf,
          documents: waitingOf,
          runs: waitingOf,
          incidents: waitingOf,
        })
        .optional(),
      outbox: counts,
      incidents: counts,
      foreignEvents: counts,
      events: z.looseObject({ count: z.int() }),
      causes: z.array(z.looseObject({ says: z.string() })),
      failingWorkers: z.array(z.looseObject({ since: z.number() })),
      paused: z.array(z.looseObject({ at: z.number() })),
    }),
    held: counted,
    underWay: counted,
    unknownOutcomes: z.int(),
    needs: z.array(z.looseObject({ what: z.string(), count: z.int() })),
  }),
);

export function readRemoteOverview(remote: RemoteConsole): Promise<OverviewData> {
  return remote.get('/index.json', overview);
}
