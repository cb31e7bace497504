/** Corrections of refused, never sent documents under their own reference, at every door. */
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { revisionsOf } from '../../../src/outbox/corrections.ts';
import {
  createIntake,
  type IntakeDeps,
  type Submission,
} from '../../../src/outbox/intake/intake.ts';
import { createPreflight } from '../../../src/outbox/intake/preflight.ts';
import { readReceipt } from '../../../src/outbox/intake/receipt.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { temporaryStore } from '../../support/store.ts';
import { delivered, order } from './support.ts';

async function openIntake(whyOff: IntakeDeps['whyOff'] = () => undefined) {
  const store = await temporaryStore(systemClock());
  const taken: string[] = [];
  const hasRoom = () => true;
  const intake = createIntake({ store, onTaken: () => taken.push('taken'), hasRoom, whyOff });
  const submit = async (one: Submission) => (await intake.submit([one]))[0];
  const receipt = async () => readReceipt(store.db, 1);
  return { store, taken, submit, receipt };
}

/** Ends a document that was never sent, as the checks before the sending, or a person, do. */
async function end(store: SqliteStore, state: 'refused' | 'canceled', last_error: string) {
  await store.db.updateTable('outbox').set({ state, last_error, ended_at: 5_000 }).execute();
}

async function attempted(store: SqliteStore, attempt: number, kind: string | null) {
  await store.db
    .insertInto('outbox_attempt')
    .values({
      ...{ outbox_id: 1, attempt, started_at: 0, ended_at: 0, class: kind, http_status: null },
      ...{ error_code: null, answer: null, max_order_id_before: null, count_before: null },
    })
    .execute();
}

it('a confirmed price makes no other document, and is kept and audited', async () => {
  const { store, submit } = await openIntake();
  const confirmed = (more = {}) => {
    const line = { barcode: '5700000000017', quantity: 1, price: '19.95', priceConfirmed: true };
    return { ...delivered('A', { lines: [{ ...line, ...more }] }), source: 'second' };
  };
  const took = { ok: true, documentId: 1 };
  await submit(delivered('A'));
  // As long as it is open, or once it may have been sent, it is the first document again.
  expect(await submit(confirmed())).toEqual({ ...took, repeated: true });
  await end(store, 'refused', 'lines[0].price: is far from the list price');
  expect(await submit(confirmed())).toEqual({ ...took, repeated: false });
  expect(await submit(delivered('A'))).toEqual({ ...took, repeated: true });
  const row = await store.db.selectFrom('outbox').select('body').executeTakeFirstOrThrow();
  expect(row.body).toContain('"priceConfirmed":true');
  expect(await revisionsOf(store.db, 1)).toMatchObject([{ document: order() }]);
  const audit = await store.db.selectFrom('audit').select(['actor', 'action']).execute();
  expect(audit).toEqual([{ actor: 'cli:second', action: 'outbox.correct' }]);
  await attempted(store, 1, 'done');
  await end(store, 'refused', 'HTTP 422');
  expect(await submit(confirmed({ priceConfirmed: false }))).toEqual({ ...took, repeated: true });
  expect(await submit(confirmed({ price: '1.00' }))).toMatchObject({ ok: false, code: 'conflict' });
});

it('another content takes the place of what was refused before it was sent', async () => {
  const { store, taken, submit, receipt } = await openIntake();
  await submit(delivered('A'));
  await end(store, 'refused', 'lines[0].barcode: is not known at the service');
  expect((await receipt())?.nextStep).toContain('submit it again under the same reference');
  const corrected = { ...delivered('a ', order(2)), source: 'second', receivedAt: 6_000 };
  expect(await submit(corrected)).toEqual({ ok: true, documentId: 1, repeated: false });
  expect(taken).toHaveLength(2);
  expect(await receipt()).toMatchObject({
    ...{ documentId: 1, reference: 'A', state: 'queued', final: false, problems: [] },
    ...{ receivedAt: new Date(6_000).toISOString(), endedAt: null },
  });
  expect(await revisionsOf(store.db, 1)).toMatchObject([
    {
      ...{ revision: 1, document: order(), state: 'refused', submittedAt: 1_000 },
      lastError: 'lines[0].barcode: is not known at the service',
    },
  ]);
  const audit = await store.db.selectFrom('audit').select(['actor', 'action', 'subject']).execute();
  expect(audit).toEqual([{ actor: 'cli:second', action: 'outbox.correct', subject: 'outbox:1' }]);
});

it('the same content is checked once more after a refusal that was never sent', async () => {
  const { store, taken, submit, receipt } = await openIntake();
  await submit(delivered('A'));
  await end(store, 'refused', 'freight.type: there is no freight X');
  expect(await submit(delivered('A'))).toMatchObject({ documentId: 1, repeated: false });
  expect(await receipt()).toMatchObject({ state: 'queued' });
  expect(taken).toHaveLength(2);
  expect(await revisionsOf(store.db, 1)).toEqual([]);
  // While it waits it is the same document, and another one is none of it.
  expect(await submit(delivered('A'))).toMatchObject({ ok: true, repeated: true });
  expect(await submit(delivered('A', order(3)))).toMatchObject({ ok: false, code: 'conflict' });
});

