/** Days, weeks and months of reports and views are those of the house, beside a loop over Intl. */
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { atLocal, beginOf } from '../../src/lib/local-time.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { audit } from '../../src/ops/lists.ts';
import { bindParameters } from '../../src/report/parameters.ts';
import { readReports } from '../../src/report/report-file.ts';
import { writeAudit } from '../../src/store/audit.ts';
import { keepZone } from '../../src/store/zone.ts';
import type { Reading } from '../../src/surface/reading.ts';
import { temporaryStore } from '../support/store.ts';
import { COMMON, insertRow, NOTHING } from './trade/world.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 29, 12);

/** Zones with days around which their clocks change, or half an hour is ahead. */
const HOUSES = [
  ['Asia/Tokyo', ['2026-03-02', '2026-03-01', '2026-04-01']],
  ['America/New_York', ['2026-03-08', '2026-03-09', '2026-11-01', '2026-11-02']],
  ['Pacific/Auckland', ['2026-04-05', '2026-04-06', '2026-09-27', '2026-09-28']],
  ['Asia/Kolkata', ['2026-03-01', '2026-03-02']],
  // The day begins at 01:00, because the clocks change at midnight.
  ['America/Havana', ['2026-03-08', '2026-11-01']],
] as const;

function dayIn(timeZone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  return (at) => format.format(at);
}

function weekOf(day: string): string {
  const at = Date.parse(day);
  return new Date(at - ((new Date(at).getUTCDay() + 6) % 7) * DAY).toISOString().slice(0, 10);
}

