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
    async add(count: number, ago: number, by: 'event' | 'sweep', lateMs = 0): Promise<void> {
      const verdict = by === 'event' ? 'announced' : null;
      await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
        insert into sighting (at, order_id, type, seen_by, late_ms, verdict)
        select ${now - ago}, i, 't', ${by}, ${lateMs}, ${verdict} from n`.execute(db);
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
