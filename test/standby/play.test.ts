/** A second machine restores a backup and plays the record behind it, without PostgreSQL. */
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLOCK_STEPS, RESTORE_STEPS } from '../../src/daemon/upkeep.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { contentHash } from '../../src/outbox/documents.ts';
import { beginFeed, type FeedReader, openFeed, readPlace } from '../../src/standby/feed.ts';
import { permitRow } from '../../src/standby/record.ts';
import { type PlayedRow, play, type RecordSource } from '../../src/standby/take-over/play.ts';
import { createBackup } from '../../src/store/backup/create.ts';
import { type RestorePlan, restoreBackup } from '../../src/store/backup/restore.ts';
import { openClockGuard } from '../../src/store/clock-guard.ts';
import { readPauses, writePause } from '../../src/store/pauses.ts';
import { openStore, type SqliteStore } from '../../src/store/store.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const clock = manualClock();

async function openIn(dataDir: string): Promise<SqliteStore> {
  const path = join(dataDir, 'mirror.db');
  placeDatabase(path);
  const { store } = await openStore({ path, busyTimeoutMs: 100 }, clock);
  onTestFinished(() => store.close());
  return store;
}

const BODY = { reference: 'A' };

async function addPush(store: SqliteStore, reference: string, state = 'queued'): Promise<void> {
  const body = JSON.stringify({ ...BODY, reference });
  const ended = ['confirmed', 'canceled'].includes(state) ? 1 : null;
  await sql`insert into outbox (kind, ordering_key, reference, body, body_hash, state, due_at,
      created_at, ended_at, cause)
    values ('order', ${reference}, ${reference}, ${body}, 'x', ${state}, 0, 0, ${ended},
      'test')`.execute(store.db);
}

type Recorded = Omit<PlayedRow, 'place'>;

const permit = (outboxId: number, attempt: number, reference: string): Recorded =>
  permitRow(
    {
      outboxId,
      attempt,
      kind: 'order',
      reference,
      bodyHash: contentHash({ ...BODY, reference }),
    },
    5_000,
  );

/** A machine with a backup, and the feed of what it did since. */
async function machine() {
  const dataDir = temporaryFolder();
  const store = await openIn(dataDir);
  await beginFeed(store, clock, 'first');
  await addPush(store, 'old');
  const directory = join(dataDir, 'backups');
  const place = { dataDir, exchangeFile: join(dataDir, 'exchange.db'), directory };
  const plan = { ...place, keep: 5, busyTimeoutMs: 100, program: 'test' };
  const { backup } = await createBackup(plan, clock);
  const feed = openFeed({ path: store.path, busyTimeoutMs: 100 });
  onTestFinished(() => feed.close());
  return { store, feed, backup: backup.path };
}

const PIECE_ROWS = 2;

/** The record of these rows; `onPiece` is called before each further piece of rows is given. */
function sourceOf(
  recorded: readonly Recorded[],
  onPiece: () => Promise<void> = () => Promise.resolve(),
): RecordSource {
  const all = recorded.map(({ what, key, row }, index) => ({ place: index + 1, what, key, row }));
  async function* pieces(rows: readonly PlayedRow[]) {
    for (let start = 0; start < rows.length; start += PIECE_ROWS) {
      await onPiece();
      yield rows.slice(start, start + PIECE_ROWS);
    }
  }
  return { keys: () => pieces(all), rows: (table) => pieces(all.filter((r) => r.what === table)) };
}

interface Given {
  readonly more?: readonly Recorded[];
  readonly isHandedOver?: boolean;
  readonly isProven?: boolean;
}

/** Another machine restores that backup and plays what the feed has. */
async function takeOver(backup: string, feed: FeedReader, given: Given = {}) {
  const { more = [], isHandedOver = false, isProven = true } = given;
  const dataDir = temporaryFolder();
  const source = sourceOf([...feed.read(0).rows, ...more]);
  const plan: RestorePlan = {
    backup,
    dataDir,
    exchangeFile: join(dataDir, 'exchange.db'),
    directory: join(dataDir, 'backups'),
    busyTimeoutMs: 100,
    withExchange: false,
    actor: 'standby',
    steps: RESTORE_STEPS,
    record: {
      play: async (tx) => ({ ...(await play(tx, source)), isHandedOver, isProven }),
    },
  };
  const restored = await restoreBackup(plan, clock);
  return { restored, store: await openIn(dataDir) };
}

async function statesIn(store: SqliteStore): Promise<Record<string, string>> {
  const rows = await store.db.selectFrom('outbox').select(['reference', 'state']).execute();
  return Object.fromEntries(rows.map(({ reference, state }) => [reference, state]));
}

async function pausesIn(store: SqliteStore): Promise<readonly string[]> {
  return (await readPauses(store.db)).map(({ target, actor }) => `${target} ${actor}`).sort();
}

