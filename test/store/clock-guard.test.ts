/** The guard against steps of the clock on the wall: what it moves, and until when it waits. */

import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLOCK_STEPS } from '../../src/daemon/upkeep.ts';
import { type ManualClock, manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { enqueueDeliveryStatus } from '../../src/outbox/enqueue.ts';
import { type ClockGuard, openClockGuard, trustedNow } from '../../src/store/clock-guard.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Running {
  readonly guard: ClockGuard;
  readonly stop: () => Promise<void>;
  readonly done: Promise<void>;
}

async function start(store: SqliteStore, clock: ManualClock): Promise<Running> {
  const guard = await openClockGuard({ store, clock, log: silentLogger(), steps: CLOCK_STEPS });
  const aborted = new AbortController();
  const done = guard.run(aborted.signal);
  const stop = async (): Promise<void> => {
    aborted.abort();
    await done.catch(() => undefined);
  };
  onTestFinished(stop);
  return { guard, stop, done };
}

async function createGuardFixture() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  return { clock, store, ...(await start(store, clock)) };
}

/** An accept that may leave within a quarter of an hour, and an outcome that is unknown. */
async function addPushes({ store, clock }: { store: SqliteStore; clock: ManualClock }) {
  const now = clock.now();
  const change = { orderId: 1, from: 'pending', to: 'accepted' } as const;
  await store.transaction((tx) => {
    const accept = { ...change, orderDeliveryId: 1, decisionId: 1, sendBefore: now + 15 * MINUTE };
    return enqueueDeliveryStatus(tx, accept, now);
  });
  await store.transaction((tx) =>
    enqueueDeliveryStatus(tx, { ...change, orderDeliveryId: 2, decisionId: 2 }, now),
  );
  await store.db
    .updateTable('outbox')
    .set({ state: 'in_doubt', in_doubt_since: now, due_at: now + 5 * MINUTE })
    .where('outbox_id', '=', 2)
    .execute();
}

/** The times of both pushes, as milliseconds from now on. */
async function times(store: SqliteStore, clock: ManualClock) {
  const now = clock.now();
  const { rows } = await sql<{
    readonly due: number;
    readonly created: number;
    readonly leaves: number | null;
    readonly since: number | null;
  }>`select due_at - ${now} due, created_at - ${now} created, in_doubt_since - ${now} since,
      body->>'$.sendBefore' - ${now} leaves from outbox order by outbox_id`.execute(store.db);
  return rows;
}

describe('after a step back', () => {
  it.each([
    ['while the daemon runs', false],
    ['while none runs', true],
  ])(
    'nothing waits longer than its own delay, and no accept leaves later, %s',
    async (_, stops) => {
      const clock = manualClock();
      const store = await temporaryStore(clock);
      clock.step(DAY);
      const { stop } = await start(store, clock);
      await addPushes({ store, clock });
      await clock.advance(MINUTE);
      if (stops) await stop();
      clock.step(-DAY);
      if (stops) await start(store, clock);
      else await clock.advance(5_000);
      const past = stops ? -MINUTE : -MINUTE - 5_000;
      expect(await times(store, clock)).toEqual([
        { due: past, created: past, since: null, leaves: past + 15 * MINUTE },
        { due: past + 5 * MINUTE, created: past, since: past, leaves: null },
      ]);
    },
  );

  it('what changed did so after any read so far, and now at the latest', async () => {
    const { clock, store } = await createGuardFixture();
    const ahead = clock.now() + 2 * HOUR;
    await sql`insert into stream_state (stream, due_at, complete_at)
      values ('stock', ${ahead}, ${ahead})`.execute(store.db);
    await sql`insert into delivery (order_delivery_id, order_id, status, tracking_numbers,
        tracking_links, extra, content_hash, first_seen_at, changed_at, read_seq, source)
      values (7, 7, 'pending', '[]', '[]', '{}', 'h', 0, ${ahead - 1}, 1, 'x')`.execute(store.db);
    clock.step(-HOUR);
    await clock.advance(5_000);
    const now = clock.now();
    const { rows } = await sql`select d.changed_at changed, s.complete_at complete
      from delivery d, stream_state s`.execute(store.db);
    expect(rows).toEqual([{ changed: now, complete: now }]);
  });
});

