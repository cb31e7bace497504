/** A plane among the programs of others: pg_dump, PgBouncer, readers, standbys, broken ways. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { type ConnectOptions, connectPostgres } from '../../src/plane/postgres.ts';
import { openPlaneSession } from '../../src/plane/reader.ts';
import { ensureSchema } from '../../src/plane/schema.ts';
import { startProxy } from '../plane/campaign/proxy.ts';
import { changeALot, type PlaneHouse, planeHouse } from '../plane/support.ts';
import { SCHEMA } from '../plane/world.ts';
import { until } from '../support/house.ts';
import { freePort, type Postgres, postgresPrograms, startPostgres } from '../support/postgres.ts';

let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
});

afterAll(() => postgres.remove());

function connectTo(url: string, more: Partial<ConnectOptions> = {}) {
  return connectPostgres({ url, schema: SCHEMA, ...more });
}

async function copyIn(database: string, url = postgres.url(database)): Promise<PlaneHouse> {
  postgres.sql(`create database ${database}`);
  const house = await planeHouse({ connect: connectTo(url), clock: manualClock(), seed: 1 });
  await changeALot(house);
  await house.settle();
  return house;
}

interface Pooler {
  url(database: string): string;
  /** Has it lead to another server from now on. */
  leadTo(server: Postgres): void;
}

/** A PgBouncer before the server that gives one session to everybody, by transactions. */
async function startPooler(): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-pooler-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const configure = (server: Postgres) =>
    writeFileSync(
      file,
      `[databases]
* = user=postgres host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
server_login_retry = 1
`,
    );
  configure(postgres);
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn('pgbouncer', ['-q', ...user, file], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  onTestFinished(async () => {
    child.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true });
  });
  const url = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  await until('the pooler', () => {
    try {
      return psql(url('postgres'), 'select 1');
    } catch {
      return undefined;
    }
  });
  return {
    url,
    leadTo(server) {
      configure(server);
      child.kill('SIGHUP');
    },
  };
}

function program(name: string): string {
  return join(postgresPrograms() ?? '', name);
}

function psql(url: string, text: string): string {
  const args = ['-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', text];
  return execFileSync(program('psql'), args, { encoding: 'utf8', stdio: 'pipe' }).trim();
}

