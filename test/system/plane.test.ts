/** The plane in a real PostgreSQL (Debian's). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { grantReader } from '../../src/plane/grant.ts';
import { connectPostgres } from '../../src/plane/postgres.ts';
import { churnOnce } from '../plane/churn.ts';
import { planeHouse } from '../plane/support.ts';
import { SCHEMA } from '../plane/world.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';

describe('the plane, in PostgreSQL', () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.remove());

  function database(name: string) {
    postgres.sql(`create database ${name}`);
    return connectPostgres({ url: postgres.url(name), schema: SCHEMA });
  }

  it('holds two accounts, each equal to its mirror, and catches up after a crash', async () => {
    const connect = database('accounts');
    const clock = manualClock();
    const one = await planeHouse({ connect, clock, seed: 1, account: 'one' });
    const two = await planeHouse({ connect, clock, seed: 2, account: 'two' });
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 50; count += 1) {
        await churnOnce(one.churn);
        await churnOnce(two.churn);
      }
      if (round === 1) {
        await postgres.stop('immediate');
        await expect(one.sink.pass()).rejects.toMatchObject({ code: 'plane.unreachable' });
        await postgres.start();
        await expect(two.sink.pass()).rejects.toMatchObject({ code: 'plane.unreachable' });
      }
      await one.settle();
      await two.settle();
      expect((await one.verify()).isEqual).toBe(true);
      expect((await two.verify()).isEqual).toBe(true);
    }
    const accounts = postgres.sql(
      'select account from selvedge.plane_cursor order by 1',
      'accounts',
    );
    expect(accounts.trim().split('\n')).toEqual(['one', 'two']);
  });

  it('gives a reader what it may read, and nothing else', async () => {
    const connect = database('readers');
    const house = await planeHouse({ connect, clock: manualClock(), seed: 3 });
    await churnOnce(house.churn);
    await house.settle();
    postgres.sql('create role bi login; create role other; create role owner login');
    postgres.sql(`alter schema ${SCHEMA} owner to owner`, 'readers');
    const client = await connect();
    await expect(grantReader(client, SCHEMA, 'nobody_here')).rejects.toMatchObject({
      code: 'plane.no_role',
    });
    for (const owner of ['postgres', 'owner']) {
      await expect(grantReader(client, SCHEMA, owner)).rejects.toMatchObject({
        code: 'plane.role_owns',
      });
    }
    await grantReader(client, SCHEMA, 'bi');
    await client.query('create view selvedge.v_later as select 1 as one');
    await expect(
      client.query('create or replace view selvedge.v_later as select 1 as other'),
    ).rejects.toMatchObject({ code: 'plane.bad_sql' });
    await client.end();
    const reader = await connectPostgres({ url: postgres.url('readers', 'bi'), schema: SCHEMA })();
    expect((await reader.query('select count(*) from daemon_state')).rows).toHaveLength(1);
    expect((await reader.query('select one from v_later')).rows).toEqual([{ one: 1 }]);
    await expect(grantReader(reader, SCHEMA, 'other')).rejects.toMatchObject({
      code: 'plane.no_permission',
    });
    for (const text of [
      'delete from daemon_state',
      'update plane_cursor set seq = 0',
      'create table mine (id integer)',
      'drop view v_later',
    ]) {
      await expect(reader.query(text)).rejects.toMatchObject({ code: 'plane.no_permission' });
    }
    await reader.end();
  });

  it('tells the code and the next step when it cannot connect, and no password', async () => {
    const url = postgres.url('nowhere').replace('postgres@', 'postgres:verysecret@');
    const thrown = await connectPostgres({ url, schema: SCHEMA })().catch((error) => error);
    expect(thrown).toMatchObject({ code: 'plane.refused' });
    expect(`${thrown.message} ${thrown.hint}`).not.toContain('verysecret');
  });
});
