/** A daemon that holds the lease, with a real PostgreSQL (Debian's) and the reference service. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Config } from '../../src/config/schema.ts';
import { type Daemon, openDaemon } from '../../src/daemon/daemon.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { exitCodeOf } from '../../src/lib/errors.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { askHere } from '../../src/local-api/ask.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { readStandbyStatus } from '../../src/standby/status-file.ts';
import { sharedEnd } from '../console/support.ts';
import { startFastReference } from '../e2e/support.ts';
import { sign } from '../inbox/support.ts';
import { drawTaking, initStandby, SCHEMA, withStandby } from '../standby/support.ts';
import { startTestDaemon, testConfig, testLogger, until } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/store.ts';

const TOKEN = 'the-token-of-the-erp-0123456789';
const { atEnd, end } = sharedEnd();
let postgres: Postgres;
let reference: Reference;

beforeAll(async () => {
  postgres = await startPostgres();
  atEnd(() => postgres.remove());
  reference = await startFastReference(
    { world: { styles: 20, orders: 3 }, life: { packAfter: '30d', cancelShare: 0 } },
    systemClock(),
    atEnd,
  );
});

afterAll(end);

interface Machine {
  readonly daemon: Daemon & { stop(): Promise<void> };
  readonly config: Config;
  /** Runs SQL on the standby's tables. */
  sql(text: string): string;
  submit(reference: string): Promise<{ readonly status: number; readonly body: unknown }>;
  event(): Promise<number>;
  statesOf(reference: string): Promise<string | undefined>;
}

function machineOn(database: string, settings: Parameters<typeof withStandby>[1] = []) {
  const url = postgres.url(database);
  const overrides = withStandby(
    [url],
    [
      { path: 'standby.lease', value: '3s' },
      { path: 'intake.clients', value: [{ name: 'erp', token: new Secret('token', TOKEN) }] },
      { path: 'streams.off', value: ['brands', 'freight', 'seasons', 'stock', 'season'] },
      { path: 'service.limits.loginSpacing', value: '0s' },
      ...settings,
    ],
  );
  return testConfig(reference, { folder: temporaryFolder(atEnd), overrides });
}

async function startMachine(config: Config, database: string): Promise<Machine> {
  const daemon = await startTestDaemon(reference, config, systemClock(), atEnd);
  const local = join(config.dataDir, 'local.json');
  await until('the local API', () => existsSync(local) || undefined);
  const api = z.object({ url: z.string() }).parse(JSON.parse(readFileSync(local, 'utf8'))).url;
  const [barcode] = reference.world.book.orders.all.flatMap(({ lines }) =>
    lines.map((line) => line.barcode),
  );
  return {
    daemon,
    config,
    sql: (text) => postgres.sql(`set search_path to ${SCHEMA}; ${text}`, database).trim(),
    async submit(own) {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
      const body = JSON.stringify({
        reference: own,
        lines: [{ barcode, quantity: 1, price: '12.50', priceConfirmed: true }],
      });
      const answer = await fetch(`${api}/api/orders`, { method: 'POST', headers, body });
      return { status: answer.status, body: await answer.json() };
    },
    async event() {
      const body = JSON.stringify({ type: 'sales_order.created', data: { orderId: 1 } });
      const headers = sign(body, { at: Date.now() });
      const at = (await daemon.listenerUrl) ?? '';
      return (await fetch(at, { method: 'POST', headers, body })).status;
    },
    async statesOf(own) {
      const row = await daemon.store.db
        .selectFrom('outbox')
        .select('state')
        .where('reference', '=', own)
        .executeTakeFirst();
      return row?.state;
    },
  };
}

const parts = () => ({
  clock: systemClock(),
  random: systemRandom(),
  log: testLogger(),
  scrubber: createScrubber(),
});

/** Sends an event until it is kept: a busy machine may not know that in time, and asks again. */
const untilTaken = ({ event }: Machine) =>
  until('the event to be taken', async () => (await event()) === 204 || undefined);

