/** The pauses of a take-over, until everything was read once. */
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCatchUp } from '../../../src/daemon/standby/catch-up.ts';
import { RESTORE_STEPS } from '../../../src/daemon/upkeep.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { createBackup } from '../../../src/store/backup/create.ts';
import { restoreBackup } from '../../../src/store/backup/restore.ts';
import { TAKE_OVER } from '../../../src/store/backup/taken-over.ts';
import { type Pause, writePause } from '../../../src/store/pauses.ts';
import { openStore } from '../../../src/store/store.ts';
import type { Permitted } from '../../../src/store/upkeep.ts';
import { pausesIn } from '../../support/pauses.ts';
import { placeDatabase, temporaryFolder } from '../../support/store.ts';

const clock = manualClock();
const pushesBy = (actor: string, more: Partial<Pause> = {}): Pause => {
  const pause = { target: 'pushes', name: '', actor, reason: 'customs has stopped us' } as const;
  return { ...pause, at: clock.now(), ...more };
};
const UNKNOWN: Permitted = {
  ...{ outboxId: 99, attempt: 1, kind: 'order', reference: 'gone', bodyHash: 'x' },
};

/** A daemon that has taken over from a machine with these streams, as of when each was read. */
async function takenOver({
  permits = [],
  pausesBefore = [],
}: {
  readonly permits?: readonly Permitted[];
  readonly pausesBefore?: readonly Pause[];
} = {}) {
  const from = temporaryFolder();
  const path = join(from, 'mirror.db');
  placeDatabase(path);
  const { store: before } = await openStore({ path, busyTimeoutMs: 100 }, clock);
  for (const [stream, complete_at] of [
    ['brands', clock.now()],
    ['stock', clock.now()],
    ['season', null],
    ['freight', 1],
  ] as const) {
    const row = { stream, due_at: 0, complete_at };
    await before.db.insertInto('stream_state').values(row).execute();
  }
  const open = { stream: 'stock', cause: 'schedule', options: '{}', checkpoint: '{}', read_seq: 1 };
  await before.db
    .insertInto('sync_run')
    .values({ ...open, started_at: clock.now() })
    .execute();
  await before.transaction(async (tx) => {
    for (const one of pausesBefore) await writePause(tx, one);
  });
  const common = { exchangeFile: join(from, 'exchange.db'), busyTimeoutMs: 100 };
  const directory = join(from, 'backups');
  const { backup } = await createBackup(
    { ...common, dataDir: from, directory, keep: 5, program: 'test' },
    clock,
  );
  await before.close();
  await clock.advance(1_000);
  const dataDir = temporaryFolder();
  const played = { events: [], permits, isHandedOver: false, isProven: true };
  const plan = { ...common, dataDir, directory, withExchange: false, actor: TAKE_OVER };
  const record = { play: async () => played };
  await restoreBackup({ ...plan, backup: backup.path, steps: RESTORE_STEPS, record }, clock);
  const options = { path: join(dataDir, 'mirror.db'), busyTimeoutMs: 100 };
  const { store } = await openStore(options, clock);
  onTestFinished(() => store.close());
  const pauses = await pausesIn({ store, clock });
  // Freight is switched off since.
  const streams = ['brands', 'stock', 'season'];
  const worker = createCatchUp({ store, clock, log: silentLogger(), pauses, streams });
  const stop = new AbortController();
  const done = worker.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  const readIn = (stream: string) =>
    store.db
      .updateTable('stream_state')
      .set({ complete_at: clock.now() })
      .where('stream', '=', stream)
      .execute();
  /** Ends a run of a stream that the account does not have. */
  const failIn = async (stream: string): Promise<void> => {
    const now = clock.now();
    const run = { stream, cause: 'schedule', options: '{}', checkpoint: '{}', read_seq: 1 };
    const { run_id } = await store.db
      .insertInto('sync_run')
      .values({ ...run, started_at: now, ended_at: now, outcome: 'failed' })
      .returning('run_id')
      .executeTakeFirstOrThrow();
    const state = store.db.updateTable('stream_state').set({ last_run_id: run_id });
    await state.where('stream', '=', stream).execute();
  };
  /** Paused targets, with who has paused them. */
  const paused = () => pauses.list().map(({ target, actor }) => `${target} ${actor}`);
  return { store, pauses, paused, readIn, failIn };
}

