/**
 * Renews the lease on a thread of its own while a take-over restores the backup: some steps of that
 * hold this thread for longer than a lease is long, and another machine would take it meanwhile.
 */
import { once } from 'node:events';
import { StoreError, SUPERSEDED } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { programUrl } from '../../lib/process/program-url.ts';
import { startThread } from '../../lib/process/thread.ts';
import type { Holding } from '../lease.ts';
import type { Memory } from '../memory.ts';
import type { StandbySettings } from '../settings.ts';

export type RenewingSettings = Pick<
  StandbySettings,
  'servers' | 'schema' | 'timeoutMs' | 'renewMs'
>;

/** Data of the thread. */
export interface RenewingStart {
  readonly me: Holding;
  readonly servers: readonly string[];
  readonly schema: string;
  readonly timeoutMs: number;
  readonly renewMs: number;
  readonly timeline: number;
}

/** Message of the thread: why a renewal failed, or that the lease is another machine's. */
export interface RenewalFailed {
  readonly code: string;
  readonly message: string;
  readonly hint: string | undefined;
}

const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };

export interface Renewing {
  /** Rejects once the lease is another machine's, or nobody renews it any more. */
  readonly lost: Promise<never>;
  end(): Promise<void>;
}

export function renewBeside(
  me: Holding,
  {
    settings,
    memory,
    log,
  }: {
    readonly settings: RenewingSettings;
    readonly memory: Pick<Memory, 'highest'>;
    readonly log: Logger;
  },
): Renewing {
  const { servers, schema, timeoutMs, renewMs } = settings;
  const addresses = servers.map((server) => server.reveal());
  const start = { me, schema, timeoutMs, renewMs, timeline: memory.highest(), servers: addresses };
  const data: RenewingStart = start;
  const program = programUrl(import.meta.url, 'renewing-main');
  const worker = startThread(program, { data, stepsBack: false, limits: LIMITS });
  const exit = once(worker, 'exit');
  const lost = new Promise<never>((_, reject) => {
    worker.on('message', ({ code, message, hint }: RenewalFailed) => {
      if (code === SUPERSEDED) reject(new StoreError(code, message, { hint }));
      else log.warn({ code, hint }, message);
    });
    worker.on('error', reject);
    void exit.then(
      () => reject(new StoreError('standby.renewal', 'nobody renews the lease any more')),
      () => undefined,
    );
  });
  // Nobody may be waiting any more when it ends.
  lost.catch(() => undefined);
  return {
    lost,
    async end() {
      worker.postMessage('end');
      await exit.catch(() => undefined);
    },
  };
}
