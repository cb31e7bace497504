/** The standby's lease, record and permits in a real PostgreSQL (Debian's). */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { readLease, renew, takeFirst, takeFrom } from '../../src/standby/lease.ts';
import { append, permitRow } from '../../src/standby/record.ts';
import { createServers, literal } from '../../src/standby/session.ts';
import { trimRecord } from '../../src/standby/trim.ts';
import { startProxy } from '../plane/campaign/proxy.ts';
import {
  drawTaking,
  initStandby,
  SCHEMA,
  serversFor,
  timelines,
  withSession,
} from '../standby/support.ts';
import { until } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';

describe('the standby in PostgreSQL', () => {
  let postgres: Postgres;
  let url: string;
  beforeAll(async () => {
    postgres = await startPostgres();
    url = postgres.url();
    await initStandby(url);
    await initStandby(url);
  });
  afterAll(() => postgres.remove());

  const sql = (text: string) => postgres.sql(`set search_path to ${SCHEMA}; ${text}`);
  const me = (account: string) => ({
    account,
    machine: 'here',
    leaseMs: 15_000,
    taking: drawTaking(),
  });
  const row = (seq: number, text: string | null = '{"a":1}') => ({
    seq,
    what: 'outbox',
    key: `[${seq}]`,
    row: text,
  });

  it('gives the lease to one machine, and away only from what was seen', async () => {
    const [a, b] = [me('lease'), me('lease')];
    await withSession(url, async (session) => {
      expect(await takeFirst(session, a)).toBe(true);
      expect(await takeFirst(session, b)).toBe(false);
      const seen = await readLease(session, 'lease');
      expect(seen).toMatchObject({ taking: a.taking, beat: 0, token: 1 });
      if (!seen) return;
      expect(await renew(session, a, 0, true)).toMatchObject({ beat: 1 });
      expect(await renew(session, a, 0, true)).toBeUndefined();
      expect(await takeFrom(session, seen, b)).toBe(false);
      expect(await takeFrom(session, { ...seen, beat: 1 }, b)).toBe(true);
      expect(await renew(session, a, 1, true)).toBeUndefined();
      expect(await readLease(session, 'lease')).toMatchObject({ taking: b.taking, token: 2 });
    });
  });

  it('takes rows of the holder alone, each once, and any text', async () => {
    const [a, b] = [me('record'), me('record')];
    const odd = JSON.stringify({ text: 'it\'s \\ "\u0000 \ud800 ✓', blob: { base64: 'AA==' } });
    await withSession(url, async (session) => {
      await takeFirst(session, a);
      const about = { outboxId: 1, attempt: 1, kind: 'order', reference: 'A', bodyHash: 'h' };
      const first = await append(
        session,
        a,
        [row(1, odd), row(2, null)],
        [permitRow(about, 5_000)],
        true,
      );
      expect(first).toEqual({ isFenced: false, place: expect.any(Number) });
      const again = await append(session, a, [row(1), row(2), row(3)], [], true);
      expect(again.isFenced).toBe(false);
      const seen = await readLease(session, 'record');
      if (seen) await takeFrom(session, seen, b);
      // A promoted server that lagged gives the same token out twice: it fences nobody.
      await session.ask(`update standby_lease set token = 1 where account = 'record'`);
      expect(await append(session, a, [row(4)], [], true)).toEqual({
        isFenced: true,
        place: undefined,
      });
      const found = await session.ask(
        `select seq, whole, what, row from standby_record where account = 'record' order by place`,
      );
      expect(found).toEqual([
        { seq: '1', whole: false, what: 'outbox', row: odd },
        { seq: '2', whole: false, what: 'outbox', row: null },
        { seq: null, whole: true, what: 'permit', row: expect.stringContaining('"reference":"A"') },
        { seq: '3', whole: true, what: 'outbox', row: '{"a":1}' },
      ]);
    });
  });

  it('makes a taking wait for a row that is being written, and a row for a taking', async () => {
    const [a, b] = [me('race'), me('race')];
    await withSession(url, (session) => takeFirst(session, a));
    const takeOver = await serversFor([url], { timeoutMs: 60_000 }).open();
    const holder = await serversFor([url]).open();
    // A taking that is not committed until the old holder's row waits for it, and is then refused.
    const late = takeOver.ask(
      `update standby_lease set taking = ${literal(b.taking)} where account = 'race';
       do $$ begin
         loop
           perform pg_stat_clear_snapshot();
           exit when exists (select from pg_stat_activity where wait_event_type = 'Lock');
           perform pg_sleep(0.01);
         end loop;
       end $$`,
    );
    await takeOverHasLock();
    expect(await append(holder, a, [row(1)], [], true)).toMatchObject({ isFenced: true });
    await late;
    await Promise.all([takeOver.end(), holder.end()]);
    expect(sql("select count(*) from standby_record where account = 'race'").trim()).toMatch(/0$/);
  });

  /** No replica confirms a commit until the returned function is called. */
  function withoutReplica(): () => void {
    const setting = "synchronous_standby_names = 'nobody'";
    postgres.sql(`alter system set ${setting}`);
    postgres.sql('select pg_reload_conf()');
    return () => {
      postgres.sql('alter system reset synchronous_standby_names');
      postgres.sql('select pg_reload_conf()');
    };
  }

  it('knows nothing of what no replica has confirmed, also of rows that were there', async () => {
    const a = me('replica');
    await withSession(url, async (session) => {
      await takeFirst(session, a);
      await append(session, a, [row(1)], [], true);
    });
    const confirm = withoutReplica();
    try {
      for (const seq of [2, 1]) {
        const session = await serversFor([url], { timeoutMs: 2_000 }).open();
        const late = append(session, a, [row(seq)], [], true);
        await expect(late).rejects.toMatchObject({ code: 'standby.unknown' });
        await expect(session.ask('select 1')).rejects.toMatchObject({ code: /^standby\./ });
        await session.end();
      }
      const session = await serversFor([url]).open();
      const canceled = append(session, a, [row(3)], [], true);
      const waits = `select pid from pg_stat_activity where wait_event = 'SyncRep'`;
      const pid = await until(
        'the commit',
        () => sql(waits).trim().split('\n').at(-1) || undefined,
      );
      sql(`select pg_cancel_backend(${pid})`);
      // The row is there, and it is called done: only a notice says that nothing confirmed it.
      await expect(canceled).rejects.toMatchObject({ code: 'standby.unknown' });
      await session.end();
    } finally {
      confirm();
    }
    const again = await withSession(url, (session) =>
      append(session, a, [row(1), row(2), row(3)], [], true),
    );
    expect(again.isFenced).toBe(false);
    expect(sql("select count(*) from standby_record where account = 'replica'").trim()).toBe('3');
  });

  it('does not know what it asked when a cable is cut, and waits for no end', async () => {
    const proxy = await startProxy(postgres.port);
    onTestFinished(() => proxy.close());
    const through = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
    const servers = serversFor([through], { timeoutMs: 2_000 });
    const [asking, idle] = [await servers.open(), await servers.open()];
    proxy.isSilent = true;
    const begunAt = performance.now();
    await expect(asking.ask('select 1')).rejects.toMatchObject({ code: 'standby.unknown' });
    await Promise.all([asking.end(), idle.end()]);
    await expect(servers.open()).rejects.toMatchObject({ code: 'standby.unreachable' });
    expect(performance.now() - begunAt).toBeLessThan(30_000);
    proxy.isSilent = false;
    await (await servers.open()).end();
  });

  it('forgets of the record what all backups have', async () => {
    const a = me('trim');
    await withSession(url, async (session) => {
      await takeFirst(session, a);
      const { place = 0 } = await append(session, a, [row(1), row(2)], [], true);
      await append(session, a, [row(3)], [], true);
      expect(await trimRecord(session, a, place)).toBe(false);
    });
    expect(sql("select seq from standby_record where account = 'trim'").trim()).toBe('3');
  });

  it('asks the next server where one only reads, was left behind, or is away', async () => {
    const nobody = url.replace(/:\d+\//, ':9/');
    const away = await serversFor([nobody])
      .open()
      .catch((error) => error);
    expect(away).toMatchObject({ code: 'standby.unreachable' });
    const session = await serversFor([nobody, url]).open();
    expect(session.timeline).toBe(1);
    await session.end();
    const memory = timelines();
    memory.saw(2);
    const left = await createServers({
      settings: { servers: [new Secret('url', url)], schema: SCHEMA, timeoutMs: 3_000 },
      clock: systemClock(),
      timelines: memory,
    })
      .open()
      .catch((error) => error);
    expect(left).toMatchObject({ code: 'standby.old_timeline' });
  });

  /** Waits until the taking is written and not committed. */
  function takeOverHasLock(): Promise<true> {
    const sleepers = `select count(*) from pg_stat_activity
      where query like '%end $$' and state = 'active'`;
    return until('the taking', () => sql(sleepers).trim() === '1' || undefined);
  }
});