describe('after a step forth', () => {
  it('an unknown outcome is watched for a whole settlement delay from then on', async () => {
    const { clock, store, guard } = await createGuardFixture();
    await addPushes({ store, clock });
    clock.step(DAY);
    await clock.advance(5_000);
    expect(guard.watchedSince()).toBe(clock.now());
  });

  it('a start, too, counts only what it has felt itself', async () => {
    const { clock, store, stop } = await createGuardFixture();
    await clock.advance(HOUR);
    await stop();
    clock.step(DAY);
    const { guard } = await start(store, clock);
    await clock.advance(MINUTE);
    expect(guard.watchedSince()).toBe(clock.now() - MINUTE);
  });
});

it('shows a step to nobody before the times were moved with it', async () => {
  const { clock, store, guard, done } = await createGuardFixture();
  const before = clock.now();
  await sql`create trigger full before update on daemon_state begin
    select raise(abort, 'the disk is full'); end`.execute(store.db);
  clock.step(HOUR);
  expect(guard.clock.now()).toBe(before);
  await Promise.all([expect(done).rejects.toThrow('full'), clock.advance(MINUTE)]);
  expect(guard.clock.now()).toBe(before + MINUTE);
  await sql`drop trigger full`.execute(store.db);
  const stop = new AbortController();
  const again = guard.run(stop.signal);
  await clock.advance(0);
  expect(guard.clock.now()).toBe(before + HOUR + MINUTE);
  stop.abort();
  await again;
});

it('takes small corrections for what they are', async () => {
  const { clock, guard } = await createGuardFixture();
  for (const ms of [4_000, -4_000, 3_000, 3_000]) {
    clock.step(ms);
    expect(guard.clock.now()).toBe(clock.now());
  }
  expect(guard.watchedSince()).toBe(clock.now() - 6_000);
});

describe('a time without a daemon', () => {
  it('is told from five minutes on, and is over', async () => {
    const { clock, store, stop } = await createGuardFixture();
    await stop();
    const stoppedAt = clock.now();
    await clock.advance(4 * MINUTE);
    await (await start(store, clock)).stop();
    await clock.advance(8 * HOUR);
    const startedAt = clock.now();
    await (await start(store, clock)).stop();
    const told = await store.db
      .selectFrom('incident')
      .select(['kind', 'at', 'resolved_at'])
      .execute();
    const at = stoppedAt + 4 * MINUTE;
    expect(told).toEqual([{ kind: 'not_running', at, resolved_at: startedAt }]);
  });

  it('is none while a running daemon sees its clock put forward', async () => {
    const { clock, store, stop } = await createGuardFixture();
    clock.step(HOUR);
    await clock.advance(5_000);
    await stop();
    expect(await store.db.selectFrom('incident').selectAll().execute()).toEqual([]);
  });
});

describe('trusted time', () => {
  it('goes on a day for each hour by a clock that is ahead, also over starts', async () => {
    const { clock, store, stop } = await createGuardFixture();
    const at = clock.now();
    expect(await trustedNow({ store, clock })).toBe(at);
    await stop();
    clock.step(365 * DAY);
    for (let starts = 0; starts < 3; starts += 1) {
      const running = await start(store, clock);
      expect(await trustedNow({ store, clock })).toBe(at);
      await running.stop();
    }
    await start(store, clock);
    await clock.advance(2 * HOUR);
    expect(await trustedNow({ store, clock })).toBe(at + 2 * DAY);
    clock.step(-365 * DAY);
    await clock.advance(MINUTE);
    const age = clock.now() - (await trustedNow({ store, clock }));
    expect([age >= 0, age <= MINUTE]).toEqual([true, true]);
  });

  it('is not noted by a clock that nobody has set', async () => {
    const { clock, store, stop } = await createGuardFixture();
    const at = clock.now();
    await stop();
    clock.step(-clock.now());
    const { stop: end } = await start(store, clock);
    await clock.advance(HOUR);
    await end();
    clock.step(at - clock.now());
    expect(await trustedNow({ store, clock })).toBe(at);
  });
});
