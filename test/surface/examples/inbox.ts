import type { CliHouse } from '../../cli/house.ts';
import type { Examples } from '../examples.ts';

async function stored({ daemon }: CliHouse) {
  const event = { event_id: 'msg_contract', received_at: 1, sent_at: 1, secret_name: 'one' };
  const rest = { type: null, order_id: null, duplicates: 0, outcome: 'stored' as const };
  await daemon.store.db
    .insertInto('webhook_event')
    .values({ ...event, ...rest, last_duplicate_at: null, body: Buffer.from('{}') })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return { ids: [event.event_id] };
}

export const inboxExamples: Examples = {
  'events.replay': {
    given: stored,
    nothing: { given: { ids: ['msg_none'] }, code: 'events.unknown' },
  },
  'portal.open': { given: async () => ({}) },
};