/** Lets the worker look twice. */
const look = () => clock.advance(4_000);

describe('a machine that has taken over', () => {
  it('begins each pull anew: one that was under way has read its first pages before', async () => {
    const { store } = await takenOver();
    const runs = store.db.selectFrom('sync_run').select(['stream', 'outcome', 'ended_at']);
    const outcome = { outcome: 'failed', ended_at: clock.now() };
    expect(await runs.execute()).toEqual([{ stream: 'stock', ...outcome }]);
    const asked = store.db.selectFrom('stream_state').select('requested').distinct();
    expect(await asked.execute()).toEqual([{ requested: 'full' }]);
  });

  it('goes on by itself once each stream was read in full since, or cannot be', async () => {
    const { paused, readIn, failIn } = await takenOver();
    await look();
    expect(paused()).toEqual(['decisions standby', 'pushes standby']);
    await readIn('stock');
    await look();
    expect(paused()).toEqual(['decisions standby', 'pushes standby']);
    await readIn('brands');
    await look();
    // A backup of before the first pull says of no stream that it was whole.
    expect(paused()).toEqual(['decisions standby', 'pushes standby']);
    await failIn('season');
    await look();
    expect(paused()).toEqual([]);
  });

  it('pulls again each minute what was not whole since, and nothing that runs', async () => {
    const { store } = await takenOver();
    await store.db.updateTable('stream_state').set({ requested: null }).execute();
    for (const [stream, outcome] of [
      ['brands', 'running'],
      ['stock', 'partial'],
      ['season', 'complete'],
    ] as const) {
      const run = { stream, outcome, cause: 'schedule', started_at: 1, read_seq: 1, options: '{}' };
      await store.db
        .insertInto('sync_run')
        .values({ ...run, checkpoint: 'null' })
        .execute();
    }
    const requested = async () => {
      const rows = store.db.selectFrom('stream_state').select('stream');
      return (await rows.where('requested', '=', 'full').execute()).map(({ stream }) => stream);
    };
    await clock.advance(58_000);
    expect(await requested()).toEqual([]);
    await clock.advance(4_000);
    expect((await requested()).sort()).toEqual(['season', 'stock']);
  });

  it('decides, and leaves the pause of a person to a person', async () => {
    const { paused, readIn, failIn } = await takenOver({ pausesBefore: [pushesBy('eva')] });
    for (const stream of ['stock', 'brands']) await readIn(stream);
    await failIn('season');
    await look();
    expect(paused()).toEqual(['pushes eva']);
  });

  it('keeps a pause by a file of the other machine, until a person resumes', async () => {
    const { pauses, paused, readIn, failIn } = await takenOver({
      pausesBefore: [pushesBy('file')],
    });
    for (const stream of ['stock', 'brands']) await readIn(stream);
    await failIn('season');
    await pauses.followFiles();
    await look();
    expect(paused()).toEqual(['pushes takeover']);
    expect(pauses.list()[0]?.reason).toBe('a file on the other machine: customs has stopped us');
  });

  it('waits as long again where the machine before had not read everything either', async () => {
    const old = pushesBy('standby', { at: 1 });
    const { paused, readIn, failIn } = await takenOver({
      pausesBefore: [old, { ...old, target: 'decisions' }],
    });
    await readIn('stock');
    await failIn('season');
    await look();
    expect(paused()).toEqual(['decisions standby', 'pushes standby']);
    await readIn('brands');
    await look();
    expect(paused()).toEqual([]);
  });

  it('sends nothing until a person resumes, where the record lacks a push (S3)', async () => {
    const { pauses, paused, readIn, failIn } = await takenOver({
      permits: [UNKNOWN],
      pausesBefore: [pushesBy('eva')],
    });
    for (const stream of ['stock', 'brands']) await readIn(stream);
    await failIn('season');
    await look();
    expect(paused()).toEqual(['pushes takeover']);
    expect(pauses.list()[0]?.reason).toMatch(
      /^taken over, and the record lacks push 99 \(order gone\).*; before that eva: customs has/,
    );
    await pauses.resume({ target: 'pushes', name: '' }, { actor: 'eva', reason: 'looked at' });
    expect(paused()).toEqual([]);
  });
});
