import { openIncident } from '../../../src/store/incidents.ts';
import type { CliHouse } from '../../cli/house.ts';
import type { Example, Examples } from '../examples.ts';

let made = 0;

/** A push that gave up, or is as given; pushes of orders are paused, so that it stays as it is. */
async function pushIn({ daemon, call }: CliHouse, more: object = {}) {
  await call('pause', 'pushes', 'order', '--reason', 'nothing is sent here');
  made += 1;
  const reference = `contract-${made}`;
  const given = { kind: 'order', ordering_key: reference, reference, body: '{}', body_hash: '' };
  const times = { due_at: 4e12, created_at: 1, ended_at: 1, attempts: 1 };
  const { outbox_id: push } = await daemon.store.db
    .insertInto('outbox')
    .values({ ...given, ...times, state: 'dead', cause: 'test', reference_key: reference, ...more })
    .returning('outbox_id')
    .executeTakeFirstOrThrow();
  return { push, reference };
}

async function dead(house: CliHouse, more: object = {}) {
  const { push } = await pushIn(house, more);
  return { push };
}

function refused(code: string, more: object = {}): Pick<Example, 'nothing' | 'again'> {
  return { nothing: { given: { push: 999_999, ...more }, code: 'outbox.unknown' }, again: code };
}

async function differing(house: CliHouse) {
  const given = await dead(house, { state: 'confirmed' });
  const incident = { kind: 'push_differs', entity: 'outbox', key: String(given.push), detail: {} };
  await openIncident(house.daemon.store.db, incident, 1);
  return given;
}

export const outboxExamples: Examples = {
  'outbox.retry': {
    given: (house) => dead(house),
    nothing: { given: { push: 999_999 }, code: 'outbox.unknown' },
  },
  'outbox.cancel': { given: (house) => dead(house), ...refused('outbox.wrong_state') },
  'outbox.absent': {
    given: (house) => pushIn(house),
    ...refused('outbox.wrong_state', { reference: 'contract-0' }),
  },
  'outbox.noted': { given: differing, ...refused('outbox.nothing_to_note') },
  'outbox.confirmed': {
    given: async (house) => ({ ...(await dead(house, { kind: 'refund_status' })), id: null }),
    ...refused('outbox.wrong_state', { id: null }),
  },
  'orders.forget': {
    async given(house) {
      const { reference } = await pushIn(house, { state: 'canceled' });
      return { order: reference, again: reference };
    },
    nothing: { given: { order: 'nobody', again: 'nobody' }, code: 'orders.unknown' },
  },
};