it.each(['refused', 'ambiguous', null])(
  'what left once, and may have had an effect (%s), keeps its reference from other content',
  async (kind) => {
    const { store, submit, receipt } = await openIntake();
    await submit(delivered('A'));
    await attempted(store, 1, 'not_processed');
    await attempted(store, 2, kind);
    await end(store, 'refused', 'HTTP 422');
    expect(await submit(delivered('A', order(2)))).toMatchObject({ ok: false, code: 'conflict' });
    expect(await submit(delivered('A'))).toMatchObject({ ok: true, repeated: true });
    expect(await receipt()).toMatchObject({ state: 'refused' });
    expect((await receipt())?.nextStep).toContain('under a new reference');
  },
);

it('an attempt that the service did not process keeps nothing from being corrected', async () => {
  const { store, submit } = await openIntake();
  await submit(delivered('A'));
  await attempted(store, 1, 'not_processed');
  await end(store, 'refused', 'lines[0].barcode: is no longer sold at the service');
  expect(await submit(delivered('A', order(2)))).toMatchObject({ ok: true, repeated: false });
});

it('of what a person called off other content is taken, and the same one is not', async () => {
  const { store, submit, receipt } = await openIntake();
  await submit(delivered('A'));
  await end(store, 'canceled', 'ann canceled it: wrong price');
  expect(await submit(delivered('A'))).toMatchObject({ ok: true, repeated: true });
  expect(await receipt()).toMatchObject({ state: 'canceled' });
  expect((await receipt())?.nextStep).toContain('other content may come under the same reference');
  expect(await submit(delivered('A', order(2)))).toMatchObject({ ok: true, repeated: false });
  expect(await receipt()).toMatchObject({ state: 'queued' });
});

it('a refund that names another order goes out with the documents of that order', async () => {
  const { store, submit } = await openIntake();
  const refund = (orderReference: string): Submission => ({
    ...delivered('R-1', { orderReference, lines: [{ barcode: '1', quantity: 1 }] }),
    kind: 'pending_refund',
  });
  await submit(refund('SO-1'));
  await end(store, 'refused', 'orderReference: no such order');
  expect(await submit(refund('SO-2'))).toMatchObject({ documentId: 1, repeated: false });
  const row = await store.db.selectFrom('outbox').select(['ordering_key', 'order_id']).execute();
  expect(row).toEqual([{ ordering_key: 'order/so-2', order_id: null }]);
});

it('of a kind that is off nothing is corrected, and what was there stays', async () => {
  let off: string | undefined;
  const { store, submit, receipt } = await openIntake(() =>
    off === undefined ? undefined : { path: 'kind', message: off },
  );
  await submit(delivered('A'));
  await end(store, 'refused', 'no');
  off = 'orders are off';
  expect(await submit(delivered('A', order(2)))).toMatchObject({ ok: false, code: 'invalid' });
  expect(await submit(delivered('A'))).toMatchObject({ ok: false, code: 'invalid' });
  expect(await receipt()).toMatchObject({ state: 'refused' });
});

it('no more than twenty earlier contents are kept', async () => {
  const { store, submit } = await openIntake();
  for (let quantity = 1; quantity <= 24; quantity += 1) {
    await submit(delivered('A', order(quantity)));
    await end(store, 'refused', 'no');
  }
  const kept = await revisionsOf(store.db, 1);
  expect(kept).toHaveLength(20);
  expect(kept.at(-1)).toMatchObject({ revision: 23, document: order(23) });
});

it('the command is told of the new end, and no more of the one that is over', async () => {
  const { store, submit } = await openIntake();
  await submit(delivered('A'));
  await end(store, 'refused', 'no');
  const due = async () =>
    (await store.db.selectFrom('intake').select('callback_due_at').executeTakeFirstOrThrow())
      .callback_due_at;
  expect(await due()).toBe(5_000);
  await submit(delivered('A', order(2)));
  expect(await due()).toBe(null);
  await end(store, 'refused', 'no again');
  expect(await due()).toBe(5_000);
});

it('a dry run of the correction is a check, not a conflict', async () => {
  const { store, submit } = await openIntake();
  await submit(delivered('A'));
  await end(store, 'refused', 'no');
  const never = async (): Promise<never> => {
    throw new Error('a dry run sends nothing');
  };
  const clear = async () => ({ send: true, baseline: {}, warnings: [] }) as const;
  const rest = { creates: () => true, clear, lookUp: never, send: never };
  const kind = { kind: 'order', ...rest } as const;
  const preflight = createPreflight(store, systemClock(), [kind]);
  const signal = new AbortController().signal;
  for (const quantity of [1, 2]) {
    const envelope = { kind: 'order', reference: 'A', payload: order(quantity) };
    expect(await preflight(envelope, signal)).toMatchObject({ verdict: 'fit', problems: [] });
  }
});
