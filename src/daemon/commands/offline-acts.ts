/** Acts that a command may do without a daemon, with the operations that they need. */
import { BugError } from '../../lib/errors.ts';
import { type BoundAct, bind } from '../../surface/perform.ts';
import type { OfflineParts } from './offline.ts';

/** Operations are built for the tag of the act alone, since each costs a start of its room. */
export async function offlineActs(parts: OfflineParts, name: string): Promise<readonly BoundAct[]> {
  const [tag] = name.split('.');
  switch (tag) {
    case 'sync': {
      const { syncActs } = await import('../../sync/surface.ts');
      const { offlineOperations } = await import('../sync.ts');
      const operations = offlineOperations(parts);
      return bind(syncActs, () => operations);
    }
    default:
      throw new BugError('acts.offline', `${name} is declared for offline work, which it has not`);
  }
}
