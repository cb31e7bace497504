/** Entry point of the thread that renews the lease during a take-over (started by renewing.ts). */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../lib/clock.ts';
import { StoreError, SUPERSEDED } from '../../lib/errors.ts';
import { Secret } from '../../lib/secret.ts';
import { renew } from '../lease.ts';
import { asStandbyError } from '../refusal.ts';
import { createServers, type Session } from '../session.ts';
import type { RenewalFailed, RenewingStart } from './renewing.ts';

const { me, servers, schema, timeoutMs, renewMs, timeline }: RenewingStart = workerData.data;
const clock = systemClock();
let highest = timeline;
const source = createServers({
  settings: {
    servers: servers.map((url) => new Secret('standby.servers', url)),
    schema,
    timeoutMs,
  },
  clock,
  // The main thread's next session notes it in the data folder.
  timelines: {
    highest: () => highest,
    saw(seen) {
      highest = seen;
    },
  },
});

/** Renews until the signal aborts, or the lease is another machine's. */
async function keepRenewing(signal: AbortSignal): Promise<void> {
  let beat = 0;
  let session: Session | undefined;
  while (!signal.aborted) {
    try {
      session ??= await source.open();
      const row = await renew(session, me, beat, false);
      // An answer that was lost may have raised it.
      beat = row?.beat ?? beat + 1;
      if (row === undefined && (await renew(session, me, beat, false)) === undefined) {
        throw new StoreError(SUPERSEDED, 'another machine took the lease meanwhile');
      }
    } catch (thrown) {
      await session?.end();
      session = undefined;
      const { code, message, hint } = asStandbyError(thrown);
      const failed: RenewalFailed = { code, message, hint };
      parentPort?.postMessage(failed);
      if (code === SUPERSEDED) return;
    }
    await clock.sleep(renewMs, signal).catch(() => undefined);
  }
  await session?.end();
}

const stop = new AbortController();
parentPort?.once('message', () => {
  stop.abort();
  parentPort?.close();
});
await keepRenewing(stop.signal);
parentPort?.close();
