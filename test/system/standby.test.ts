/** The standby's lease, record and permits in a real PostgreSQL (Debian's). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLease, renew, takeFirst, takeFrom } from '../../src/standby/lease.ts';
import { append, permitRow } from '../../src/standby/record.ts';
import { literal } from '../../src/standby/session.ts';
import { drawTaking, initStandby, SCHEMA, serversFor, withSession } from '../standby/support.ts';
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
      expect(seen).toMatchObject({ taking: a.taking, beat: 0, token: 1, synced: false });
      if (!seen) return;
      expect(await renew(session, a, 0)).toMatchObject({ beat: 1 });
      expect(await renew(session, a, 0)).toBeUndefined();
      expect(await takeFrom(session, seen, b)).toBe(false);
      expect(await takeFrom(session, { ...seen, beat: 1 }, b)).toBe(true);
      expect(await renew(session, a, 1)).toBeUndefined();
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
    const takeOver = await serversFor([url]).open();
    const holder = await serversFor([url]).open();
    // A taking that is not committed yet: the old holder's row waits for it, and is then refused.
    const late = takeOver.ask(
      `update standby_lease set taking = ${literal(b.taking)} where account = 'race';
       select pg_sleep(0.4)`,
    );
    await takeOverHasLock();
    expect(await append(holder, a, [row(1)], [], true)).toMatchObject({ isFenced: true });
    await late;
    await Promise.all([takeOver.end(), holder.end()]);
    expect(sql("select count(*) from standby_record where account = 'race'").trim()).toMatch(/0$/);
  });

  /** Waits until the taking is written and not committed. */
  function takeOverHasLock(): Promise<true> {
    const sleepers = `select count(*) from pg_stat_activity
      where query like '%pg_sleep(0.4)' and state = 'active'`;
    return until('the taking', () => sql(sleepers).trim() === '1' || undefined);
  }
});
