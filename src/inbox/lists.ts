import { formatDuration } from '../lib/units.ts';
import { list, pageOfAll, ROWS_MAX } from '../surface/lists.ts';
import { time, whole } from '../surface/members.ts';
import { listMissed } from './event-coverage.ts';
import { EVENT, eventPlace, eventType, listEvents } from './overview.ts';

export const events = list({
  name: 'events.list',
  operation: 'listEvents',
  path: '/events',
  title: 'Events',
  about: 'stored events, the latest first',
  more:
    'Everything that was rightly signed is stored, whether it is understood or not. TIMES counts ' +
    'how often the relay has sent it. Times are UTC. --follow prints a line for each arrival ' +
    'until Ctrl-C; what another secret signed is in the log alone.',
  examples: [
    ['events list --since 1h', 'the last hour'],
    ['events list --order 4711', 'what we were told about an order'],
    ['events list --follow', 'while you press "send example" in the portal'],
  ],
  query: {
    type: eventType.optional(),
    order: whole('Order', { about: 'Id of the order that events name' }, 1).optional(),
    since: time('Since', { about: 'From then on: a time, or 2h for two hours ago' }).optional(),
  },
  row: EVENT,
  shown: [
    'receivedAt',
    'type',
    'orderId',
    {
      title: 'Lag',
      kind: 'duration',
      text: ({ receivedAt, sentAt }) => formatDuration(Math.max(0, receivedAt - sentAt)),
    },
    {
      title: 'Led to',
      text: ({ outcome }) => (outcome === 'refresh' ? 'a read of its order' : 'nothing'),
    },
    { title: 'Times', kind: 'whole', text: ({ duplicates }) => String(duplicates + 1) },
    'eventId',
  ],
  terminal: ['Received', 'Type', 'Order', 'Led to', 'Times', 'Event'],
  empty: 'No event fits. Where none ever came: is the endpoint subscribed (docs/connect.md)?',
  limit: 50,
  read: ({ db }, { order, ...filter }, page) => listEvents(db, { ...filter, orderId: order }, page),
  place: eventPlace,
});

export const missedEvents = list({
  name: 'events.missed',
  operation: 'listMissedEvents',
  path: '/events/missed',
  title: 'Missed events',
  about: 'deliveries of the last 24 hours that a sweep found, and no event announced in time',
  examples: [['events missed', 'the newest first']],
  query: {},
  row: {
    orderDeliveryId: whole('Delivery', { link: 'delivery', csv: 'delivery' }, 1),
    orderId: whole('Order', { link: 'order' }, 1),
    foundAt: time('Found by a sweep'),
    createdAt: time('Packed').nullable(),
  },
  shown: ['orderDeliveryId', 'orderId', 'createdAt', 'foundAt'],
  empty: 'No event was missed in 24 hours.',
  read: async ({ db, now }, _query, page) =>
    pageOfAll(await listMissed(db, now, ROWS_MAX), page, keyOf),
  place: keyOf,
});

function keyOf({ orderDeliveryId }: { readonly orderDeliveryId: number }): string {
  return String(orderDeliveryId);
}

export const eventLists = [events, missedEvents];
