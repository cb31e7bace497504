/** Deliveries of orders that we sent, while something is open about the order. */
import { expect, it } from 'vitest';
import { endIncidents, openIncident } from '../../../src/store/incidents.ts';
import type { OutboxState } from '../../../src/store/tables.ts';
import { createDeciderFixture, type DeciderFixture } from '../support.ts';

interface Sent {
  readonly state: OutboxState;
  readonly attempts?: number;
  readonly reference?: string;
  readonly orderId?: number;
  readonly desk?: string;
  readonly candidate?: number;
  /** The barcode of its line. */
  readonly barcode?: string;
  /** The highest order before it was sent. */
  readonly floor?: number;
  /** When it was looked for last. */
  readonly lookedAt?: number;
}

async function sendOrder({ store }: DeciderFixture, sent: Sent): Promise<void> {
  const { state, attempts = 1, reference = 'A-1', orderId = null, desk = null } = sent;
  const { barcode = 'none', floor = 0, lookedAt } = sent;
  const body = JSON.stringify({ lines: [{ barcode }] });
  const isOver = state === 'confirmed' || state === 'canceled';
  await store.db
    .insertInto('outbox')
    .values({
      ...{ outbox_id: 17, kind: 'order', ordering_key: 'order/a-1', reference, state, attempts },
      ...{ reference_key: reference.toLowerCase(), body, body_hash: '', cause: 'test' },
      ...{ expected_from: null, due_at: 0, created_at: 0, ended_at: isOver ? 0 : null },
      ...{ in_doubt_since: null, result: null, last_error: null, blocked_reason: desk },
      ...{ order_id: orderId, shown_reference: null },
    })
    .execute();
  await store.db
    .insertInto('outbox_attempt')
    .values({
      ...{ outbox_id: 17, attempt: 1, started_at: 0, ended_at: 0, class: 'ambiguous' },
      ...{ http_status: null, error_code: null, answer: null, count_before: null },
      max_order_id_before: floor,
    })
    .execute();
  if (lookedAt !== undefined) {
    const look = { source: 'look-up', outcome: 'not_found', complete: 1, detail: '{}' } as const;
    await store.db
      .insertInto('outbox_evidence')
      .values({ ...look, outbox_id: 17, at: lookedAt })
      .execute();
  }
  if (sent.candidate === undefined) return;
  const candidate = { outbox_id: 17, order_id: sent.candidate };
  await store.db.insertInto('outbox_candidate').values(candidate).execute();
}

async function houseWith(sent: Sent, reference = 'shown'): Promise<DeciderFixture> {
  const fixture = await createDeciderFixture();
  await sendOrder(fixture, sent);
  await fixture.order(1, { reference });
  await fixture.delivery({ id: 5, order: 1 });
  return fixture;
}

/** Returns the last decision with its reason, and how many accepts were pushed. */
async function decided(fixture: DeciderFixture) {
  await fixture.decide();
  const { db } = fixture.store;
  const all = await db.selectFrom('decision').select(['outcome', 'reason']).execute();
  const pushes = await db
    .selectFrom('outbox')
    .select('outbox_id')
    .where('kind', '=', 'delivery_status')
    .execute();
  return { ...all.at(-1), decisions: all.length, pushes: pushes.length };
}

const LATER = Number.MAX_SAFE_INTEGER;
const SEASON = 'season: sent AW27, shown none: it was taken as a plain order';

async function tell({ store }: DeciderFixture, detail: object): Promise<void> {
  const incident = { kind: 'push_differs', entity: 'outbox', key: '17', detail };
  await openIncident(store.db, incident, 0);
}

it('is held while a difference is open that matters, until a person has noted it', async () => {
  const fixture = await houseWith({ state: 'confirmed', orderId: 1 });
  await tell(fixture, { holds: true, differences: [SEASON, 'freight: …'] });
  const reason =
    `safeguard document: order 1 was taken in otherwise than it was sent: ${SEASON}, and 1 more; ` +
    'selvedge outbox show 17, then resolve --as noted';
  expect(await decided(fixture)).toEqual({ outcome: 'hold', reason, decisions: 1, pushes: 0 });
  await fixture.clock.advance(31_000);
  expect(await decided(fixture)).toMatchObject({ decisions: 1, pushes: 0 });
  await endIncidents(fixture.store.db, { kind: 'push_differs', entity: 'outbox' }, ['17'], 1);
  await fixture.clock.advance(31_000);
  expect(await decided(fixture)).toMatchObject({ outcome: 'accept', pushes: 1 });
});

it.each<[string, Sent, string]>([
  ['that was answered and not read back yet', { state: 'sent', orderId: 1 }, 'being looked at'],
  ['with the reference of one', { state: 'in_doubt', reference: 'SHOWN' }, 'being looked at'],
  ['that a look has found for one', { state: 'in_doubt', candidate: 1 }, 'being looked at'],
  ['that no look has seen yet', { state: 'in_doubt', barcode: 'a' }, 'it is looked for'],
  [
    'that a person must tell from another',
    { state: 'in_doubt', candidate: 1, desk: 'two' },
    'waits for a person: selvedge outbox show 17',
  ],
])('is held while it is of an order %s', async (_, sent, words) => {
  const fixture = await houseWith(sent);
  const held = { outcome: 'hold', reason: expect.stringContaining(words), pushes: 0 };
  expect(await decided(fixture)).toMatchObject(held);
  await fixture.store.db
    .updateTable('outbox')
    .set({ state: 'confirmed', ended_at: 1, blocked_reason: null, order_id: 1 })
    .where('outbox_id', '=', 17)
    .execute();
  await fixture.clock.advance(31_000);
  expect(await decided(fixture)).toMatchObject({ outcome: 'accept', pushes: 1 });
});

it('is accepted within a second once the order that was just answered is read back', async () => {
  const fixture = await houseWith({ state: 'sent', orderId: 1 });
  expect(await decided(fixture)).toMatchObject({ outcome: 'hold', pushes: 0 });
  const { db } = fixture.store;
  await db.updateTable('outbox').set({ state: 'confirmed', ended_at: 1 }).execute();
  await fixture.clock.advance(1_000);
  expect(await decided(fixture)).toMatchObject({ outcome: 'accept', pushes: 1 });
});

it.each<[string, Sent, object?]>([
  ['a difference that changes no goods', { state: 'confirmed', orderId: 1 }, { holds: false }],
  ['a difference of another order', { state: 'confirmed', orderId: 2 }, { holds: true }],
  ['one that was never sent', { state: 'queued', attempts: 0, reference: 'shown' }],
  ['one that another order was taken for', { state: 'in_doubt', candidate: 2 }],
  ['one that a look has not found in it', { state: 'in_doubt', barcode: 'a', lookedAt: LATER }],
  ['one that was sent after it', { state: 'in_doubt', barcode: 'a', floor: 1 }],
  ['one of other goods', { state: 'in_doubt', barcode: 'b' }],
  ['one that is over', { state: 'canceled', candidate: 1, reference: 'shown' }],
])('is not held for %s', async (_, sent, detail) => {
  const fixture = await houseWith(sent);
  if (detail) await tell(fixture, { differences: [SEASON], ...detail });
  expect(await decided(fixture)).toMatchObject({ outcome: 'accept', pushes: 1 });
});