/** Counts by a text that each moment has, in the order of the texts. */
function counted(moments: readonly number[], of: (at: number) => string): [string, number][] {
  const found = new Map<string, number>();
  for (const at of moments) found.set(of(at), (found.get(of(at)) ?? 0) + 1);
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** A minute before, at and a minute after the begin of each day. */
function momentsOf(timeZone: string, days: readonly string[]): readonly number[] {
  const begins = days.map((day) => beginOf('day', atLocal(timeZone, day, '12:00'), timeZone));
  const all = begins.flatMap((at) => [at - MINUTE, at, at + MINUTE]);
  return [...new Set(all)].sort((a, b) => a - b);
}

/** At each moment an order, its delivery, its decision, and one piece more in stock. */
function fill(database: Database.Database, moments: readonly number[]): void {
  for (const [index, at] of moments.entries()) {
    const id = index + 1;
    insertRow(database, 'sales_order', {
      ...{ ...COMMON, order_id: id, account_no: 'C', status: 'accepted', completed: 1 },
      ...{ created_at: at, shipping_address: '{}', currency: 'DKK' },
    });
    const line = { line_no: 1, barcode: 'B', fulfilled_quantity: 1, extra: '{}' };
    insertRow(database, 'sales_order_line', { ...line, order_id: id, quantity: 1 });
    insertRow(database, 'delivery', {
      ...{ ...COMMON, order_delivery_id: id, order_id: id, status: 'accepted', created_at: at },
      ...{ tracking_numbers: '[]', tracking_links: '[]' },
    });
    insertRow(database, 'delivery_line', { ...line, order_delivery_id: id });
    insertRow(database, 'refund', {
      ...{ ...COMMON, order_refund_id: id, order_id: id, status: 'accepted', created_at: at },
    });
    const back = { line_no: 1, barcode: 'B', refunded_quantity: 1, extra: '{}' };
    insertRow(database, 'refund_line', { ...back, order_refund_id: id });
    insertRow(database, 'decision', {
      ...{ decision_id: id, order_delivery_id: id, order_id: id, at, outcome: 'accept' },
      ...{ trigger: 'new', actor: 'daemon', rule_set_hash: 'r', facts_digest: 'f', mode: 'live' },
      ...{ reason: '', rules: '["r"]', shadow: '{}', said: 'accept', matched: '[]' },
      ...{ lapsed: '[]', evaluation: NOTHING, previous_hash: '', hash: String(id) },
    });
    insertRow(database, 'change', {
      ...{ seq: id, at, entity: 'stock_variant', key: 'B', op: 'update', cause: 'run:1' },
      diff: JSON.stringify({ quantity: [index, id] }),
    });
  }
  database.exec(`insert into change_hour (hour, first_seq)
    select at / 3600000, min(seq) from change group by 1`);
  const variant = { barcode: 'B', style_no: 'S-1', size: 'M', quantity: moments.length };
  insertRow(database, 'stock_variant_row', { ...COMMON, ...variant });
}

async function houseIn(timeZone: string, days: readonly string[]) {
  const clock = manualClock(NOW);
  const store = await temporaryStore(clock);
  await keepZone({ store, clock }, timeZone);
  const moments = momentsOf(timeZone, days);
  const database = new Database(store.path);
  onTestFinished(() => void database.close());
  database.transaction(() => fill(database, moments))();
  const { reports } = readReports('');
  return {
    moments,
    ask: (sql: string) => database.prepare(sql).raw().all(),
    report(name: string, given: Readonly<Record<string, string>>): Record<string, unknown>[] {
      const report = reports.find((one) => one.name === name);
      if (!report) throw new Error(`there is no report ${name}`);
      const values = bindParameters(report, given, clock, () => timeZone);
      return database.prepare<[object], Record<string, unknown>>(report.sql).all(values);
    },
  };
}

it.each(HOUSES)('the days of a house in %s are its own in every report', async (zone, days) => {
  const { moments, ask, report } = await houseIn(zone, days);
  const dayOf = dayIn(zone);
  const pairs = (rows: Record<string, unknown>[], ...names: string[]) =>
    rows.map((row) => names.map((name) => row[name])).sort();
  const all = { since: '2026-01-01' };
  const byDay = counted(moments, dayOf);
  const byWeek = counted(moments, (at) => weekOf(dayOf(at)));
  expect(pairs(report('decisions-per-day', all), 'day', 'decisions')).toEqual(byDay);
  expect(pairs(report('lead-time', all), 'day', 'deliveries')).toEqual(byDay);
  expect(pairs(report('sell-through', all), 'week', 'sold')).toEqual(byWeek);
  expect(pairs(report('agreement', all), 'week', 'deliveries')).toEqual(byWeek);
  expect(pairs(report('fill-rate', { ...all, by: 'month' }), 'name', 'orders')).toEqual(
    counted(moments, (at) => dayOf(at).slice(0, 7)),
  );
  expect(ask('select day, decisions from v_decision_day order by 1')).toEqual(byDay);
  // The stock of a day is what it was when the day ended.
  expect(ask('select day, quantity from v_style_stock_day order by 1')).toEqual(
    byDay.map(([day]) => [day, moments.filter((at) => dayOf(at) <= day).length]),
  );
  expect(pairs(report('sell-through', all), 'week', 'in_stock')).toEqual(
    byWeek.map(([week]) => [week, moments.filter((at) => weekOf(dayOf(at)) <= week).length]),
  );
  // A plain reader of a view has the same days by v_zone.
  const plain = `select date(packed_at, (select modifier from v_zone where since <=
    unixepoch(packed_at) order by since desc limit 1)) day, count(*) from v_delivery_line`;
  expect(ask(`${plain} group by 1 order by 1`)).toEqual(byDay);
});

it.each(HOUSES)('a day that is asked for begins at midnight in %s', async (zone, days) => {
  const { moments, report } = await houseIn(zone, days);
  const dayOf = dayIn(zone);
  for (const since of days) {
    const expected = moments.filter((at) => dayOf(at) >= since).length;
    const sum = (name: string, column: string): number =>
      report(name, { since }).reduce((all, row) => all + Number(row[column]), 0);
    expect([since, sum('best-sellers', 'pieces')]).toEqual([since, expected]);
    expect(sum('returns', 'pieces')).toBe(expected);
    expect(sum('fill-rate', 'orders')).toBe(expected);
    expect(sum('decisions-per-day', 'decisions')).toBe(expected);
    expect(sum('lead-time', 'deliveries')).toBe(expected);
    const ofWeeks = moments.filter((at) => weekOf(dayOf(at)) >= weekOf(since)).length;
    expect(sum('sell-through', 'sold')).toBe(ofWeeks);
    expect(sum('agreement', 'deliveries')).toBe(ofWeeks);
  }
});

it('the offsets are those of Intl at any time, also around each change of clocks', async () => {
  const clock = manualClock(NOW);
  const store = await temporaryStore(clock);
  const database = new Database(store.path);
  onTestFinished(() => void database.close());
  const day = database
    .prepare<[number], string>(
      `select date(t.at, 'unixepoch', (select modifier from v_zone where since <= t.at
         order by since desc limit 1)) from (select ? as at) t`,
    )
    .pluck();
  const random = seededRandom(1);
  const others = ['Africa/Casablanca', 'Pacific/Chatham', 'Europe/Copenhagen', 'UTC'];
  for (const zone of [...HOUSES.map(([name]) => name), ...others]) {
    await keepZone({ store, clock }, zone);
    const dayOf = dayIn(zone);
    const begins = database.prepare<[], number>('select since from v_zone').pluck().all();
    const near = begins.slice(-12).flatMap((since) => [since - 1, since, since + 1]);
    const some = Array.from({ length: 150 }, () => random.int(946_684_800, NOW / 1_000 + 3e7));
    for (const at of [...near.filter((one) => one > 0), ...some]) {
      expect([zone, at, day.get(at)]).toEqual([zone, at, dayOf(at * 1_000)]);
    }
  }
});

it('a day in the filter of a list begins at midnight where the house is', async () => {
  const clock = manualClock(NOW);
  const store = await temporaryStore(clock);
  const unread = (): never => {
    throw new TypeError('the audit reads no rules');
  };
  const from: Omit<Reading, 'timeZone'> = {
    db: store.db,
    snapshot: store.snapshot.bind(store),
    now: NOW,
    pulled: {},
    notAtLevel: {},
    dataDir: undefined,
    rowsMax: 100,
    reports: { directory: '', schedules: [] },
    sessionIdleMs: 0,
    rules: { inForce: unread, figures: unread, suggest: unread },
    rates: [],
    me: 'tester',
    seesAddresses: true,
    masked: async (_orderIds, value) => value,
    maskedEach: async (rows) => rows,
  };
  for (const [zone, [day]] of HOUSES) {
    const begin = beginOf('day', atLocal(zone, day, '12:00'), zone);
    for (const at of [begin - 1, begin]) {
      const act = { actor: zone, action: 'pause.on', subject: 'x', reason: '', detail: {} };
      await writeAudit(store.db, act, at);
    }
    const asked = { actor: zone, since: day };
    const { rows } = await audit.read({ ...from, timeZone: async () => zone }, asked);
    expect([zone, rows.map(({ at }) => at)]).toEqual([zone, [begin]]);
    // A time that names its zone needs no other.
    const utc = { actor: zone, since: new Date(begin - 1).toISOString() };
    const both = await audit.read({ ...from, timeZone: unread }, utc);
    expect(both.rows).toHaveLength(2);
  }
});

it('the feed of the last two days begins at midnight where the house is', async () => {
  const clock = manualClock(NOW);
  const store = await temporaryStore(clock);
  const database = new Database(store.path);
  onTestFinished(() => void database.close());
  const now = () => Number(database.prepare('select unixepoch()').pluck().get()) * 1_000;
  for (const [zone] of HOUSES) {
    await keepZone({ store, clock }, zone);
    const yesterday = (): number => beginOf('day', beginOf('day', now(), zone) - DAY / 2, zone);
    const before = yesterday();
    database.exec('delete from change; delete from change_hour');
    for (const [seq, at] of [before - 1_000, before, before + 1_000].entries()) {
      const entry = { entity: 'brand', key: 'B', op: 'update', diff: '{}', cause: 'run:1' };
      insertRow(database, 'change', { ...entry, seq: seq + 1, at });
    }
    database.exec(`insert into change_hour (hour, first_seq)
      select at / 3600000, min(seq) from change group by 1`);
    const seen = database.prepare('select seq from v_recent_change order by 1').pluck().all();
    // At midnight the day before has become another one.
    if (yesterday() === before) expect([zone, seen]).toEqual([zone, [2, 3]]);
  }
});
