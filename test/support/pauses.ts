/** The pauses of a store, with the files in its folder. */
import { dirname } from 'node:path';
import { cancelUnsent } from '../../src/decisions/unsent.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { openPauses, type Pauses } from '../../src/store/pauses.ts';
import type { Store } from '../../src/store/store.ts';

export const PUSHES = { target: 'pushes', name: '' } as const;
export const ORDERS = { target: 'pushes', name: 'order' } as const;
export const DECISIONS = { target: 'decisions', name: '' } as const;
export const STOCK = { target: 'stream', name: 'stock' } as const;
export const ALL = { target: 'all', name: '' } as const;

export function pausesIn(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  dataDir = dirname(store.path),
): Promise<Pauses> {
  return openPauses({
    ...{ store, clock, dataDir, log: silentLogger(), streams: ['brands', 'stock'] },
    cancelDecided: (tx, reason, at) => cancelUnsent(tx, reason, at),
  });
}
