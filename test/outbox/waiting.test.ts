/** A document that has not left says what it waits for, and what ends that. */
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { documentState, PAUSED_BY } from '../../src/outbox/document-state.ts';
import { pauseFile } from '../../src/store/pauses.ts';
import { writeAccountHold } from '../../src/store/state.ts';
import { ORDERS, PUSHES, pausesIn } from '../support/pauses.ts';
import { temporaryStore } from '../support/store.ts';
import { delivered, intakeOf, order } from './intake/support.ts';

async function withOrder() {
  const clock = systemClock();
  const store = await temporaryStore(clock);
  const intake = intakeOf(store);
  const submit = async (reference: string, kind = 'order', payload: unknown = order()) => {
    const [handed] = await intake.submit([{ ...delivered(reference, payload), kind }]);
    if (!handed?.ok) throw new Error('not taken');
    return handed.documentId;
  };
  const id = await submit('SO-1');
  const step = async (outboxId = id) => (await documentState(store.db, outboxId))?.nextAction;
  const set = (change: object, outboxId = id) =>
    store.db.updateTable('outbox').set(change).where('outbox_id', '=', outboxId).execute();
  return { clock, store, submit, id, step, set };
}

it('its turn, and how many come before it', async () => {
  const { submit, step, id } = await withOrder();
  expect(await step()).toBe('nothing: it is sent as soon as its turn has come');
  const last = await submit('SO-2');
  expect(await step(last)).toMatch(/its turn has come; before it: 1, as fast as service\.limits/);
  expect(await step(id)).toBe('nothing: it is sent as soon as its turn has come');
});

it('the pause of its kind, of all pushes or of everything, with what ends that', async () => {
  const { store, clock, step } = await withOrder();
  const pauses = await pausesIn({ store, clock });
  const who = { actor: 'ann', reason: 'wrong price list' };
  await pauses.pause({ target: 'pushes', name: 'style' }, who);
  expect(await step()).toMatch(/^nothing: /);
  await pauses.pause(ORDERS, who);
  const resume = 'selvedge resume pushes --kind order --reason "…"';
  expect(await step()).toBe(
    `wait: paused by ann (pushes of orders): ${who.reason}; to go on: ${resume}`,
  );
  await pauses.pause(PUSHES, who);
  expect(await step()).toContain('(pushes): wrong price list; to go on: selvedge resume pushes --');
  writeFileSync(pauseFile(dirname(store.path), 'all'), 'moving house');
  await pauses.followFiles();
  expect(await step()).toContain('to go on: remove the file all.paused from the data folder');
});

it('a disk that is too full', async () => {
  const { step, set } = await withOrder();
  await set({ last_error: PAUSED_BY.disk });
  expect(await step()).toContain(`wait: ${PAUSED_BY.disk}; to go on: make room on the disk`);
});

it('an account that is not known to be that of the mirror', async () => {
  const { store, clock, step } = await withOrder();
  await writeAccountHold(store.db, 'https://b cannot be compared with https://a', clock);
  expect(await step()).toMatch(/^wait: nothing is asked of the service: .*selvedge account show$/);
});

it('its order, which is on the way; and a person, when that is left to one', async () => {
  const { submit, step, set, id } = await withOrder();
  const lines = [{ barcode: '1', quantity: 1 }];
  const refund = await submit('R-1', 'pending_refund', { orderReference: 'SO-1', lines });
  expect(await step(refund)).toBe(`wait: order SO-1 (document ${id}, queued) goes first`);
  await set({ state: 'in_doubt', blocked_reason: 'two have this reference' });
  expect(await step(refund)).toContain(
    `wait for outbox ${id}, which goes first and needs a person`,
  );
});

it('the service, with the words of its last error; and a dry run, which is none', async () => {
  const { step, set } = await withOrder();
  await set({ last_error: 'POST /orders: connect ECONNREFUSED' });
  expect(await step()).toMatch(
    /^wait: it was not sent yet \(POST \/orders: connect ECONNREFUSED\)/,
  );
  await set({ last_error: `${PAUSED_BY.dryRun}: it is fit and would be sent now` });
  expect(await step()).toMatch(/to go on: set outbox\.dryRun: false and restart the daemon$/);
});
