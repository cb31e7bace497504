/** Every way in which a push can go wrong on the wire, by the reference's faults. */
import { describe, expect, it } from 'vitest';
import { decisionsOf } from '../../src/decisions/review/deliveries.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { READ_TOO_OLD } from '../../src/outbox/service.ts';
import type { Reference } from '../../src/reference/reference.ts';
import {
  type ConfigParts,
  type RunningDaemon,
  startTestDaemon,
  testConfig,
  until,
} from '../support/house.ts';
import { fastClock, placeOrders, startFastReference } from './support.ts';

const POSTS = { method: 'POST', path: '*/deliveries/*' } as const;
const ACCEPT_ALL = `
rules:
  - id: accept-all
    title: Everything
    action: accept
    mode: live
    when:
      - delivery.quantity > 0
`;

interface House {
  readonly reference: Reference;
  readonly daemon: RunningDaemon;
}

/** Faults, and what is then known of the push. */
const FAULTS = [
  ['cut off before its effect', { kind: 'reset' }, 'ambiguous'],
  ['cut off after its effect', { kind: 'reset', moment: 'after' }, 'ambiguous'],
  ['answered with a page of a proxy', { kind: 'serverError', status: 502 }, 'ambiguous'],
  [
    'answered with a page of a proxy after its effect',
    { kind: 'serverError', status: 502, moment: 'after' },
    'ambiguous',
  ],
  ['answered with half an answer', { kind: 'truncated' }, 'ambiguous'],
  ['that came too fast', { kind: 'tooMany', retryAfter: 0 }, 'not_processed'],
] as const;

/** From now on pushes, and nothing else, go wrong in this way. */
function strike({ reference }: House, fault: Record<string, unknown>): void {
  reference.knobs.patch({ faults: [{ ...POSTS, ...fault }] });
}

async function startHouse(
  settings: ConfigParts['overrides'] = [],
  clock = systemClock(),
): Promise<House> {
  const reference = await startFastReference(
    {
      world: { styles: 20, orders: 0 },
      life: { packAfter: '50ms', shipAfter: '30d', cancelShare: 0, splitShare: 0 },
    },
    clock,
  );
  const set = (path: string, value: unknown) => ({ path, value });
  const config = testConfig(reference, {
    rules: ACCEPT_ALL,
    overrides: [
      set('outbox.delayMin', '100ms'),
      set('outbox.delayMax', '1s'),
      set('service.limits.loginSpacing', '0s'),
      ...settings,
    ],
  });
  const daemon = await startTestDaemon(reference, config, clock);
  return { reference, daemon };
}

async function endedPushes({ daemon }: House, count: number) {
  return until(`the end of ${count} pushes`, async () => {
    const rows = await daemon.store.db.selectFrom('outbox').selectAll().execute();
    const ended = rows.filter(({ ended_at }) => ended_at !== null);
    return rows.length >= count && ended.length === rows.length ? rows : undefined;
  });
}

/** Classes of attempts that left; one whose read had become too old looks first. */
async function attemptClasses({ daemon }: House): Promise<(string | null)[]> {
  const rows = await daemon.store.db
    .selectFrom('outbox_attempt')
    .select('class')
    .where('error_code', 'is distinct from', READ_TOO_OLD)
    .orderBy('started_at')
    .execute();
  return rows.map((row) => row.class);
}

