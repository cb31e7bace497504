/** Stored events that are interpreted again: asked for, or after an upgrade that knows more. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import {
  createEventOperations,
  previewReplay,
  replayAfterUpgrade,
} from '../../src/inbox/operations.ts';
import { traceEvent } from '../../src/inbox/overview.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { writePendingRefunds } from '../../src/mirror/refund.ts';
import { writeState } from '../../src/store/state.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';
import { deliveryCreated } from './support.ts';

const ASKER = { actor: 'anna', reason: 'trying' };

/** Events as a program stored them that knew no type at all. */
async function storeEvents(store: SqliteStore, bodies: readonly string[]): Promise<void> {
  for (const [index, body] of bodies.entries()) {
    await store.db
      .insertInto('webhook_event')
      .values({
        ...{ event_id: `msg_${String(index).padStart(4, '0')}`, received_at: index, sent_at: 0 },
        ...{ type: 'unknown', order_id: null, body: Buffer.from(body), secret_name: 'a' },
        ...{ last_duplicate_at: null, outcome: 'stored' },
      })
      .execute();
  }
}

async function start(bodies: readonly string[]) {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  await storeEvents(store, bodies);
  let nudges = 0;
  const wakeUp = (): void => {
    nudges += 1;
  };
  const events = createEventOperations({ store, clock, wakeUp });
  const waiting = () => store.db.selectFrom('refresh').select(['order_id', 'cause']).execute();
  return { clock, store, events, waiting, nudges: () => nudges };
}

it('shows pending refunds among what an event led to (R14)', async () => {
  const { clock, store, events } = await start([deliveryCreated(7)]);
  await events.replay({ since: 0 }, ASKER);
  const pending = { pendingRefundId: 3, orderId: 7, status: 'pending', refundLineItems: [] };
  const provenance = { source: 'refresh:event:msg_0000', readSeq: 1, at: clock.now() };
  await store.transaction((tx) => writePendingRefunds(tx, [pending], provenance));
  const trace = await traceEvent(store.db, 'msg_0000');
  expect(trace?.changes).toMatchObject([{ entity: 'pending_refund', key: '3', op: 'insert' }]);
});

describe('a replay', () => {
  it('of many events reads each order once, slice by slice', async () => {
    const bodies = Array.from({ length: 450 }, (_, index) => deliveryCreated(1 + (index % 7)));
    const { store, events, waiting, nudges } = await start([...bodies, '{"type":"ping"}', '{']);
    const plan = await previewReplay(store.db, { since: 0 });
    expect(plan).toEqual({ events: 452, orders: 7, withoutOrder: 2, newlyUnderstood: 450 });
    const rows = await store.db.selectFrom('webhook_event').select('event_id').execute();
    const ids = rows.map(({ event_id }) => event_id);
    expect(await previewReplay(store.db, { ids })).toEqual(plan);
    expect(await waiting()).toEqual([]);
    expect(await events.replay({ since: 0 }, ASKER)).toEqual(plan);
    expect(await waiting()).toHaveLength(7);
    expect(nudges()).toBe(1);
    // From now on they are what they are.
    const again = await events.replay({ since: 449 }, ASKER);
    expect(again).toEqual({ events: 3, orders: 1, withoutOrder: 2, newlyUnderstood: 0 });
    const audit = await store.db.selectFrom('audit').select(['actor', 'action']).execute();
    expect(audit).toHaveLength(2);
  });

  it('that names an event which is not there does nothing at all', async () => {
    const { store, events, waiting } = await start([deliveryCreated(1)]);
    const ids = ['msg_0000', 'msg_none'];
    await expect(events.replay({ ids }, ASKER)).rejects.toMatchObject({ code: 'events.unknown' });
    expect(await waiting()).toEqual([]);
    expect(await store.db.selectFrom('audit').select('id').execute()).toEqual([]);
    expect(await events.replay({ ids: ['msg_0000'] }, ASKER)).toMatchObject({ orders: 1 });
    expect(await waiting()).toEqual([{ order_id: 1, cause: 'replay:msg_0000' }]);
  });

  it('happens by itself, once, after an upgrade that knows more types (R5)', async () => {
    const { clock, store, waiting } = await start([deliveryCreated(7), '{"type":"stock.moved"}']);
    expect(await replayAfterUpgrade(store, clock)).toBe(1);
    expect(await waiting()).toMatchObject([{ order_id: 7 }]);
    const events = await store.db.selectFrom('webhook_event').select(['type', 'outcome']).execute();
    expect(events).toEqual([
      { type: 'sales_order.delivery_created', outcome: 'refresh' },
      { type: 'stock.moved', outcome: 'stored' },
    ]);
    expect(await replayAfterUpgrade(store, clock)).toBe(0);
    // Once: a start with the same types looks at nothing.
    await sql`update webhook_event set outcome = 'stored', order_id = null`.execute(store.db);
    expect(await replayAfterUpgrade(store, clock)).toBe(0);
    // The program before this one knew other types.
    await writeState(store.db, 'inbox_types', 'other types', clock);
    expect(await replayAfterUpgrade(store, clock)).toBe(1);
  });

  it('finds an order where an older program knew the type and not its place', async () => {
    const { store, events, waiting } = await start([deliveryCreated(7)]);
    await sql`update webhook_event set type = 'sales_order.delivery_created'`.execute(store.db);
    expect(await events.replay({ since: 0 }, ASKER)).toMatchObject({ newlyUnderstood: 1 });
    expect(await waiting()).toMatchObject([{ order_id: 7 }]);
    const stored = store.db.selectFrom('webhook_event').select(['order_id', 'outcome']);
    expect(await stored.execute()).toEqual([{ order_id: 7, outcome: 'refresh' }]);
  });

  it.each([
    [{ since: 430 }, 'INDEX webhook_event_received (received_at>?', 220],
    [{ outcome: 'stored' }, 'INTEGER PRIMARY KEY (rowid>? AND rowid<?)', 649],
    [{ ids: ['msg_0009', 'msg_0007', 'msg_0009'] }, 'INDEX sqlite_autoindex_', 2],
  ] as const)('goes from slice to slice by an index: %j', async (selection, index, events) => {
    const { store } = await start(Array.from({ length: 650 }, (_, at) => deliveryCreated(at + 1)));
    // Retention has taken some, and many came in the same moment.
    await sql`delete from webhook_event where event_id = 'msg_0000'`.execute(store.db);
    await sql`update webhook_event set received_at = 500 where received_at > 500`.execute(store.db);
    const planned = notePlans(store);
    const found = await previewReplay(planned.store.db, selection);
    expect(found.events).toBe(events);
    const steps = (await planned.steps(/webhook_event/)).join('\n');
    expect(steps).toContain(index);
    expect(steps).not.toMatch(/SCAN webhook_event|TEMP B-TREE/);
  });
});
