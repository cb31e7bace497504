/** Everything that is declared once and served by all doors, in the order of the tabs. */
import { ruleLists, rules } from '../../decisions/reject/lists.ts';
import { resetBreaker, ruleActs } from '../../decisions/reject/surface.ts';
import { deliveries, views } from '../../decisions/review/lists.ts';
import { changes, facts } from '../../decisions/review/parts.ts';
import { deliveryActs } from '../../decisions/review/surface.ts';
import { eventLists, events } from '../../inbox/lists.ts';
import { openPortal, replayEvents } from '../../inbox/surface.ts';
import { found } from '../../mirror/find/find.ts';
import { orderDeliveries } from '../../mirror/find/order.ts';
import { stockLists, variants } from '../../mirror/stock/style.ts';
import { audit, backups, findings, incidents, settings } from '../../ops/lists.ts';
import { incidentActs, notifyActs, pauseActs, planeActs } from '../../ops/surface.ts';
import { troubles } from '../../ops/troubles.ts';
import { orders, pushes, refunds } from '../../outbox/lists.ts';
import { forgetOrder, outboxActs } from '../../outbox/surface.ts';
import { reportLists } from '../../report/lists.ts';
import { suggestions } from '../../suggest/lists.ts';
import type { ActHead } from '../../surface/acts.ts';
import type { List } from '../../surface/lists.ts';
import { runs, streams } from '../../sync/lists.ts';
import { syncActs } from '../../sync/surface.ts';
import { sessions } from '../access/lists.ts';
import { peopleActs } from './people.ts';

export const ACTS: readonly ActHead[] = [
  ...deliveryActs,
  ...outboxActs,
  ...ruleActs,
  resetBreaker,
  ...syncActs,
  replayEvents,
  openPortal,
  forgetOrder,
  ...pauseActs,
  ...incidentActs,
  ...notifyActs,
  ...planeActs,
  ...peopleActs,
];

/** Lists whose pages are made by hand around the declared table, with the reason. */
const BY_HAND = new Map<List, string>([
  [rules, 'is there before its figures are counted, with the breaker and the pause around it'],
  [deliveries, 'counts what its filter offers, acts on all that fit, and opens a delivery beside'],
  [suggestions, 'takes up to a minute, and shows what each proposal rests on'],
  [streams, 'shows runs under way, the latest runs and what could not be read below the table'],
  [runs, 'shows the figures of the stream and its acts above the table'],
  [events, 'shows what was missed and refused, the replay and the portal below the table'],
  [variants, 'is a grid of colours and sizes, with a chart of the days before'],
  [findings, 'is asked of the daemon only once the page is there, for it takes seconds'],
  [sessions, 'shows operators above the table, and ends sessions in it'],
]);

export const LISTS: readonly List[] = [
  deliveries,
  views,
  changes,
  facts,
  pushes,
  orders,
  orderDeliveries,
  refunds,
  found,
  ...stockLists,
  ...reportLists,
  ...ruleLists,
  suggestions,
  streams,
  runs,
  ...eventLists,
  incidents,
  troubles,
  findings,
  settings,
  audit,
  sessions,
  backups,
];

export function hasPageByHand(of: List): boolean {
  return BY_HAND.has(of);
}
