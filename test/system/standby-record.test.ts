/** The record of a store in a real PostgreSQL and its replica (Debian's). */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock, systemUptime } from '../../src/lib/clock.ts';
import {
  beginFeed,
  forgetKept,
  openFeed,
  PLACE_KEY,
  readPlace,
  renameFeed,
} from '../../src/standby/feed.ts';
import type { Holding } from '../../src/standby/lease.ts';
import { readLease, takeFirst, takeFrom } from '../../src/standby/lease.ts';
import { isOfOnePast } from '../../src/standby/past.ts';
import { createRecord } from '../../src/standby/record.ts';
import { gradeReplication, readReplication } from '../../src/standby/replication.ts';
import type { StandbySettings } from '../../src/standby/settings.ts';
import { trimRecord } from '../../src/standby/trim.ts';
import { writeAudit } from '../../src/store/audit.ts';
import { readState, writeState } from '../../src/store/state.ts';
import { drawTaking, initStandby, SCHEMA, serversFor, withSession } from '../standby/support.ts';
import { testLogger, until } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { temporaryStore } from '../support/store.ts';

const clock = systemClock();

describe('the record', () => {
  let primary: Postgres;
  let replica: Postgres;
  beforeAll(async () => {
    primary = await startPostgres();
    await initStandby(primary.url());
    replica = await startPostgres({ of: primary });
  });
  afterAll(async () => {
    await replica.remove();
    await primary.remove();
  });

  async function recording(account: string, more: Partial<StandbySettings> = {}, place = 0) {
    const me: Holding = { account, machine: 'here', leaseMs: 15_000, taking: drawTaking() };
    await withSession(primary.url(), (session) => takeFirst(session, me));
    const store = await temporaryStore(clock);
    await beginFeed(store, clock, 'feed');
    await writeState(store.db, PLACE_KEY, String(place), clock);
    const feed = openFeed({ path: store.path, busyTimeoutMs: 1_000 });
    const settings = {
      permitMs: 5_000,
      timeoutMs: 3_000,
      acknowledge: 'postgresql',
      ...more,
    } as const;
    const state = { fenced: 0, turns: 0, holding: me as Holding | undefined };
    const record = createRecord({
      settings,
      servers: serversFor([replica.url(), primary.url()], settings),
      feed,
      clock,
      clocks: { clock, uptime: systemUptime },
      log: testLogger(),
      holding: () => state.holding,
      onFenced: () => {
        state.fenced += 1;
      },
      onTurn: () => {
        state.turns += 1;
      },
      forget: (kept) => forgetKept(store, clock, kept),
      place: await readPlace(store.db),
      isOfOnePast: async (session, place) => {
        const own = { account, takings: [me.taking], place, drawn: feed.drawn() };
        if (await isOfOnePast(session, own)) return true;
        await renameFeed(store, clock, 'another');
        return false;
      },
      oldest: () => 0,
    });
    const stop = new AbortController();
    const done = record.run(stop.signal);
    const end = async (): Promise<void> => {
      stop.abort();
      await done;
    };
    onTestFinished(async () => {
      await end();
      feed.close();
    });
    const act = (subject: string) =>
      writeAudit(store.db, { actor: 'eva', action: 'x', subject, reason: '' }, 1);
    return { me, store, record, state, act, end };
  }

  const subjects = (postgres: Postgres, account: string) =>
    postgres
      .sql(`select row::json ->> 'subject' from ${SCHEMA}.standby_record
        where account = '${account}' and what = 'audit' order by place`)
      .trim()
      .split('\n');
  const about = (attempt: number) => ({
    ...{ outboxId: 5, kind: 'order', reference: 'A', bodyHash: 'h' },
    attempt,
  });

  it('has what was committed when it says so, and one statement for all who wait', async () => {
    const { record, act } = await recording('kept');
    for (let index = 0; index < 20; index += 1) await act(`s${index}`);
    const waits = Array.from({ length: 50 }, () => record.kept());
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['kept']));
    expect(subjects(primary, 'kept')).toEqual(Array.from({ length: 20 }, (_, at) => `s${at}`));
    await act('permitted');
    const permit = await record.permit(about(1));
    expect(permit.whyOver()).toBeUndefined();
    expect(subjects(primary, 'kept').at(-1)).toBe('permitted');
    const places = primary.sql(`select what from ${SCHEMA}.standby_record
      where account = 'kept' order by place desc limit 1`);
    expect(places.trim()).toBe('permit');
  });

  it('gives no permit and keeps nothing once the lease has another taking', async () => {
    const { me, record, act, state } = await recording('fenced');
    await act('before');
    expect(await record.kept()).toBe('kept');
    await withSession(primary.url(), async (session) => {
      const seen = await readLease(session, me.account);
      if (seen) await takeFrom(session, seen, { ...me, taking: drawTaking() });
    });
    await act('behind');
    expect(await record.kept()).toBe('unknown');
    await expect(record.permit(about(2))).rejects.toMatchObject({ code: 'standby.no_permit' });
    expect(state.fenced).toBeGreaterThan(0);
    expect(subjects(primary, 'fenced')).toEqual(['before']);
    state.holding = undefined;
    expect(await record.kept()).toBe('unknown');
  });

  it('waits for nobody where it is acknowledged locally, but when it settles', async () => {
    const { record, act } = await recording('local', { acknowledge: 'local' });
    await act('one');
    expect(await record.kept()).toBe('kept');
    expect(await record.settled()).toBe('kept');
    expect(subjects(primary, 'local')).toEqual(['one']);
  });

  it('finds out by itself that PostgreSQL is back, also with nothing to send', async () => {
    const { record, act } = await recording('back');
    await act('one');
    expect(await record.kept()).toBe('kept');
    await primary.stop('immediate');
    await expect(record.permit(about(4))).rejects.toMatchObject({ code: 'standby.no_permit' });
    expect(record.trouble()).toMatchObject({ code: /^standby\./ });
    await primary.start();
    await until('no trouble', () => record.trouble() === undefined || undefined);
    expect((await record.permit(about(5))).whyOver()).toBeUndefined();
    expect(subjects(primary, 'back')).toEqual(['one']);
  });

  it('sees if a replica confirms, that none is there to, and what it may not see', async () => {
    const grade = (user?: string) =>
      withSession(primary.url('postgres', user), async (session) =>
        gradeReplication(await readReplication(session)),
      );
    const name = (names: string) => {
      primary.sql(`alter system set synchronous_standby_names = '${names}'`);
      primary.sql('select pg_reload_conf()');
    };
    expect(await grade()).toBe('off');
    primary.sql('create role stranger login');
    try {
      name('*');
      await until('the replica', async () => (await grade()) === 'confirmed' || undefined);
      expect(await grade('stranger')).toBe('unknown');
      name('itself');
      await until('nobody', async () => (await grade()) === 'nobody' || undefined);
    } finally {
      name('');
    }
    await until('the setting', async () => (await grade()) === 'off' || undefined);
  });

  it('begins another feed where PostgreSQL was put back to before what is forgotten', async () => {
    const { store, record, act } = await recording('put back', {}, 1_000_000);
    await act('one');
    await until('all to be kept', async () => (await record.kept()) === 'kept' || undefined);
    expect(await readState(store.db, 'standby_feed')).toBe('another');
    expect([await readPlace(store.db), record.state().place < 1_000_000]).toEqual([0, true]);
    const feeds = primary.sql(`select row::json ->> 'value' from ${SCHEMA}.standby_record
      where account = 'put back' and key = '["standby_feed"]' order by place`);
    expect(feeds.trim().split('\n').at(-1)).toBe('another');
  });

  it('takes nothing from a database that is older than itself', async () => {
    const { me, record, act, end } = await recording('snapshot');
    await act('one');
    expect(await record.kept()).toBe('kept');
    await end();
    const own = { account: 'snapshot', takings: [drawTaking(), me.taking] };
    await withSession(primary.url(), async (session) => {
      const first = await session.ask(
        `select min(place) AS place, max(seq) AS seq from standby_record
         where account = 'snapshot'`,
      );
      const [place, drawn] = [Number(first[0]?.place), Number(first[0]?.seq)];
      expect(await isOfOnePast(session, { ...own, place, drawn })).toBe(true);
      const older = { ...own, place, drawn: drawn - 1 };
      await expect(isOfOnePast(session, older)).rejects.toMatchObject({
        code: 'standby.old_database',
      });
      // Trimmed rows are in each backup.
      await trimRecord(session, me, place);
      expect(await isOfOnePast(session, { ...own, place, drawn })).toBe(true);
    });
  });

  it('goes on at a promoted replica, and sends once more what that may lack', async () => {
    const { record, act, state } = await recording('promoted');
    await act('first');
    expect(await record.kept()).toBe('kept');
    const before = record.state().place;
    expect(record.isSettledOn(1)).toBe(true);
    await until('the replica', () => subjects(replica, 'promoted')[0] === 'first' || undefined);
    await primary.stop('immediate');
    await act('second');
    expect(await record.kept()).toBe('unknown');
    expect(record.trouble()).toMatchObject({ code: /^standby\./ });
    await expect(record.permit(about(3))).rejects.toMatchObject({ code: 'standby.no_permit' });
    replica.sql('select pg_promote()');
    // A replica that was not synchronous lacks the last ones that were acknowledged.
    await until(
      'the promotion',
      () => replica.sql('select pg_is_in_recovery()').trim() === 'f' || undefined,
    );
    replica.sql(`delete from ${SCHEMA}.standby_record`);
    replica.sql(`alter table ${SCHEMA}.standby_record alter column place restart with 1`);
    await until('an answer', async () => (await record.kept()) === 'kept' || undefined);
    expect(subjects(replica, 'promoted')).toEqual(['first', 'second']);
    expect([record.isSettledOn(1), record.isSettledOn(2)]).toEqual([false, false]);
    await until('all to be sent again', () => record.isSettledOn(2));
    expect(state.turns).toBe(2);
    // A backup is played from its place on: one of before would leave out all that follows.
    expect(record.state().place).toBeLessThan(before);
  });
});