describe('a daemon that holds the lease', () => {
  it('sends with permits, and PostgreSQL has what it acknowledged', async () => {
    postgres.sql('create database first');
    await initStandby(postgres.url('first'));
    const machine = await startMachine(machineOn('first'), 'first');
    const { sql } = machine;
    // A busy machine may not know in time that it is kept: the ERP submits it again.
    await until(
      'the document',
      async () => (await machine.submit('S-1')).status < 300 || undefined,
    );
    expect(
      sql("select count(*) from standby_record where what = 'outbox' and row like '%S-1%'"),
    ).not.toBe('0');
    expect(sql("select count(*) from standby_record where what = 'intake'")).not.toBe('0');
    await untilTaken(machine);
    expect(sql("select count(*) from standby_record where what = 'webhook_event'")).not.toBe('0');
    await until('the order to be confirmed', async () =>
      (await machine.statesOf('S-1')) === 'confirmed' ? true : undefined,
    );
    const [permit = ''] = sql("select key || row from standby_record where what = 'permit'").split(
      '\n',
    );
    expect(permit).toMatch(
      /^\[1, ?1\]\{"kind":"order","reference":"S-1","bodyHash":"[0-9a-f]{64}"/,
    );
    await until(
      'the outcome in the record',
      () =>
        sql(
          `select row from standby_record where what = 'outbox_attempt'
           order by place desc limit 1`,
        ).includes('"done"') || undefined,
    );
    const posts = reference.edge.journal
      .list()
      .filter(({ method, path }) => method === 'POST' && path.endsWith('/orders'));
    expect(posts).toHaveLength(1);
    // Its lease may be over for a moment on a busy machine.
    await until(
      'the status',
      () => readStandbyStatus(machine.config.dataDir)?.state === 'sending' || undefined,
    );
    expect(readStandbyStatus(machine.config.dataDir)).toMatchObject({ role: 'holder', token: 1 });
    await machine.daemon.stop();
  });

  it('acknowledges and sends nothing while PostgreSQL is away, and goes on by itself', async () => {
    postgres.sql('create database away');
    await initStandby(postgres.url('away'));
    const machine = await startMachine(machineOn('away'), 'away');
    await postgres.stop('immediate');
    expect(await machine.event()).toBe(503);
    const answer = await machine.submit('A-1');
    expect(answer).toMatchObject({ status: 503, body: { code: 'intake.later' } });
    const local: unknown = JSON.parse(
      readFileSync(join(machine.config.dataDir, 'local.json'), 'utf8'),
    );
    const { url, token } = z.object({ url: z.string(), token: z.string() }).parse(local);
    const act = { actor: 'eva', reason: 'x', given: { target: 'pushes', name: 'style' } };
    const paused = await askHere(`${url}/api/acts/pause`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(act),
      headersTimeout: 60_000,
    });
    expect(paused).toMatchObject({ statusCode: 200, isKeptHere: true });
    await until(
      'the status',
      () => readStandbyStatus(machine.config.dataDir)?.state === 'away' || undefined,
    );
    await until('the reason to wait', async () => {
      const row = await machine.daemon.store.db
        .selectFrom('outbox')
        .select('last_error')
        .where('reference', '=', 'A-1')
        .executeTakeFirst();
      return row?.last_error?.startsWith('this machine may not send') || undefined;
    });
    expect(await machine.statesOf('A-1')).toBe('queued');
    await postgres.start();
    await until('the order to be confirmed', async () =>
      (await machine.statesOf('A-1')) === 'confirmed' ? true : undefined,
    );
    await untilTaken(machine);
    const known = await until('the document to be known', async () => {
      const { status } = await machine.submit('A-1');
      return status < 300 ? status : undefined;
    });
    expect(known).toBe(200);
    expect(machine.sql('select token from standby_lease')).toBe('1');
    await machine.daemon.stop();
    // A data folder that has held the lease starts without PostgreSQL, and takes it up later.
    await postgres.stop('immediate');
    const again = await startMachine(machine.config, 'away');
    expect(await again.event()).toBe(503);
    expect(again.daemon.standby?.sending.whyNot()).toMatch(/PostgreSQL/);
    const fresh = openDaemon(machineOn('away'), parts());
    await expect(fresh).rejects.toMatchObject({ code: 'standby.unreachable' });
    await postgres.start();
    await untilTaken(again);
    expect(again.sql('select token from standby_lease')).toBe('2');
    await again.daemon.stop();
  });

  it('gives the lease away once nothing is sent and PostgreSQL has all', async () => {
    postgres.sql('create database given');
    await initStandby(postgres.url('given'));
    // What is given away is asked once, within a fifth of a lease.
    const lease = { path: 'standby.lease', value: '15s' };
    const machine = await startMachine(machineOn('given', [lease]), 'given');
    await machine.submit('G-1');
    await until('the order to be confirmed', async () =>
      (await machine.statesOf('G-1')) === 'confirmed' ? true : undefined,
    );
    const { standby } = machine.daemon;
    await standby?.handOver();
    expect(machine.sql('select handed_over from standby_lease')).toBe('t');
    expect(
      machine.sql(
        "select row from standby_record where what = 'outbox' order by place desc limit 1",
      ),
    ).toContain('"state":"confirmed"');
    expect(standby?.status().state).toBe('handed_over');
    await machine.submit('G-2');
    await until('the reason to wait', async () => {
      const row = await machine.daemon.store.db
        .selectFrom('outbox')
        .select('last_error')
        .where('reference', '=', 'G-2')
        .executeTakeFirst();
      return row?.last_error?.includes('given') || undefined;
    });
    await machine.daemon.stop();
  });

  it('takes its lease again after a restart, and ends when another machine has it', async () => {
    postgres.sql('create database taken');
    await initStandby(postgres.url('taken'));
    const config = machineOn('taken');
    const first = await startMachine(config, 'taken');
    await first.daemon.stop();
    const other = machineOn('taken');
    const refused = await openDaemon(other, parts()).catch((error) => error);
    expect(refused).toMatchObject({ code: 'standby.superseded' });
    expect(exitCodeOf(refused)).toBe(76);
    const daemon = await openDaemon(config, parts());
    expect(first.sql('select token from standby_lease')).toBe('2');
    const running = daemon.run(new AbortController().signal);
    first.sql(`update standby_lease set taking = '${drawTaking()}', holder = 'there'`);
    await expect(running).rejects.toMatchObject({ code: 'standby.superseded', message: /there/ });
    await expect(openDaemon(config, parts())).rejects.toMatchObject({ code: 'standby.superseded' });
    const without = { ...config, standby: { ...config.standby, servers: [] } };
    const alone = await openDaemon(without, parts());
    expect([alone.standby, alone.store.triggers().others]).toEqual([undefined, []]);
    const stopped = new AbortController();
    stopped.abort();
    await alone.run(stopped.signal);
  });
});