describe('the plane', () => {
  it('is equal after a dump of it was restored into an empty database', async () => {
    const house = await copyIn('dumped');
    postgres.sql('create database restored');
    const input = execFileSync(program('pg_dump'), ['-d', postgres.url('dumped')]);
    const into = ['-Xq', '-v', 'ON_ERROR_STOP=1', '-d', postgres.url('restored')];
    execFileSync(program('psql'), into, { input, stdio: 'pipe' });
    const views = 'select count(*), (select count(*) from selvedge.v_change) from selvedge.v_stock';
    expect(postgres.sql(views, 'restored')).toBe(postgres.sql(views, 'dumped'));
    await house.sink.close();
    // The address now leads to the restored one.
    postgres.sql('alter database dumped rename to before');
    postgres.sql('alter database restored rename to dumped');
    expect((await house.verify()).isEqual).toBe(true);
    await changeALot(house, 10);
    expect(await house.settle()).toEqual(['followed', 'nothing']);
    expect((await house.verify()).isEqual).toBe(true);
  });

  it('is copied and read through PgBouncer by transactions, and leaves it no setting', async () => {
    const { url: pooled } = await startPooler();
    const show = `select string_agg(name || '=' || setting, ' ' order by name) from pg_settings
      where name in ('search_path', 'statement_timeout', 'lock_timeout', 'jit', 'work_mem',
        'default_transaction_read_only', 'idle_in_transaction_session_timeout')`;
    const before = psql(postgres.url(), show);
    const house = await copyIn('pooled', pooled('pooled'));
    expect((await house.verify()).isEqual).toBe(true);
    const way = { url: pooled('pooled'), schema: SCHEMA, timeMaxMs: 10_000 };
    const report = await openPlaneSession(way);
    expect((await report.query('select count(*) from v_stock')).rows).toHaveLength(1);
    await report.end();
    expect(psql(pooled('pooled'), show)).toBe(before);
    await changeALot(house, 10);
    expect(await house.settle()).toEqual(['followed', 'nothing']);
    const optioned = `${pooled('pooled')}?options=-c%20jit%3Doff`;
    await expect(connectTo(optioned)()).rejects.toMatchObject({
      code: 'plane.pooler',
      hint: expect.stringMatching(/take "options".* out of plane\.url/),
    });
  });

  it('goes on with a promoted standby, and says before that the pooler has no server', async () => {
    const pooler = await startPooler();
    const clock = manualClock();
    postgres.sql('create database moved');
    const connect = connectTo(pooler.url('moved'), { clock });
    const house = await planeHouse({ connect, clock: manualClock(), seed: 1 });
    await changeALot(house);
    await house.settle();
    const standby = await startPostgres({ of: postgres });
    onTestFinished(() => standby.remove());
    await postgres.stop('immediate');
    onTestFinished(() => postgres.start());
    await changeALot(house, 10);
    const waiting = house.sink.pass().catch((error) => error);
    const told = await until('the reason', async () => {
      await clock.advance(5_000);
      return Promise.race([waiting, systemClock().sleep(50)]);
    });
    expect(told).toMatchObject({
      code: 'plane.unreachable',
      message: expect.stringMatching(/no server took/),
    });
    standby.sql('select pg_promote()');
    pooler.leadTo(standby);
    const done = await until('the standby', () => house.settle().catch(() => undefined));
    expect(done[0]).toBe('followed');
    expect((await house.verify()).isEqual).toBe(true);
  });

  it('changes its views while readers go on, and names the session in the way', async () => {
    const house = await copyIn('upgraded');
    const open = await connectTo(postgres.url('upgraded'))();
    onTestFinished(() => open.end());
    const stock = async () => {
      const reader = await connectTo(postgres.url('upgraded'))();
      const { rows } = await reader.query('select count(*)::int as n from v_stock');
      await reader.end();
      return rows;
    };
    postgres.sql("update selvedge.plane_meta set hash = 'of the release before'", 'upgraded');
    await house.sink.close();
    await open.transaction(async () => {
      const [pid] = (await open.query('select pg_backend_pid() as pid, count(*) from v_stock'))
        .rows;
      const change = house.sink.pass();
      await expect(change).rejects.toMatchObject({
        code: 'plane.locked',
        message: expect.stringMatching(
          new RegExp(
            `session ${pid?.pid} \\(postgres, selvedge plane, idle in tr.* holds .*v_stock`,
          ),
        ),
      });
      expect(await stock()).toEqual([{ n: expect.any(Number) }]);
    });
    await house.settle();
    expect((await house.verify()).isEqual).toBe(true);
    const client = await connectTo(postgres.url('upgraded'))();
    expect(await ensureSchema(client, SCHEMA, house.source.reader().tables)).toBe(false);
    await client.end();
  });

  it('tells a server that only reads, and another owner, as what they are', async () => {
    const house = await copyIn('reasons');
    await house.sink.close();
    postgres.sql('alter database reasons set default_transaction_read_only = on');
    await changeALot(house, 5);
    await expect(house.sink.pass()).rejects.toMatchObject({
      code: 'plane.read_only',
      hint: expect.stringMatching(/must name the primary/),
    });
    postgres.sql('alter database reasons reset default_transaction_read_only');
    postgres.sql(
      `create role newer login; grant usage on schema selvedge to newer;
       grant select, update on all tables in schema selvedge to newer;
       update selvedge.plane_meta set hash = ''; drop view selvedge.v_stock cascade;`,
      'reasons',
    );
    const newer = await connectTo(postgres.url('reasons', 'newer'))();
    const changed = ensureSchema(newer, SCHEMA, house.source.reader().tables);
    await expect(changed).rejects.toMatchObject({ code: 'plane.no_permission' });
    await newer.end();
    await house.settle();
    expect((await house.verify()).isEqual).toBe(true);
  });
});

describe('a way to PostgreSQL that is cut without a word', () => {
  it('is noticed in seconds, and does not keep the process from ending', async () => {
    const proxy = await startProxy(postgres.port);
    onTestFinished(() => proxy.close());
    const url = postgres.url().replace(`:${postgres.port}/`, `:${proxy.port}/`);
    const clock = manualClock();
    const connect = connectTo(url, { clock, connectTimeoutMs: 2_000 });
    postgres.sql('create database silent');
    const asked = await connect();
    // As long as the server answers others, a long statement is left alone.
    const long = asked.query('select pg_sleep(0.5)');
    await clock.advance(6_000);
    await long;
    proxy.isSilent = true;
    const lost = asked.query('select 1').catch((error) => error);
    await clock.advance(5_000);
    expect(await lost).toMatchObject({
      code: 'plane.unreachable',
      message: expect.stringMatching(/no answer to a statement/),
    });
    const ended = asked.end();
    await clock.advance(1_000);
    await ended;

    proxy.isSilent = false;
    const house = await planeHouse({ connect, clock, seed: 1 });
    const stop = new AbortController();
    proxy.isSilent = true;
    const done = house.sink.run(stop.signal);
    stop.abort();
    await until('the end', async () => {
      await clock.advance(2_000);
      return Promise.race([done.then(() => true), systemClock().sleep(50)]);
    });
  });
});
