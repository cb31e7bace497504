import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { forgetMirrored, keysOfOrder, ordersNamed } from '../../src/mirror/forget.ts';
import { quarantineRows } from '../../src/mirror/quarantine.ts';
import { temporaryStore } from '../support/store.ts';

it('forgetting an order blanks unread rows that name its people, and none of others', async () => {
  const store = await temporaryStore(manualClock());
  const provenance = { source: 'a', readSeq: 1, at: 1 };
  const address = { company: 'Modehaus GROSS & MÜLLER' };
  const raws = [
    { orderId: 2, status: 5, address },
    { orderId: 'one of modehaus gross & müller' },
    { orderId: 1, address },
  ];
  await store.transaction(async (tx) => {
    await tx
      .insertInto('sales_order')
      .values({
        ...{ order_id: 1, status: 'completed', completed: 1, extra: '{}' },
        ...{ reference: 'BÄR-7', company: 'Modehaus Groß & Müller' },
        ...{ shipping_address: '{}', content_hash: '', first_seen_at: 1, changed_at: 1 },
        ...{ read_seq: 1, source: 'a' },
      })
      .execute();
    const rows = raws.map((raw) => ({ raw, path: 'status', reason: 'x' }));
    await quarantineRows(tx, 'sales_order', rows, provenance);
  });
  const [named] = await ordersNamed(store.db, 'bär-7');
  expect(named?.orderId).toBe(1);
  await store.transaction(async (tx) => forgetMirrored(tx, 1, await keysOfOrder(tx, 1), 2));
  const kept = await store.db.selectFrom('quarantine').select('raw').orderBy('raw').execute();
  expect(kept.map(({ raw }) => raw)).toEqual(['', JSON.stringify(raws[0])]);
});
