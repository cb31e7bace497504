/** Opens the pauses, for the daemon, and for commands while none runs. */
import type { Config } from '../config/schema.ts';
import { cancelUnsent } from '../decisions/unsent.ts';
import { openPauses, type Pauses, type PausesDeps } from '../store/pauses.ts';

export function pausesOf(
  { dataDir, streams }: Pick<Config, 'dataDir' | 'streams'>,
  deps: Pick<PausesDeps, 'store' | 'clock' | 'log'>,
): Promise<Pauses> {
  return openPauses({
    ...deps,
    dataDir,
    streams: Object.keys(streams),
    cancelDecided: (tx, reason, at) => cancelUnsent(tx, reason, at),
  });
}
