/** Sums of the overview for who sells: today and this week, beside the last week. */
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import {
  knowledgeOf,
  percentSince,
  readSales,
  SALES,
  type Sales,
  SPANS,
} from '../../src/console/read/sales.ts';
import { readReports } from '../../src/report/report-file.ts';
import { createDeciderFixture } from '../decisions/support.ts';

/** Wednesday, 10:00 in Copenhagen; three days before, the clocks went an hour ahead. */
const NOW = Date.UTC(2026, 3, 1, 8);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The same weekday and time a week ago, in winter time. */
const WEEK_BEFORE = Date.UTC(2026, 2, 25, 9);

async function soldWorld() {
  const world = await createDeciderFixture();
  const { db } = world.store;
  const decided = async (id: number, outcome: string, at: number, mode = 'live') => {
    await sql`insert into decision (order_delivery_id, order_id, at, trigger, actor, rule_set_hash,
        facts_digest, mode, outcome, reason, rules, shadow, said, matched, lapsed, evaluation,
        previous_hash, hash)
      values (${id}, ${id}, ${at}, 'new', 'daemon', '', '', ${mode}, ${outcome}, '', '[]', '[]',
        ${outcome}, '[]', '[]', ${Buffer.from('')}, '', ${`${id} ${outcome} ${at}`})`.execute(db);
  };
  const shipped = async (id: number, at: number) => {
    const diff = JSON.stringify({ tracking_numbers: ['[]', '["T-1"]'] });
    await sql`insert into change (at, entity, key, op, diff, cause)
      values (${at}, 'delivery', ${String(id)}, 'update', ${diff}, 'run:1')`.execute(db);
  };
  for (const [id, currency] of ['DKK', 'EUR', 'DKK', 'DKK'].entries()) {
    await world.order(id + 1, { currency });
    await world.delivery({ id: id + 1, order: id + 1, lines: [['a', 2]] });
  }
  return { db, world, decided, shipped };
}

function told({ rows }: Sales, span: string): readonly string[] {
  const own = rows.filter((row) => row.span === span);
  return own
    .map(({ what, deliveries, pieces, value, currency }) => {
      return `${what} ${deliveries}/${pieces} ${value} ${currency}`;
    })
    .sort();
}

it('a delivery counts once in a span, beside the last week until the same time', async () => {
  const { db, world, decided, shipped } = await soldWorld();
  // Today, held and accepted twice; another one on Monday; both in this week.
  for (const ago of [3, 2, 1]) await decided(1, ago === 3 ? 'hold' : 'accept', NOW - ago * HOUR);
  await decided(2, 'accept', NOW - 2 * DAY);
  await shipped(1, NOW - HOUR);
  // A week ago: before the hour that counts, and after it.
  await decided(3, 'accept', WEEK_BEFORE - HOUR);
  await decided(4, 'reject', WEEK_BEFORE + HOUR);
  const sales = await readSales(db, NOW, 'Europe/Copenhagen');
  expect(sales.spans.dayBefore.untilAt).toBe(WEEK_BEFORE);
  const price = told(sales, 'today')[0]?.split(' ')[2];
  expect(Number(price)).toBeGreaterThan(0);
  const one = (what: string, currency = 'DKK') => `${what} 1/2 ${price} ${currency}`;
  expect(told(sales, 'today')).toEqual(['accepted', 'held', 'shipped'].map((what) => one(what)));
  expect(told(sales, 'week')).toEqual(
    [one('accepted'), one('accepted', 'EUR'), one('held'), one('shipped')].sort(),
  );
  expect(told(sales, 'dayBefore')).toEqual([one('accepted')]);
  expect(told(sales, 'weekBefore')).toEqual([one('accepted')]);
  // The page behind a number has the deliveries that it counts.
  const database = new Database(world.store.path, { readonly: true });
  onTestFinished(() => void database.close());
  const report = readReports('').reports.find(({ name }) => name === 'sales');
  const listedAs = (what: string, since: number, until: number) =>
    database.prepare(report?.sql ?? '').all({ what, since, until }).length;
  const listed = SPANS.flatMap((span) =>
    SALES.map((what) => {
      const { fromAt: since, untilAt: until } = sales.spans[span];
      return `${what} ${span}: ${listedAs(what, since, until)}`;
    }),
  );
  const counted = SPANS.flatMap((span) =>
    SALES.map((what) => {
      const own = sales.rows.filter((row) => row.what === what && row.span === span);
      return `${what} ${span}: ${own.reduce((sum, { deliveries }) => sum + deliveries, 0)}`;
    }),
  );
  expect(listed).toEqual(counted);
});

it('a span has its difference to the last week in percent where that is wholly known', async () => {
  const { db, decided } = await soldWorld();
  for (const id of [1, 2, 3]) await decided(id, 'accept', NOW - HOUR);
  await decided(4, 'accept', WEEK_BEFORE - HOUR);
  const sales = await readSales(db, NOW, 'Europe/Copenhagen');
  const percents = (decidedAt: number | null) =>
    (['today', 'dayBefore', 'week', 'weekBefore'] as const).map((span) =>
      percentSince({ ...sales, known: { shippedAt: null, decidedAt } }, 'accepted', span),
    );
  // Nothing was kept before that decision, which is in the midst of its day.
  expect(percents(sales.known.decidedAt)).toEqual([null, null, null, null]);
  expect(percents(0)).toEqual([200, null, 200, null]);
});

it('counts no accept that was only observed or was undone, and a currency once', async () => {
  const { db, world, decided } = await soldWorld();
  await world.order(2, { currency: ' dkk ' });
  await world.order(3, { currency: '' });
  await sql`insert or replace into daemon_state (key, value, updated_at)
    values ('service_currency', 'DKK', 0)`.execute(db);
  for (const id of [1, 2, 3]) await decided(id, 'accept', NOW - HOUR);
  await decided(4, 'accept', NOW - HOUR, 'observe');
  const today = async () => told(await readSales(db, NOW, 'Europe/Copenhagen'), 'today');
  expect(await today()).toEqual([expect.stringMatching(/^accepted 3\/6 \S+ DKK$/)]);
  await sql`insert into outbox (kind, ordering_key, reference, body, body_hash, state, due_at,
      created_at, cause, decision_id)
    select 'delivery_status', 'd', 'd', '{}', '', 'canceled', 0, 0, '', decision_id
    from decision where order_delivery_id = 1`.execute(db);
  expect(await today()).toEqual([expect.stringMatching(/^accepted 2\/4 \S+ DKK$/)]);
});

it('what is not known of a span is told apart from nothing', async () => {
  const { db, decided, shipped } = await soldWorld();
  await sql`delete from change`.execute(db);
  const known = async () => {
    const sales = await readSales(db, NOW, 'Europe/Copenhagen');
    const of = (what: 'shipped' | 'held') =>
      (['weekBefore', 'week', 'today'] as const).map((span) => knowledgeOf(sales, what, span).is);
    return { shipped: of('shipped'), held: of('held') };
  };
  const none = ['none', 'none', 'none'];
  expect(await known()).toEqual({ shipped: none, held: none });
  // The journal begins in the week before, the change feed on Tuesday of this week.
  await decided(1, 'accept', WEEK_BEFORE - 2 * DAY);
  await shipped(1, NOW - DAY);
  expect(await known()).toEqual({
    shipped: ['none', 'part', 'whole'],
    held: ['part', 'whole', 'whole'],
  });
});
