/** A document that has not left says what it waits for, and what ends that. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { documentState } from '../../src/outbox/document-state.ts';
import { openOutboxStops } from '../../src/outbox/stops.ts';
import { HELD_BY, noteHeld } from '../../src/outbox/waiting.ts';
import { writeAccountHold } from '../../src/store/state.ts';
import { temporaryStore } from '../support/store.ts';
import { delivered, intakeOf, order } from './intake/support.ts';

async function withOrder() {
  const clock = systemClock();
  const store = await temporaryStore(clock);
  const intake = intakeOf(store);
  const handIn = async (reference: string, kind = 'order', payload: unknown = order()) => {
    const [handed] = await intake.handIn([{ ...delivered(reference, payload), kind }]);
    if (!handed?.ok) throw new Error('not taken');
    return handed.documentId;
  };
  const id = await handIn('SO-1');
  const step = async (outboxId = id) => (await documentState(store.db, outboxId))?.nextAction;
  const set = (change: object, outboxId = id) =>
    store.db.updateTable('outbox').set(change).where('outbox_id', '=', outboxId).execute();
  return { clock, store, handIn, id, step, set };
}

it('its turn, and how many come before it', async () => {
  const { handIn, step, id } = await withOrder();
  expect(await step()).toBe('nothing: it is sent as soon as its turn has come');
  const last = await handIn('SO-2');
  expect(await step(last)).toMatch(/its turn has come; before it: 1, as fast as service\.limits/);
  expect(await step(id)).toBe('nothing: it is sent as soon as its turn has come');
});

it.each([
  [`${HELD_BY.pause}: moving house`, 'selvedge resume'],
  [HELD_BY.disk, 'make room on the disk'],
  [HELD_BY.stop, 'set outbox.stop: false and restart'],
  [HELD_BY.stopKinds, 'take the kind out of outbox.stopKinds'],
])('what holds its kind (%s), with what ends that', async (reason, wanted) => {
  const { store, clock, step } = await withOrder();
  const brake = (kind: string) => (kind === 'order' ? reason : undefined);
  await noteHeld({ store, clock }, ['order', 'style'], brake);
  const told = (await step()) ?? '';
  expect(told.startsWith(`wait: ${reason}; to go on: ${wanted}`)).toBe(true);
  await noteHeld({ store, clock }, ['order', 'style'], () => undefined);
  expect(await step()).toMatch(/^nothing: /);
});

it('the stop of a person, of everything or of its kind', async () => {
  const { store, clock, step } = await withOrder();
  const stops = await openOutboxStops({ store, clock, log: silentLogger() });
  const who = { actor: 'ann', reason: 'wrong price list' };
  await stops.stop('style', who);
  expect(await step()).toMatch(/^nothing: /);
  await stops.stop('order', who);
  const resume = 'selvedge outbox resume order --reason "…"';
  expect(await step()).toBe(`wait: ann stopped order: ${who.reason}; to go on: ${resume}`);
  await stops.stop(null, who);
  expect(await step()).toContain('ann stopped everything: wrong price list; to go on: ');
});

it('an account that is not known to be that of the mirror', async () => {
  const { store, clock, step } = await withOrder();
  await writeAccountHold(store.db, 'https://b cannot be compared with https://a', clock);
  expect(await step()).toMatch(/^wait: nothing is asked of the service: .*selvedge account show$/);
});

it('its order, which is on the way; and a person, when that is left to one', async () => {
  const { handIn, step, set, id } = await withOrder();
  const lines = [{ barcode: '1', quantity: 1 }];
  const refund = await handIn('R-1', 'pending_refund', { orderReference: 'SO-1', lines });
  expect(await step(refund)).toBe(`wait: order SO-1 (document ${id}, queued) goes first`);
  await set({ state: 'in_doubt', desk_reason: 'two have this reference' });
  expect(await step(refund)).toContain(`wait for outbox ${id}, which goes first and is left to`);
});

it('the service, with the words of its last error; and a dry run, which is none', async () => {
  const { step, set } = await withOrder();
  await set({ last_error: 'POST /orders: connect ECONNREFUSED' });
  expect(await step()).toMatch(
    /^wait: it was not sent yet \(POST \/orders: connect ECONNREFUSED\)/,
  );
  await set({ last_error: `${HELD_BY.dryRun}: it is fit and would be sent now` });
  expect(await step()).toMatch(/to go on: set outbox\.dryRun: false and restart the daemon$/);
});
