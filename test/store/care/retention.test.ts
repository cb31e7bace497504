/** Deletion of old rows: which of each table, and when. */

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { CLOCK_STEPS, retentionSteps } from '../../../src/daemon/upkeep.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { createLogger, silentLogger } from '../../../src/lib/log.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { createCheckpoints } from '../../../src/store/care/checkpoints.ts';
import { createKeeper, deleteOldRows } from '../../../src/store/care/keeper.ts';
import { createReservedSpace } from '../../../src/store/care/reserved-space.ts';
import { openClockGuard } from '../../../src/store/clock-guard.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Puts in an entry of the feed from that time. */
const changeAt = (database: Database.Database) =>
  database.prepare(
    `insert into change (at, entity, key, op, diff, cause)
     values (?, 'b', 'k', 'insert', '{}', 'c')`,
  );

it('keeps each table for its own time, and an incident for as long as it is open', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const database = new Database(store.path);
  const change = changeAt(database);
  const event = database.prepare(
    `insert into webhook_event (event_id, received_at, sent_at, body, secret_name, outcome)
     values (hex(randomblob(8)), ?, 0, x'', 's', 'stored')`,
  );
  const run = database.prepare(
    `insert into sync_run (stream, cause, started_at, ended_at, read_seq, options, checkpoint,
       outcome) values ('brands', 'test', 0, ?, 1, '{}', '{}', 'complete')`,
  );
  const incident = database.prepare(
    `insert into incident (at, kind, entity, key, detail, resolved_at)
     values (0, ?, 'e', 'k', '{}', ?)`,
  );
  for (const days of [9, 8, 7, 6, 5, 4, 3, 2, 1]) {
    const at = clock.now() - days * DAY;
    for (const table of [change, event, run]) table.run(at);
    incident.run('over', at);
  }
  incident.run('open', null);
  const kept = { changes: 2.5 * DAY, events: 4.5 * DAY, stockDays: 5.5 * DAY };
  const limits = { ...kept, runs: 6.5 * DAY, incidents: 8.5 * DAY };
  await deleteOldRows({ store, clock }, retentionSteps(limits));
  const left = (table: string) => database.prepare(`select count(*) from ${table}`).pluck().get();
  expect(['change', 'webhook_event', 'sync_run'].map(left)).toEqual([2, 4, 6]);
  const incidents = database.prepare('select kind, count(*) n from incident group by kind').all();
  expect(incidents).toEqual([
    { kind: 'open', n: 1 },
    { kind: 'over', n: 8 },
  ]);
  database.close();
});

it('tells what is old by the trusted time', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const database = new Database(store.path);
  const change = changeAt(database);
  for (let days = 60; days > 0; days -= 1) change.run(clock.now() - days * DAY);
  const limits = {
    changes: 50.5 * DAY,
    events: DAY,
    stockDays: 3650 * DAY,
    runs: DAY,
    incidents: DAY,
  };
  await openClockGuard({ store, clock, log: silentLogger(), steps: CLOCK_STEPS });
  clock.step(365 * DAY);
  await openClockGuard({ store, clock, log: silentLogger(), steps: CLOCK_STEPS });
  await deleteOldRows({ store, clock }, retentionSteps(limits));
  expect(database.prepare('select count(*) from change').pluck().get()).toBe(50);
  database.close();
});

it('is told once an hour, though some row is old enough every minute', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const lines: { readonly msg: string; readonly rows: number }[] = [];
  const write = (line: string) => lines.push(JSON.parse(line));
  const log = createLogger({
    ...{ level: 'info', format: 'json', scrubber: createScrubber(), write },
  });
  const keeper = createKeeper({
    ...{ store, clock, log, space: { allows: () => true, canSpare: () => false } },
    checkpoints: createCheckpoints({ store, clock, log }),
    retention: [{ keepMs: DAY, deleteOld: async () => 1 }],
    reserved: createReservedSpace(join(temporaryFolder(), 'ballast'), 0),
  });
  const stop = new AbortController();
  const done = keeper.run(stop.signal);
  await clock.advance(2.5 * HOUR);
  stop.abort();
  await done;
  expect(lines).toMatchObject([1, 60, 60].map((rows) => ({ rows, msg: 'old rows deleted' })));
});

it('does the chores of other rooms each minute, also after one that failed', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  let calls = 0;
  const chore = async (): Promise<void> => {
    calls += 1;
    if (calls === 2) throw new Error('no luck');
  };
  const keeper = createKeeper({
    ...{ store, clock, log: silentLogger(), chores: [chore] },
    space: { allows: () => true, canSpare: () => false },
    checkpoints: createCheckpoints({ store, clock, log: silentLogger() }),
    retention: [],
    reserved: createReservedSpace(join(temporaryFolder(), 'ballast'), 0),
  });
  const stop = new AbortController();
  const done = keeper.run(stop.signal);
  await clock.advance(3.5 * 60_000);
  stop.abort();
  await done;
  expect(calls).toBe(4);
});
