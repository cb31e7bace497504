/** Counts of decisions and pushes since the start, as Prometheus sees them. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { createMetrics } from '../../src/ops/metrics/metrics.ts';
import { readDatabase } from '../../src/ops/metrics/readings.ts';
import { createTally } from '../../src/ops/metrics/tally.ts';
import type { Db } from '../../src/store/store.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';

const START = 1_000_000_000;

async function decide(db: Db, at: number, outcome: string, rules: readonly string[], count = 1) {
  await sql`with recursive nth(n) as (select 1 union all select n + 1 from nth where n < ${count})
    insert into decision (order_delivery_id, order_id, at, trigger, actor, rule_set_hash,
      facts_digest, mode, outcome, reason, rules, shadow, said, matched, lapsed, evaluation,
      previous_hash, hash)
    select n, 1, ${at}, '', 'daemon', '', '', 'live', ${outcome}, '', ${JSON.stringify(rules)}, '',
      ${outcome}, '[]', '[]', x'', '', hex(randomblob(16)) from nth`.execute(db);
}

async function confirm(db: Db, delivery: number, packedAt: number, endedAt: number) {
  await sql`insert into delivery (order_delivery_id, order_id, status, created_at, tracking_numbers,
      tracking_links, extra, content_hash, first_seen_at, changed_at, read_seq, source)
    values (${delivery}, 1, 'accepted', ${packedAt}, '[]', '[]', '{}', '', 1, 1, 1, '')`.execute(
    db,
  );
  await sql`insert into outbox (kind, ordering_key, reference, body, body_hash, state, due_at,
      created_at, ended_at, cause, order_delivery_id)
    values ('delivery_status', '', ${String(delivery)}, '{}', '', 'confirmed', 1, 1, ${endedAt}, '',
      ${delivery})`.execute(db);
}

it('counts what was decided since the start, each time only what is new', async () => {
  const { db } = await temporaryStore();
  await decide(db, START - 1, 'accept', ['small']);
  const tally = createTally(db, START);
  await decide(db, START, 'accept', ['small'], 2_500);
  await decide(db, START + 1, 'hold', ['large', 'late']);
  await decide(db, START + 1, 'accept', []);
  expect(await tally.read(START + 1)).toMatchObject({
    decisions: [
      { of: ['accept', 'live'], count: 2_501 },
      { of: ['hold', 'live'], count: 1 },
    ],
    ruleDecisions: [
      { of: ['small', 'accept', 'live'], count: 2_500 },
      { of: ['large', 'hold', 'live'], count: 1 },
      { of: ['late', 'hold', 'live'], count: 1 },
    ],
  });
  await decide(db, START + 2, 'hold', ['large']);
  const { decisions } = await tally.read(START + 3);
  expect(decisions).toContainEqual({ of: ['hold', 'live'], count: 2 });
});

it('starts after the last decision where there was none since the start', async () => {
  const { db } = await temporaryStore();
  await decide(db, START - 1, 'accept', ['small'], 3);
  const tally = createTally(db, START);
  expect((await tally.read(START)).decisions).toEqual([]);
  await decide(db, START, 'accept', ['small']);
  expect((await tally.read(START)).decisions).toEqual([{ of: ['accept', 'live'], count: 1 }]);
});

it('counts each end of a push once, and how long its delivery took', async () => {
  const { db } = await temporaryStore();
  const tally = createTally(db, START);
  await confirm(db, 1, START - 90_000, START - 1);
  await confirm(db, 2, START - 60_000, START + 5_000);
  await confirm(db, 3, START - 60_000, START + 30_000);
  const first = await tally.read(START + 20_000);
  expect(first).toMatchObject({
    ended: [{ of: ['delivery_status', 'confirmed'], count: 1 }],
    confirmedMs: [65_000],
  });
  const second = await tally.read(START + 50_000);
  expect(second.ended).toEqual([{ of: ['delivery_status', 'confirmed'], count: 2 }]);
  expect(second.confirmedMs).toEqual([90_000]);
  expect(await tally.read(START + 60_000)).toMatchObject({ confirmedMs: [] });
});

it('reads what is new by indexes', async () => {
  const planned = notePlans(await temporaryStore());
  await createTally(planned.store.db, START).read(START + 60_000);
  const pushes = await planned.steps(/from "?outbox/);
  expect(pushes.filter((step) => step.startsWith('SCAN'))).toEqual([]);
  const decisions = await planned.steps(/from "decision" where "decision_id"/);
  expect(decisions).toEqual(['SEARCH decision USING INTEGER PRIMARY KEY (rowid>?)']);
});

it('shows times as histograms, which stay while nothing is new', async () => {
  const clock = manualClock();
  const { db } = await temporaryStore(clock);
  let answered = [
    { priority: 'push', answer: '2xx', ms: 80 },
    { priority: 'push', answer: 'none', ms: 61_000 },
  ];
  let confirmedMs: readonly number[] = [65_000];
  const metrics = createMetrics({
    clock,
    build: { version: '1' },
    readDatabase: async () => ({
      ...(await readDatabase(db, clock.now(), {})),
      ...{ decisions: [], ruleDecisions: [], ended: [], confirmedMs },
      inForce: { mode: 'live', rules: [] },
    }),
    readLive: () => ({
      inbox: {
        ...{ accepted: 0, duplicates: 0, unknownType: 0, failedCommits: 0 },
        ...{ refused: {}, clockOffsetMs: undefined },
      },
      service: {
        ...{ requests: 0, retries: 0, waitMs: 0, bytesReceived: 0, active: 0, waiting: {} },
        ...{ clockOffsetMs: undefined, perSecond: 20, dialects: {}, answered, answers: [] },
        logins: { done: 0, refused: 0, failed: 0 },
      },
      ...{ workers: [], stuck: [], backup: undefined, plane: undefined },
      space: { freeBytes: 1, stopped: [] },
      files: { databaseBytes: 1, walBytes: 1, walPinnedMs: 0 },
    }),
  });
  const expected = [
    'selvedge_service_request_seconds_bucket{le="0.05",class="push",answer="2xx"} 0',
    'selvedge_service_request_seconds_bucket{le="0.1",class="push",answer="2xx"} 1',
    'selvedge_service_request_seconds_count{class="push",answer="none"} 1',
    'selvedge_packed_to_confirmed_seconds_bucket{le="60"} 0',
    'selvedge_packed_to_confirmed_seconds_bucket{le="120"} 1',
    'selvedge_packed_to_confirmed_seconds_sum 65',
  ];
  const first = await metrics.text();
  for (const line of expected) expect(first).toContain(`${line}\n`);
  [answered, confirmedMs] = [[], []];
  await clock.advance(30_000);
  const second = await metrics.text();
  for (const line of expected) expect(second).toContain(`${line}\n`);
});
