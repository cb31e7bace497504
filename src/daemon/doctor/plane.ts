/**
 * Checks the copy in PostgreSQL from the daemon's machine: its feed in the database, and the state
 * that its process reports.
 */
import type { Config } from '../../config/schema.ts';
import { formatDuration } from '../../lib/units.ts';
import { describeCopy, planeSettingsOf, readPlaneCopy, stepOfCopy } from '../../ops/plane-copy.ts';
import { ledgerFeedState } from '../../store/ledger-feed.ts';
import type { Db } from '../../store/store.ts';
import { bad, type Finding, fine, odd } from './finding.ts';

const BY_ITSELF = 'nothing else waits for it';

/** Findings about the copy in PostgreSQL; none where neither a copy nor a feed for one exists. */
export async function checkPlane(db: Db, config: Config, now: number): Promise<Finding[]> {
  const feed = await ledgerFeedState(db);
  const copy = readPlaneCopy(planeSettingsOf(config), now);
  if (!copy) {
    if (feed === 'absent') return [];
    const text = 'the database keeps a feed for a copy, and plane.url is not set';
    return [odd('plane', text, 'selvedge plane remove; or set plane.url again')];
  }
  if (feed === 'absent') {
    return [odd('plane', 'configured, and not initialized', 'selvedge plane init')];
  }
  if (feed === 'broken') {
    const text = 'the feed for the copy lacks a part, or is of another release';
    return [bad('plane', text, 'selvedge plane init')];
  }
  const text = `${describeCopy(copy)} (account ${copy.account})`;
  if (copy.error !== null) return [bad('plane', `${text}; ${BY_ITSELF}`, stepOfCopy(copy))];
  if (copy.state === 'absent' || copy.state === 'silent') {
    return [odd('plane', text, stepOfCopy(copy))];
  }
  if (!copy.isLate) return [fine('plane', text)];
  const limit = `more than plane.lagWarning (${formatDuration(config.plane.lagWarning)})`;
  return [odd('plane', `${text}, ${limit}`, stepOfCopy(copy))];
}
