/** The list of pushes, in both orders and both directions. */
import { expect, it } from 'vitest';
import { pushes } from '../../src/outbox/lists.ts';
import { readingOf } from '../support/reading.ts';
import { temporaryStore } from '../support/store.ts';

it('pushes are listed with the newest or the oldest first, page by page and back', async () => {
  const store = await temporaryStore();
  const numbers = [1, 2, 3, 4, 5];
  const row = { kind: 'style', ordering_key: 'x', body: '{}', body_hash: '', cause: 'test' };
  const rows = numbers.map((at) => ({ ...row, reference: `s${at}`, created_at: at, due_at: at }));
  await store.db.insertInto('outbox').values(rows).execute();
  const from = readingOf(store, 10);
  const read = async (place: object, order: object) => {
    const found = await pushes.read(from, { ...order, ...place, limit: 2 });
    return { ...found, ids: found.rows.map(({ outboxId }) => outboxId) };
  };
  const wanted: readonly (readonly [object, readonly number[]])[] = [
    [{}, numbers.toReversed()],
    [{ sort: 'createdAt', descending: '1' }, numbers.toReversed()],
    [{ sort: 'createdAt' }, numbers],
    [{ sort: 'createdAt', open: '1' }, numbers],
  ];
  for (const [order, all] of wanted) {
    const first = await read({}, order);
    const second = await read({ before: first.next }, order);
    const third = await read({ before: second.next }, order);
    expect([...first.ids, ...second.ids, ...third.ids]).toEqual(all);
    expect([first.back, third.next]).toEqual([null, null]);
    const again = await read({ back: third.back }, order);
    expect(again).toEqual(second);
    expect(await read({ back: again.back }, order)).toEqual(first);
  }
});
