/** Everything that is declared once and served by all doors, in the order of the tabs. */
import type { ActHead } from '../../surface/acts.ts';
import { syncActs } from '../../sync/surface.ts';

export const ACTS: readonly ActHead[] = [...syncActs];
