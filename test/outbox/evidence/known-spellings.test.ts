/** Spellings of references in answered documents, as the store remembers them. */
import { expect, it } from 'vitest';
import {
  fitOf,
  knownSpellings,
  learnSpelling,
  mayBeShown,
  textsFor,
} from '../../../src/outbox/evidence/known-spellings.ts';
import { temporaryStore } from '../../support/store.ts';

async function createSchool() {
  const store = await temporaryStore();
  let at = 0;
  /** A document is answered, and shown so; or it was found by a look, or answered long before. */
  const show = async (
    sent: string,
    shown: string,
    how: 'answered' | 'found' | 'before' = 'answered',
  ): Promise<void> => {
    at += 1;
    const now = at;
    await store.transaction(async (tx) => {
      await tx
        .insertInto('outbox')
        .values({
          ...{ outbox_id: now, kind: 'order', ordering_key: sent, reference: sent, body: '{}' },
          ...{ reference_key: sent.toLowerCase(), body_hash: '', state: 'confirmed', attempts: 1 },
          ...{ expected_from: null, due_at: 0, in_doubt_since: null, created_at: 0 },
          ...{ ended_at: now, cause: 'test', result: null, last_error: null, blocked_reason: null },
          ...{ order_id: now, shown_reference: shown },
        })
        .execute();
      await tx
        .insertInto('outbox_attempt')
        .values({
          ...{ outbox_id: now, attempt: 1, started_at: 0, ended_at: 0, http_status: null },
          ...{ class: how === 'found' ? 'ambiguous' : 'done', error_code: null, answer: null },
          ...{ max_order_id_before: null, count_before: null },
        })
        .execute();
      if (how === 'answered') await learnSpelling(tx, 'order', { sent, shown }, now);
    });
  };
  return { show, known: () => knownSpellings(store.db, 'order'), db: store.db };
}

it('is known from two answers on', async () => {
  const { show, known } = await createSchool();
  await show('#A-1', 'A-1');
  expect(fitOf(await known(), '#A-3', 'A-3')).toBe('no');
  await show('#A-9', 'A-9', 'found');
  expect(fitOf(await known(), '#A-3', 'A-3')).toBe('no');
  await show('#A-2', 'A-2');
  expect(fitOf(await known(), '#A-3', 'a-3 ')).toBe('spelt');
  expect(fitOf(await known(), '#A-3', 'A-4')).toBe('no');
  expect(fitOf(await known(), '#A-3', '#a-3')).toBe('equal');
  expect(fitOf(await known(), '#A-3', null)).toBe('blank');
  expect(textsFor(await known(), '#A-3')).toEqual(['a-3']);
});

it('tells little where letters are lost, and nothing where all are', async () => {
  const { show, known } = await createSchool();
  await show('A-1-longer', 'A-1-lo');
  await show('B-2-longer', 'B-2-lo');
  expect(fitOf(await known(), 'C-3-longer', 'C-3-lo')).toBe('lossy');
  expect(fitOf(await known(), 'C-3', 'C-3')).toBe('equal');
  expect(textsFor(await known(), 'C-3-longer')).toEqual([]);
  const other = await createSchool();
  await other.show('A-1', 'ONLINE');
  await other.show('B-2', 'ONLINE');
  expect(fitOf(await other.known(), 'C-3', 'ONLINE')).toBe('blank');
  expect(mayBeShown(await other.known(), 'C-3', 'ONLINE')).toBe(false);
});

it('grows with what later answers show, and stays one spelling', async () => {
  const { show, known, db } = await createSchool();
  for (const sent of ['A-1', 'A-2', 'A-3']) await show(sent, sent);
  expect(fitOf(await known(), 'A-4-longer', 'A-4-lo')).toBe('no');
  await show('A-5-longer', 'A-5-lo');
  expect(fitOf(await known(), 'A-4-longer', 'A-4-lo')).toBe('lossy');
  const rows = await db.selectFrom('reference_spelling').select('ended_at').execute();
  expect(rows).toEqual([{ ended_at: null }]);
});

it('is not known while two answers contradict, and is another once two agree again', async () => {
  const { show, known } = await createSchool();
  await show('#A-1', 'A-1');
  await show('#A-2', 'A-2');
  await show('#A-3', 'WEB #A-3');
  expect((await known()).now).toBeUndefined();
  expect(fitOf(await known(), '#A-9', 'A-9')).toBe('no');
  await show('#A-4', 'WEB #A-4');
  expect(fitOf(await known(), '#A-9', 'WEB #A-9')).toBe('spelt');
  expect(fitOf(await known(), '#A-9', 'A-9')).toBe('no');
  // An order sent before may still be shown as then.
  expect(mayBeShown(await known(), '#A-9', 'A-9')).toBe(true);
  expect(mayBeShown(await known(), '#A-9', 'A-8')).toBe(false);
});

it('is known from documents that were answered before anything was written down', async () => {
  const { show, known, db } = await createSchool();
  await show('#A-1', 'A-1', 'before');
  await show('#A-2', 'A-2', 'before');
  expect(fitOf(await known(), '#A-3', 'A-3')).toBe('spelt');
  await show('#A-4', 'A-4');
  const rows = await db.selectFrom('reference_spelling').select('ended_at').execute();
  expect(rows).toEqual([{ ended_at: null }]);
});