async function nextNumber(store: SqliteStore): Promise<number> {
  await addPush(store, 'next');
  const row = store.db.selectFrom('outbox').select('outbox_id').where('reference', '=', 'next');
  return (await row.executeTakeFirstOrThrow()).outbox_id;
}

describe('a take-over', () => {
  it('has what was recorded since the backup, and nothing that was deleted', async () => {
    const { store, feed, backup } = await machine();
    await addPush(store, 'new');
    await sql`update outbox set state = 'sending' where reference = 'old'`.execute(store.db);
    await sql`update outbox set state = 'refused', ended_at = 5 where reference = 'old'`.execute(
      store.db,
    );
    await sql`insert into webhook_event (event_id, received_at, sent_at, order_id, body,
      secret_name, outcome) values ('msg_1', 1, 1, 77, x'00ff', 's', 'refresh')`.execute(store.db);
    for (const name of ['stays', 'goes']) {
      await store.transaction((tx) =>
        writePause(tx, { target: 'stream', name, reason: 'r', actor: 'a', at: 1 }),
      );
    }
    await sql`delete from pause where name = 'goes'`.execute(store.db);
    await store.transaction((tx) =>
      writePause(tx, { target: 'pushes', name: '', reason: 'r', actor: 'eva', at: 1 }),
    );
    const taken = await takeOver(backup, feed);
    expect(await statesIn(taken.store)).toEqual({ old: 'refused', new: 'queued' });
    expect(await pausesIn(taken.store)).toEqual(['decisions standby', 'pushes eva', 'stream a']);
    const rows = async (text: string) =>
      (await sql<Record<string, unknown>>`${sql.raw(text)}`.execute(taken.store.db)).rows;
    expect(await rows('select hex(body) as body from webhook_event')).toEqual([{ body: '00FF' }]);
    expect(await rows('select order_id from refresh')).toEqual([{ order_id: 77 }]);
    // Rows that follow from others come with the record, and counters count by themselves.
    expect(await rows('select outbox_id from refused_document')).toEqual([{ outbox_id: 1 }]);
    expect(
      await rows("select name, rows from tally where entity = 'outbox' and rows > 0 order by name"),
    ).toEqual([
      { name: 'queued', rows: 1 },
      { name: 'refused', rows: 1 },
    ]);
    expect(taken.store.triggers()).toMatchObject({ missing: [] });
    expect(taken.store.triggers().others.length).toBeGreaterThan(0);
    expect(taken.restored).toMatchObject({ inDoubt: 0, missing: [] });
  });

  it('has nothing wait longer because the clock of the other machine was ahead', async () => {
    const { store, feed, backup } = await machine();
    const steps = { log: silentLogger(), steps: CLOCK_STEPS };
    const ahead = { ...clock, now: () => clock.now() + 3_600_000 };
    await openClockGuard({ store, clock: ahead, ...steps });
    await sql`update outbox set due_at = ${ahead.now()}`.execute(store.db);
    const taken = await takeOver(backup, feed);
    await openClockGuard({ store: taken.store, clock, ...steps });
    const due = taken.store.db.selectFrom('outbox').select('due_at');
    expect(await due.executeTakeFirstOrThrow()).toEqual({ due_at: clock.now() });
  });

  it('doubts permits without an outcome alone, if the record is proven to be whole', async () => {
    const { store, feed, backup } = await machine();
    for (const reference of ['permitted', 'answered', 'waits']) await addPush(store, reference);
    await addPush(store, 'unknown', 'in_doubt');
    await sql`insert into outbox_attempt (outbox_id, attempt, started_at, ended_at, class)
      values (3, 1, 1, 2, 'not_processed')`.execute(store.db);
    const more = [permit(2, 1, 'permitted'), permit(3, 1, 'answered')];
    await clock.advance(60_000);
    const taken = await takeOver(backup, feed, { more });
    expect(await statesIn(taken.store)).toEqual({
      old: 'queued',
      permitted: 'in_doubt',
      answered: 'queued',
      waits: 'queued',
      unknown: 'in_doubt',
    });
    // The time in which it may still arrive begins at the take-over.
    const since = taken.store.db.selectFrom('outbox').select('in_doubt_since').distinct();
    const doubted = await since.where('state', '=', 'in_doubt').execute();
    expect(doubted).toEqual([{ in_doubt_since: clock.now() }]);
    expect(taken.restored).toMatchObject({ inDoubt: 2, missing: [] });
    expect(await pausesIn(taken.store)).toEqual(['decisions standby', 'pushes standby']);
    expect(await nextNumber(taken.store)).toBeGreaterThan(1_000_000);
  });

  it('doubts every open push where permits may be gone', async () => {
    const { store, feed, backup } = await machine();
    await addPush(store, 'ended', 'confirmed');
    const { store: other, restored } = await takeOver(backup, feed, { isProven: false });
    expect(await statesIn(other)).toEqual({ old: 'in_doubt', ended: 'confirmed' });
    expect(restored).toMatchObject({ inDoubt: 1, missing: [] });
  });

  it('waits for a person where the push of a permit is not as it was permitted', async () => {
    const { store, feed, backup } = await machine();
    await addPush(store, 'other');
    const more = [permit(2, 1, 'changed'), permit(99, 1, 'gone')];
    const taken = await takeOver(backup, feed, { more });
    expect(taken.restored.missing).toEqual([
      'push 2 (order changed), which attempt 1 may have sent',
      'push 99 (order gone), which attempt 1 may have sent',
    ]);
    expect(await statesIn(taken.store)).toMatchObject({ other: 'in_doubt' });
    const [pause] = (await readPauses(taken.store.db)).filter(({ target }) => target === 'pushes');
    expect(pause?.reason).toMatch(/lacks push 2 \(order changed\)/);
  });

  it('waits for a person where the chain of decisions breaks', async () => {
    const { store, feed, backup } = await machine();
    await sql`insert into decision values (1, 1, 1, 1, 't', 'a', 'h', 'd', 'live', 'hold', '', '[]',
      '', '', '[]', '[]', x'00', 'not the first', 'hash')`.execute(store.db);
    const { restored } = await takeOver(backup, feed);
    expect(restored.missing).toEqual(['the decisions before 1: their chain breaks']);
  });

  it('doubts nothing and leaves no number of documents out after a hand-over', async () => {
    const { store, feed, backup } = await machine();
    await addPush(store, 'new');
    const more = [permit(2, 1, 'new')];
    const taken = await takeOver(backup, feed, { more, isHandedOver: true });
    expect(await statesIn(taken.store)).toEqual({ old: 'queued', new: 'queued' });
    expect(await nextNumber(taken.store)).toBe(3);
  });

  it('plays the last state of each row, and holds one piece of the record at a time', async () => {
    const { store } = await machine();
    const push = (id: number, reference: string, state: string): Recorded => {
      const row = { outbox_id: id, kind: 'order', ordering_key: reference, reference, body: '{}' };
      const more = { body_hash: 'h', state, due_at: 0, created_at: 0, cause: 'test' };
      return { what: 'outbox', key: `[${id}]`, row: JSON.stringify({ ...row, ...more }) };
    };
    const played: number[] = [];
    await store.transaction(async (tx) => {
      const source = sourceOf(
        [
          // The third takes over the reference that the second had at first.
          push(2, 'second', 'queued'),
          push(3, 'third', 'queued'),
          push(1, 'first', 'queued'),
          push(3, 'second', 'queued'),
          push(2, 'other', 'sending'),
          { what: 'outbox', key: '[1]', row: null },
        ],
        async () => {
          const { n } = await tx
            .selectFrom('outbox')
            .select((eb) => eb.fn.countAll<number>().as('n'))
            .executeTakeFirstOrThrow();
          played.push(n);
        },
      );
      await play(tx, source);
    });
    const rows = store.db.selectFrom('outbox').select(['outbox_id', 'reference', 'state']);
    expect(await rows.orderBy('outbox_id').execute()).toEqual([
      { outbox_id: 2, reference: 'other', state: 'sending' },
      { outbox_id: 3, reference: 'second', state: 'queued' },
    ]);
    // Three pieces of keys, then each piece of rows once the one before is in the database.
    expect(played).toEqual([1, 1, 1, 0, 0, 1]);
  });

  it('begins from no past that was given up by a backup restored by hand', async () => {
    const { store, feed, backup } = await machine();
    await addPush(store, 'given up');
    const dataDir = dirname(store.path);
    feed.close();
    await store.close();
    const place = { dataDir, exchangeFile: join(dataDir, 'exchange.db') };
    const plan = { ...place, backup, busyTimeoutMs: 100, withExchange: false, actor: 'eva' };
    const steps = { steps: RESTORE_STEPS, directory: join(dataDir, 'backups') };
    const restored = await restoreBackup({ ...plan, ...steps }, clock);
    expect(restored.isRecordEnded).toBe(true);
    const again = await openIn(dataDir);
    await beginFeed(again, clock, 'second');
    const next = openFeed({ path: again.path, busyTimeoutMs: 100 });
    onTestFinished(() => next.close());
    // Its name is recorded first: all that is before it in the record is of the other past.
    expect(next.read(0).rows[0]).toMatchObject({ seq: 1, what: 'daemon_state' });
    expect(next.read(0).rows[0]?.row).toContain('"second"');
    expect(await readPlace(again.db)).toBe(0);
  });

  it('refuses the record of another release', async () => {
    const { feed, backup } = await machine();
    for (const row of [
      { what: 'outbox', key: '[9]', row: '{"outbox_id":9,"later":1}' },
      { what: 'later', key: '[9]', row: null },
    ]) {
      const refused = await takeOver(backup, feed, { more: [row] }).catch((error) => error);
      expect(refused).toMatchObject({ code: 'standby.other_release' });
    }
  });
});
