/** A holder of the lease in a real PostgreSQL (Debian's), without the rest of a daemon. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createHolder } from '../../src/standby/holder.ts';
import { openMemory } from '../../src/standby/memory.ts';
import { readStandbyStatus } from '../../src/standby/status-file.ts';
import { drawTaking, initStandby, SCHEMA, serversFor, settingsFor } from '../standby/support.ts';
import { testLogger, until } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';

const clock = systemClock();

describe('a holder', () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres();
    await initStandby(postgres.url());
  });
  afterAll(() => postgres.remove());

  const sql = (text: string) => postgres.sql(`set search_path to ${SCHEMA}; ${text}`).trim();

  /** Renews several times a second; only a much longer silence ends its lease. */
  async function holding(account: string, leaseMs = 60_000) {
    const settings = settingsFor([postgres.url()], { account, leaseMs, renewMs: 50 });
    const memory = openMemory(settings);
    const servers = serversFor([postgres.url()]);
    const parts = { settings, servers, memory, clock, log: testLogger() };
    const holder = createHolder({ ...parts, draw: drawTaking });
    await holder.begin();
    const stop = new AbortController();
    const done = holder.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await done.catch(() => undefined);
    });
    const beat = () => Number(sql(`select beat from standby_lease where account = '${account}'`));
    const beats = (least: number) => until('beats', () => beat() >= least || undefined);
    const set = (what: string) =>
      sql(`update standby_lease set ${what} where account = '${account}'`);
    const read = (column: string) =>
      sql(`select ${column} from standby_lease where account = '${account}'`);
    return { holder, done, beats, set, read, settings };
  }

  it('raises its beat, and tells how it stands', async () => {
    const { holder, beats, settings } = await holding('well');
    await beats(3);
    expect(holder.whyNot()).toBeUndefined();
    const told = { role: 'holder', state: 'sending', account: 'well', timeline: 1 };
    expect(readStandbyStatus(settings.dataDir)).toMatchObject(told);
  });

  it('ends where a copy of its process renews the same taking', async () => {
    const { holder, done, beats, set } = await holding('copied');
    await beats(2);
    set('beat = beat + 1000');
    await expect(done).rejects.toMatchObject({ code: 'standby.superseded' });
    expect([holder.whyNot(), holder.holding()]).toEqual([expect.any(String), undefined]);
  });

  it('goes on where a promoted server lacks its last renewals', async () => {
    const { holder, beats, set } = await holding('behind');
    await beats(5);
    set('beat = 1');
    await beats(5);
    expect(holder.whyNot()).toBeUndefined();
  });

  it('begins nothing while it gives the lease away, and goes on where that fails', async () => {
    const { holder, read } = await holding('fails');
    const failed = holder.giveAway(async () => {
      expect(holder.whyNot()).toMatch(/being given away/);
      await expect(holder.giveAway(async () => undefined)).rejects.toMatchObject({
        code: 'standby.giving',
      });
      throw new Error('not all is kept');
    });
    await expect(failed).rejects.toThrow('not all is kept');
    expect([holder.whyNot(), read('handed_over')]).toEqual([undefined, 'f']);
  });

  it('takes the lease back that nobody took, or that was never given', async () => {
    const { holder, read, set } = await holding('back', 500);
    const taking = read('taking');
    await holder.giveAway(async () => undefined, 'there');
    expect([read('handed_over'), read('wanted_by')]).toEqual(['t', 'there']);
    expect(holder.whyNot()).toMatch(/was given/);
    await until('the lease', () => read('handed_over') === 'f' || undefined);
    await until('sending', () => holder.whyNot() === undefined || undefined);
    expect([read('token'), read('wanted_by')]).toEqual(['2', '']);
    expect(read('taking')).not.toBe(taking);
    // An answer that never came, of a statement that was never run.
    await holder.giveAway(async () => undefined);
    set('handed_over = false');
    await until('the lease', () => read('token') === '3' || undefined);
  });

  it('ends where the lease that it gave was taken', async () => {
    const { holder, done, set } = await holding('taken');
    await holder.giveAway(async () => undefined);
    set(`taking = '${drawTaking()}', holder = 'there', handed_over = false`);
    await expect(done).rejects.toMatchObject({ code: 'standby.superseded', message: /there/ });
  });

  it('ends where the row is gone', async () => {
    const { done, beats } = await holding('gone');
    await beats(1);
    sql("delete from standby_lease where account = 'gone'");
    await expect(done).rejects.toMatchObject({ code: 'standby.superseded', message: /gone/ });
  });
});
