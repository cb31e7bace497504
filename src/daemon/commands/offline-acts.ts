/** Acts that a command may do without a daemon, with the operations that they need. */
import { BugError } from '../../lib/errors.ts';
import { silentLogger } from '../../lib/log.ts';
import type { Actor } from '../../store/audit.ts';
import { type BoundAct, bind } from '../../surface/perform.ts';
import type { OfflineParts } from './offline.ts';

async function actsOfOps(parts: OfflineParts): Promise<readonly BoundAct[]> {
  const { notifyActs, pauseActs, planeActs } = await import('../../ops/surface.ts');
  const { createPlaneFeed } = await import('../../ops/plane-feed.ts');
  const { createMessages } = await import('../notify.ts');
  const { pausesOf } = await import('../pauses.ts');
  const pauses = await pausesOf(parts.config, { ...parts, log: silentLogger() });
  return [
    ...bind(pauseActs, () => pauses),
    ...bind(notifyActs, () => createMessages(parts.config, parts)),
    ...bind(planeActs, () => createPlaneFeed(parts)),
  ];
}

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
    case 'events': {
      const { replayEvents } = await import('../../inbox/surface.ts');
      const { createEventOperations } = await import('../../inbox/operations.ts');
      const events = createEventOperations({ ...parts, wakeUp: () => undefined });
      return bind([replayEvents], () => events);
    }
    case 'orders': {
      const { forgetOrder } = await import('../../outbox/surface.ts');
      const { createForgetting } = await import('./forget.ts');
      return bind([forgetOrder], () => createForgetting(parts));
    }
    case 'portal': {
      const { openPortal } = await import('../../inbox/surface.ts');
      const { openPortal: open } = await import('./portal.ts');
      return bind([openPortal], () => ({ openPortal: (who: Actor) => open(parts, who) }));
    }
    case 'incidents': {
      const { incidentActs } = await import('../../ops/surface.ts');
      const { createIncidentOperations } = await import('../../ops/incidents.ts');
      const incidents = createIncidentOperations(parts);
      return bind(incidentActs, () => incidents);
    }
    case 'pause':
    case 'resume':
    case 'notify':
    case 'plane':
      return actsOfOps(parts);
    default:
      throw new BugError('acts.offline', `${name} is declared for offline work, which it has not`);
  }
}
