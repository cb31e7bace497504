/** Acts of people and programs on events of the relay, and on its portal. */
import { z } from 'zod';
import type { PortalLink } from '../client/portal-link.ts';
import type { Actor } from '../store/audit.ts';
import { act } from '../surface/acts.ts';
import { invalid } from '../surface/given.ts';
import { as, time } from '../surface/members.ts';
import type { EventOperations, ReplayResult, Selection } from './operations.ts';

/** Most event ids of one replay; more events are replayed by time. */
const IDS_MAX = 10_000;

const selected = {
  ids: as(z.array(z.string().min(1).max(256)).min(1).max(IDS_MAX), 'Events', 'text', {
    about: 'Ids of events, as the relay has them',
  }).optional(),
  since: time('Since', { about: 'All events that came from this time on' }).optional(),
};

interface Selected {
  readonly ids?: readonly string[] | undefined;
  readonly since?: number | undefined;
}

function selectionOf({ ids, since = 0 }: Selected): Selection {
  return ids ? { ids } : { since };
}

function sentence(result: ReplayResult, are: string): string {
  const { events, orders, withoutOrder, newlyUnderstood } = result;
  const parts = [
    `${events} events: ${orders} orders ${are} read again`,
    withoutOrder > 0 && `${withoutOrder} name none`,
    newlyUnderstood > 0 && `${newlyUnderstood} were not understood when they came`,
  ];
  return parts.filter((part) => part !== false).join(', ');
}

export const replayEvents = act({
  name: 'events.replay',
  operation: 'replayEvents',
  path: '/events/replay',
  about: 'read the orders of stored events again',
  more:
    'Each event is interpreted again, as this program understands it, and its order is read\n' +
    'again; ten events of one order are one read. Always safe: an event is a hint, what the\n' +
    'service says now is what counts.',
  button: 'Replay',
  role: 'operator',
  reason: 'page',
  args: ['ids'],
  input: selected,
  output: z.strictObject({
    events: z.int(),
    orders: z.int().meta({ description: 'To read again; ten events of one make one read' }),
    withoutOrder: z.int().meta({ description: 'Events that name no order' }),
    newlyUnderstood: z.int().meta({ description: 'Events that were of an unknown type' }),
  }),
  offline: true,
  examples: [
    ['events replay --since 1d --dry-run', 'how much would that be?'],
    ['events replay msg_2x…', 'read the order of this event again'],
  ],
  check({ ids, since }) {
    if (ids === undefined && since === undefined) {
      throw invalid('which events?', 'name their ids, or a time: since, such as 2h');
    }
    if (ids !== undefined && since !== undefined) throw invalid('ids or since, not both');
  },
  async preview(events: EventOperations, input) {
    const result = await events.preview(selectionOf(input));
    return { ...result, lines: [sentence(result, 'would be')] };
  },
  run: (events, input, actor) => events.replay(selectionOf(input), actor),
  done: (result) => sentence(result, 'are'),
});

export interface PortalOperations {
  /** Makes a link into the relay's portal, which is kept out of every log line. */
  openPortal(who: Actor): Promise<PortalLink>;
}

export const openPortal = act({
  name: 'portal.open',
  operation: 'openPortal',
  path: '/events/portal',
  about: 'make a link into the portal of the relay, which works once',
  more:
    'Asks the service for a link that opens the portal once: endpoints, signing secrets, the\n' +
    'history, re-sending. Its owner can send our events elsewhere, so it is printed to\n' +
    'standard output only, never logged, and the audit keeps who asked.',
  button: 'Open the portal',
  role: 'approver',
  reason: 'page',
  input: {},
  output: z.strictObject({
    url: z.string().meta({ description: 'Works once' }),
    expiresAt: z.string().nullable(),
  }),
  secret: 'url',
  offline: true,
  examples: [['portal open', 'open the printed address in a browser, once']],
  async preview(_portal: PortalOperations) {
    return { lines: ['the service would be asked for a link into the portal, which works once'] };
  },
  async run(portal, _input, actor) {
    const { url, expiresAt } = await portal.openPortal(actor);
    return { url: url.reveal(), expiresAt: expiresAt ?? null };
  },
  done({ expiresAt }) {
    const until = expiresAt === null ? '' : `, until ${expiresAt}`;
    return `works once${until}; anyone who has it can change where events go`;
  },
});