/** How often the status of each delivery really changed at the service. */
function changesPerDelivery({ reference }: House): number[] {
  const counts = new Map<string, number>();
  for (const { eventType, body } of reference.relay.messages({ limit: 250 }).data) {
    if (eventType !== 'sales_order.delivery_updated') continue;
    const { data } = JSON.parse(body.toString());
    const id = String(data.salesOrderDelivery.orderDeliveryId);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return [...counts.values()];
}

describe('a push', () => {
  it('that goes wrong in any way takes effect once', async () => {
    const house = await startHouse();
    for (const [index, [what, fault, errorClass]] of FAULTS.entries()) {
      strike(house, { ...fault, count: 2 });
      const known = (await attemptClasses(house)).length;
      placeOrders(house.reference, 3);
      const pushes = (await endedPushes(house, 3 * (index + 1))).slice(-3);
      expect([what, pushes.map(({ state }) => state)]).toEqual([what, Array(3).fill('confirmed')]);
      const classes = (await attemptClasses(house)).slice(known);
      expect([what, classes.filter((one) => one !== 'done')]).toEqual([
        what,
        [errorClass, errorClass],
      ]);
    }
    expect(changesPerDelivery(house)).toEqual(Array(3 * FAULTS.length).fill(1));
  });

  it('answered too late takes effect once', async () => {
    const limit = { path: 'service.timeouts.firstByte', value: '30s' };
    const house = await startHouse([limit], fastClock());
    strike(house, { kind: 'latency', delay: '5m', moment: 'after', count: 1 });
    placeOrders(house.reference, 1);
    const [push] = await endedPushes(house, 1);
    expect(push).toMatchObject({ state: 'confirmed' });
    expect(changesPerDelivery(house)).toEqual([1]);
    expect((await attemptClasses(house))[0]).toBe('ambiguous');
  });

  it('whose token has just expired logs in and takes effect once', async () => {
    const house = await startHouse();
    strike(house, { kind: 'unauthorized', count: 1 });
    placeOrders(house.reference, 3);
    await endedPushes(house, 3);
    expect(changesPerDelivery(house)).toEqual([1, 1, 1]);
  });

  it('of a delivery that a person rejects at the same moment leaves it rejected', async () => {
    const house = await startHouse();
    // Many times as long as between two looks for it, which wait for the same event loop.
    strike(house, { kind: 'latency', delay: '1s', count: 1 });
    const { reference, daemon } = house;
    const { book, trade } = reference.world;
    placeOrders(reference, 1);
    await until('the push to arrive', () => reference.edge.journal.list(POSTS).at(0));
    const [delivery] = book.deliveries.all;
    if (!delivery) throw new Error('no delivery');
    expect(trade.moveDelivery(delivery, 'rejected')).toBe('moved');
    const [push] = await endedPushes(house, 1);
    expect(push).toMatchObject({ state: 'refused' });
    expect(push?.last_error).toBe('decided elsewhere: it was pending and is now rejected');
    expect(await attemptClasses(house)).toEqual(['conflict']);
    expect(delivery.status).toBe('rejected');
    const mirrored = await daemon.store.db.selectFrom('delivery').select('status').execute();
    expect(mirrored).toEqual([{ status: 'rejected' }]);
    await until('the journal to say who did it', async () => {
      const [latest] = await decisionsOf(daemon.store.db, delivery.orderDeliveryId);
      return latest?.actor === 'external' && latest.outcome === 'reject' ? latest : undefined;
    });
  });

  it('that a person undoes is not repeated, and the delivery is left to people', async () => {
    // For two minutes it may only be a read that lags behind.
    const house = await startHouse([], fastClock(1_000));
    const { reference, daemon } = house;
    const { book, trade } = reference.world;
    const undo = (delivery: (typeof book.deliveries.all)[number]) => {
      trade.moveDelivery(delivery, 'pending');
    };
    placeOrders(reference, 1);
    const [delivery] = await until('the accept', () => {
      const accepted = book.deliveries.all.filter(({ status }) => status === 'accepted');
      return accepted.length > 0 ? accepted : undefined;
    });
    if (!delivery) throw new Error('no delivery');
    undo(delivery);
    await until('the hold', () =>
      daemon.store.db
        .selectFrom('decision')
        .select('decision_id')
        .where('outcome', '=', 'hold')
        .executeTakeFirst(),
    );
    const [latest] = await decisionsOf(daemon.store.db, delivery.orderDeliveryId);
    expect(latest).toMatchObject({ actor: 'external', outcome: 'hold' });
    expect(delivery.status).toBe('pending');
    expect(reference.edge.journal.list({ ...POSTS, status: 200 })).toHaveLength(1);
  });
});
