/** Opens the pauses, for the daemon, and for commands while none runs. */
import type { Config } from '../config/schema.ts';
import { cancelUnsent } from '../decisions/unsent.ts';
import { compareActs } from '../store/backup/acts-since.ts';
import { databaseMadeAt } from '../store/backup/inspect.ts';
import { backupDirectory } from '../store/backup/manifest.ts';
import { openPauses, type Pauses, type PausesDeps } from '../store/pauses.ts';

export function pausesOf(
  config: Pick<Config, 'dataDir' | 'streams' | 'store'>,
  deps: Pick<PausesDeps, 'store' | 'clock' | 'log'>,
): Promise<Pauses> {
  const { dataDir, streams } = config;
  return openPauses({
    ...deps,
    dataDir,
    streams: Object.keys(streams),
    cancelDecided: (tx, reason, at) => cancelUnsent(tx, reason, at),
    async beforeResume(tx, { target }) {
      if (target !== 'pushes' && target !== 'all') return undefined;
      const { RESTORE_STEPS: steps } = await import('./upkeep.ts');
      const directories = [backupDirectory(config)];
      const listed = { steps, directories, madeAt: databaseMadeAt(deps.store.path) };
      return compareActs(tx, listed, deps.clock.now());
    },
  });
}
