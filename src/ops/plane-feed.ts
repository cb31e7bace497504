/**
 * Begins and ends the feed that a copy in PostgreSQL follows to learn of Selvedge's decisions and
 * pushes. Only the daemon writes the database, so it is asked for both.
 */
import type { Clock } from '../lib/clock.ts';
import { type Actor, writeAudit } from '../store/audit.ts';
import {
  addLedgerFeed,
  type LedgerFeedState,
  ledgerFeedState,
  removeLedgerFeed,
} from '../store/ledger-feed.ts';
import type { Store } from '../store/store.ts';

interface FeedChange {
  readonly before: LedgerFeedState;
  readonly now: LedgerFeedState;
}

export interface PlaneFeed {
  state(): Promise<LedgerFeedState>;
  /** Begins or ends the feed; writes nothing, the audit included, where nothing changes. */
  change(action: 'init' | 'remove', who: Actor): Promise<FeedChange>;
}

export function createPlaneFeed({
  store,
  clock,
}: {
  readonly store: Store;
  readonly clock: Clock;
}): PlaneFeed {
  return {
    state: () => ledgerFeedState(store.db),
    change: (action, who) =>
      store.transaction(async (tx) => {
        const before = await ledgerFeedState(tx);
        const wanted = action === 'init' ? 'whole' : 'absent';
        if (before === wanted) return { before, now: before };
        const at = clock.now();
        if (action === 'init') await addLedgerFeed(tx, at);
        else await removeLedgerFeed(tx);
        const act = { action: `plane.${action}`, subject: 'plane', detail: { before } };
        await writeAudit(tx, { ...who, ...act }, at);
        return { before, now: wanted };
      }),
  };
}
