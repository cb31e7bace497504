/** Forgetting an order, and what stays of the documents of others. */
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { createForgetting } from '../../src/daemon/commands/forget.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { quoted } from '../../src/lib/reading/quoted.ts';
import { Secret } from '../../src/lib/secret.ts';
import { configOf } from '../config/config-of.ts';
import { temporaryStore } from '../support/store.ts';

it('leaves quotations about others in documents, and makes no receipt due', async () => {
  const clock = manualClock(1_000);
  const store = await temporaryStore(clock);
  const person = { lastName: 'Brackenbury', address: 'Zinnober Alley 17' };
  const row = { kind: 'order', ordering_key: 'x', body_hash: '', cause: 'test', created_at: 1 };
  const over = { ...row, due_at: 1, ended_at: 2, state: 'refused' as const, body: '{}' };
  const said = ['Ottoline BRACKENBURY is unknown', 'the size XXL is unknown', 'another line'];
  const errors = said.map((words) => `refused: ${quoted(words)}`);
  const body = JSON.stringify({ shippingAddress: person, lines: [] });
  await store.transaction(async (tx) => {
    const rows = [{ ...over, body }, over, over, over].map((one, at) => {
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
  const forgetting = createForgetting({ store, clock, config });
  const forgotten = await forgetting.forget('S-0', { actor: 'person:anna', reason: 'asked' });
  expect(forgotten.reference).toBe('S-0');
  const { db } = store;
  const kept = await db.selectFrom('outbox').select(['body', 'last_error']).execute();
  expect(kept.map(({ last_error }) => last_error)).toEqual([
    null,
    expect.not.stringContaining('BRACKENBURY'),
    errors[1],
    errors[2],
  ]);
  expect(kept[0]?.body).not.toContain('Brackenbury');
  const due = await db.selectFrom('intake').select('receipt_due').orderBy('outbox_id').execute();
  expect(due.map(({ receipt_due }) => receipt_due)).toEqual([0, 0, 0, 1]);
});
