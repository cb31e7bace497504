/** Forgetting an order, and what stays of the documents of others. */
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { createForgetting } from '../../src/daemon/commands/forget.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { quoted } from '../../src/lib/reading/quoted.ts';
import { Secret } from '../../src/lib/secret.ts';
import { referenceKey } from '../../src/outbox/documents.ts';
import { pushesOf } from '../../src/outbox/forget.ts';
import { configOf } from '../config/config-of.ts';
import { temporaryStore } from '../support/store.ts';

const OVER = {
  ...{ kind: 'order', ordering_key: 'x', body_hash: '', cause: 'test', created_at: 1 },
  ...{ due_at: 1, ended_at: 2, state: 'refused' as const, body: '{}' },
};

/** Document S-0 of Ms Müller, and others whose errors quote the service about her and others. */
async function startForgetting() {
  const clock = manualClock(1_000);
  const store = await temporaryStore(clock);
  const person = { lastName: 'Müller', address: 'Zinnober Alley 17' };
  const said = ['Ottoline MÜLLER is unknown', 'the size XXL is unknown', 'another line'];
  const errors = said.map((words) => `refused: ${quoted(words)}`);
  const body = JSON.stringify({ shippingAddress: person, lines: [] });
  await store.transaction(async (tx) => {
    const rows = [{ ...OVER, body }, OVER, OVER, OVER].map((one, at) => {
      const error = at === 0 ? 'no such freight' : (errors[at - 1] ?? '');
      return { ...one, reference: `S-${at}`, reference_key: `s-${at}`, last_error: error };
    });
    await tx.insertInto('outbox').values(rows).execute();
    const intake = rows.map((_, at) => ({ outbox_id: at + 1, source: 'x', received_at: 1 }));
    const due = (at: number) => (at === 3 ? 1 : 0);
    await tx
      .insertInto('intake')
      .values(intake.map((one, at) => ({ ...one, channel: 'cli' as const, receipt_due: due(at) })))
      .execute();
  });
  const config = configOf([
    { path: 'dataDir', value: dirname(store.path) },
    { path: 'service.v1.baseUrl', value: 'https://key.example.com/api/v1' },
    { path: 'service.v1.apiKey', value: new Secret('key', 'k') },
  ]);
  return { store, errors, ...createForgetting({ store, clock, config }) };
}

it('leaves quotations about others, also the second time, and makes no receipt due', async () => {
  const { store, errors, forget } = await startForgetting();
  const { db } = store;
  for (const reason of ['asked', 'asked again']) {
    const { reference } = await forget('S-0', { actor: 'person:anna', reason });
    expect(reference).toBe('S-0');
    const kept = await db.selectFrom('outbox').select(['body', 'last_error']).execute();
    expect(kept.map(({ last_error }) => last_error)).toEqual([
      null,
      expect.not.stringContaining('MÜLLER'),
      errors[1],
      errors[2],
    ]);
    expect(kept[0]?.body).not.toContain('Müller');
  }
  const due = await db.selectFrom('intake').select('receipt_due').orderBy('outbox_id').execute();
  expect(due.map(({ receipt_due }) => receipt_due)).toEqual([0, 0, 0, 1]);
});

it('forgetting a second order of somebody forgets what was said of them since', async () => {
  const { store, errors, forget } = await startForgetting();
  await forget('S-0', { actor: 'person:anna', reason: 'asked' });
  const body = JSON.stringify({ shippingAddress: { lastName: 'Müller' }, lines: [] });
  const later = { ...OVER, reference: 'S-9', reference_key: 's-9', body };
  await store.db.insertInto('outbox').values(later).execute();
  await store.db
    .updateTable('outbox')
    .set({ last_error: errors[0] ?? '' })
    .execute();
  await store.db
    .updateTable('outbox')
    .set({ last_error: errors[1] ?? '' })
    .where('reference', '=', 'S-1')
    .execute();
  await forget('s-9', { actor: 'person:anna', reason: 'asked' });
  const kept = await store.db.selectFrom('outbox').select('last_error').execute();
  const texts = kept.map(({ last_error }) => last_error ?? '');
  expect(texts.filter((text) => text.includes('MÜLLER'))).toEqual([]);
  expect(texts[1]).toBe(errors[1]);
});

it('finds refused refunds that name their order in capitals beyond ASCII', async () => {
  const { store } = await startForgetting();
  const body = JSON.stringify({ orderReference: 'BÄR-7', comment: 'for Anna', lines: [] });
  const refund = { reference: 'R-1', reference_key: referenceKey('R-1'), body };
  await store.db
    .insertInto('outbox')
    .values({ ...OVER, ...refund, kind: 'pending_refund' })
    .execute();
  const found = await pushesOf(store.db, { orderId: null, reference: 'bär-7' });
  expect(found.map(({ reference }) => reference)).toEqual(['R-1']);
});
