/** What is made of sightings, whichever way they came about. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { readLossFigures } from '../../src/inbox/loss/figures.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { temporaryStore } from '../support/store.ts';
import { LOSS_LIMITS } from './support.ts';

const MINUTE = 60_000;

async function mirror() {
  const clock = manualClock();
  const { db } = await temporaryStore(clock);
  const now = clock.now();
  return {
    /** So many changes, so long ago. */
    async add(
      count: number,
      ago: number,
      by: 'event' | 'sweep',
      lateMs = 0,
      type = 't',
    ): Promise<void> {
      const verdict = by === 'event' ? 'announced' : null;
      await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
        insert into sighting (at, order_id, type, seen_by, late_ms, verdict)
        select ${now - ago}, i, ${type}, ${by}, ${lateMs}, ${verdict} from n`.execute(db);
    },
    figures: (eventAgo = 0) => readLossFigures(db, LOSS_LIMITS, now, now - eventAgo),
  };
}

it('the latest changes count where there are more than enough', async () => {
  const { add, figures } = await mirror();
  await add(100, 2 * MINUTE, 'sweep');
  await add(500, 3 * MINUTE, 'event');
  expect(await figures()).toMatchObject({ changes: 500, waiting: 100, missedShare: 0.2 });
});

it('a change whose event is late already is missed, though it may still come', async () => {
  const { add, figures } = await mirror();
  await add(10, MINUTE, 'sweep');
  expect(await figures()).toMatchObject({ waiting: 10, missedShare: 0, state: 'healthy' });
  await add(10, MINUTE + 1, 'sweep');
  expect(await figures()).toMatchObject({ waiting: 20, missedShare: 0.5, state: 'degraded' });
});

it('how late events are is told by those that came alone', async () => {
  const { add, figures } = await mirror();
  await add(3, MINUTE, 'event', 200);
  await add(3, MINUTE, 'event', 400);
  await add(9, MINUTE, 'sweep', 50_000);
  expect(await figures()).toMatchObject({ lateMsP50: 200, lateMsP95: 400 });
});

it('what is late by the same as two zones are apart is not late', async () => {
  const { add, figures } = await mirror();
  const born = 'sales_order.order_created';
  const zone = 5.5 * 60 * MINUTE;
  await add(4, 3 * MINUTE, 'event', zone + 900, born);
  await add(5, 3 * MINUTE, 'event', zone + 4_000, 'sales_order.delivery_created');
  await add(9, 3 * MINUTE, 'event', 200);
  // Nine are too few to tell.
  expect(await figures()).toMatchObject({ state: 'degraded', missedShare: 0.5, offsetMs: 0 });
  await add(1, 3 * MINUTE, 'event', zone + 2 * MINUTE, born);
  expect(await figures()).toMatchObject({ missedShare: 1 / 19, offsetMs: zone, lateMsP95: 4_000 });
  await add(20, 2 * MINUTE, 'event', 300, born);
  expect(await figures()).toMatchObject({ offsetMs: 0 });
});

it.each([
  ['by less than zones are apart', [10 * MINUTE, 11 * MINUTE]],
  ['by this and that', [60 * MINUTE, 75 * MINUTE]],
  ['by what is between two zones', [68 * MINUTE, 70 * MINUTE]],
])('what is late %s is late', async (_how, lates) => {
  const { add, figures } = await mirror();
  for (const late of lates) await add(10, MINUTE, 'event', late, 'sales_order.order_created');
  expect(await figures()).toMatchObject({ state: 'degraded', missedShare: 1, offsetMs: 0 });
});

it('no silence is told by changes whose events may be on their way', async () => {
  const { add, figures } = await mirror();
  await add(3, MINUTE - 1, 'sweep');
  expect(await figures(15 * MINUTE)).toMatchObject({ silentSince: null });
  await add(3, MINUTE, 'sweep');
  expect(await figures(15 * MINUTE - 1)).toMatchObject({ silentSince: null });
  expect(await figures(15 * MINUTE)).toMatchObject({ state: 'silent', sweepMs: 2 * MINUTE });
});

it('what was seen while the clock was ahead does not count for weeks', async () => {
  const { add, figures } = await mirror();
  await add(20, -MINUTE, 'sweep', 2 * MINUTE);
  await add(10, MINUTE, 'event');
  expect(await figures()).toMatchObject({ changes: 10, missedShare: 0 });
});
