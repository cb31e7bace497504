/** Proof of the record at a promoted server (Debian's PostgreSQL and two replicas). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SelvedgeError } from '../../src/lib/errors.ts';
import {
  type Holding,
  hasAll,
  readLease,
  renew,
  takeFirst,
  takeFrom,
} from '../../src/standby/lease.ts';
import { drawTaking, initStandby, serversFor, withSession } from '../standby/support.ts';
import { until } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';

describe('a promoted server', () => {
  let primary: Postgres;
  let [one, two]: Postgres[] = [];
  const holding = (): Holding => {
    const taking = drawTaking();
    return { account: 'main', machine: 'here', leaseMs: 15_000, taking };
  };
  const me = holding();
  const promote = async (server: Postgres | undefined): Promise<string> => {
    if (server === undefined) throw new Error('there is no such server');
    server.sql('select pg_promote()');
    await until('the promotion', () => server.sql('select pg_is_in_recovery()').trim() === 'f');
    return server.url();
  };
  const replica = (name: string) =>
    startPostgres({ of: primary, settings: { cluster_name: name } });
  beforeAll(async () => {
    primary = await startPostgres();
    await initStandby(primary.url());
    [one, two] = [await replica('one'), await replica('two')];
    primary.sql("alter system set synchronous_standby_names = 'FIRST 1 (one)'");
    primary.sql('select pg_reload_conf()');
    const states =
      "select string_agg(sync_state, ',' order by sync_state) from pg_stat_replication";
    await until('both replicas', () => primary.sql(states).trim() === 'async,sync');
    await withSession(primary.url(), async (session) => {
      await takeFirst(session, me);
      const renewed = await renew(session, me, 0, true);
      expect(renewed).toMatchObject({ timeline: 1, confirmedBy: ['one'] });
    });
    await until(
      'the other replica',
      () => two?.sql('select beat from selvedge_standby.standby_lease').trim() === '1',
    );
    await primary.stop('immediate');
  });
  afterAll(async () => {
    for (const server of [one, two, primary]) await server?.remove();
  });

  it('has all that was acknowledged where it was the replica that confirmed it', async () => {
    await withSession(await promote(one), async (session) => {
      const row = await readLease(session, 'main');
      expect([session.timeline, row?.timeline]).toEqual([2, 1]);
      expect(row && (await hasAll(session, row))).toBe(true);
    });
  });

  it('is not believed where it was another one, until the holder has sent all again', async () => {
    await withSession(await promote(two), async (session) => {
      const prove = async (): Promise<unknown> => {
        const row = await readLease(session, 'main');
        return row && (await hasAll(session, row));
      };
      expect(await prove()).toBe(false);
      expect(await renew(session, me, 1, false)).toMatchObject({ beat: 2, timeline: 1 });
      expect(await prove()).toBe(false);
      const other = holding();
      expect(await takeFrom(session, { taking: me.taking, beat: 2 }, other)).toBe(true);
      expect(await prove()).toBe(false);
      expect(await renew(session, other, 0, true)).toMatchObject({ timeline: 2, confirmedBy: [] });
      expect(await prove()).toBe(true);
    });
  });

  it('ends the sessions with the primary that it left behind', async () => {
    await primary.start();
    const servers = serversFor([primary.url(), two?.url() ?? '']);
    const old = await servers.open();
    expect([old.timeline, old.lost.aborted]).toEqual([1, false]);
    const found = await servers.openNewest();
    expect(found.timeline).toBe(2);
    await until('the end of the old session', () => old.lost.aborted || undefined);
    await expect(old.ask('select 1')).rejects.toBeInstanceOf(SelvedgeError);
    await found.end();
  });

  it('is found before a take-over, though an old primary is named first and answers', async () => {
    const timelineOf = async (open: 'open' | 'openNewest'): Promise<number> => {
      // A machine that was off at the promotion has never seen its timeline.
      const session = await serversFor([primary.url(), two?.url() ?? ''])[open]();
      await session.end();
      return session.timeline;
    };
    expect([await timelineOf('open'), await timelineOf('openNewest')]).toEqual([1, 2]);
    await two?.stop();
    expect(await timelineOf('openNewest')).toBe(1);
  });
});
