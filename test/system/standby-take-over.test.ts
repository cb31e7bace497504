/** A second machine takes over, with a real PostgreSQL (Debian's) and the reference service. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Config } from '../../src/config/schema.ts';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { runStandby, takeOverByHand } from '../../src/daemon/standby/waiting.ts';
import { serviceManager } from '../../src/daemon/systemd/manager.ts';
import { RESTORE_STEPS } from '../../src/daemon/upkeep.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { openMemory } from '../../src/standby/memory.ts';
import { readStandbyStatus } from '../../src/standby/status-file.ts';
import { createBackup } from '../../src/store/backup/create.ts';
import { backupDirectory } from '../../src/store/backup/manifest.ts';
import { restoreBackup } from '../../src/store/backup/restore.ts';
import { exchangeFile } from '../../src/store/exchange/exchange.ts';
import { readPauses } from '../../src/store/pauses.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { sharedEnd } from '../console/support.ts';
import { startFastReference } from '../e2e/support.ts';
import { drawTaking, initStandby, SCHEMA, withStandby } from '../standby/support.ts';
import {
  type RunningDaemon,
  startTestDaemon,
  testConfig,
  testLogger,
  until,
} from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const TOKEN = 'the-token-of-the-erp-0123456789';
const { atEnd, end } = sharedEnd();
let postgres: Postgres;
let reference: Reference;
const clock = systemClock();

beforeAll(async () => {
  postgres = await startPostgres();
  atEnd(() => postgres.remove());
  const knobs = { world: { styles: 20, orders: 3 }, life: { packAfter: '30d', cancelShare: 0 } };
  reference = await startFastReference(knobs, clock, atEnd);
});

afterAll(end);

/** Two machines with one database in PostgreSQL and one folder of backups. */
async function machines(
  database: string,
): Promise<{ readonly here: Config; readonly there: Config }> {
  postgres.sql(`create database ${database}`);
  await initStandby(postgres.url(database));
  const backups = temporaryFolder(atEnd);
  const one = (): Config =>
    testConfig(reference, {
      folder: temporaryFolder(atEnd),
      overrides: withStandby(
        [postgres.url(database)],
        [
          { path: 'standby.lease', value: '4s' },
          { path: 'intake.clients', value: [{ name: 'erp', token: new Secret('token', TOKEN) }] },
          { path: 'streams.off', value: ['brands', 'freight', 'seasons', 'stock', 'season'] },
          { path: 'service.limits.loginSpacing', value: '0s' },
          { path: 'store.backup.directory', value: backups },
        ],
      ),
    });
  return { here: one(), there: one() };
}

function backUp(config: Config) {
  const { dataDir, store } = config;
  return createBackup(
    {
      dataDir,
      exchangeFile: exchangeFile(config),
      directory: backupDirectory(config),
      keep: 5,
      busyTimeoutMs: store.busyTimeout,
      program: 'test',
    },
    clock,
  );
}

async function submit({ dataDir }: Config, own: string): Promise<number> {
  const local = join(dataDir, 'local.json');
  await until('the local API', () => existsSync(local) || undefined);
  const { url } = z.object({ url: z.string() }).parse(JSON.parse(readFileSync(local, 'utf8')));
  const [barcode] = reference.world.book.orders.all.flatMap(({ lines }) =>
    lines.map((line) => line.barcode),
  );
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const lines = [{ barcode, quantity: 1, price: '12.50', priceConfirmed: true }];
  const body = JSON.stringify({ reference: own, lines });
  return (await fetch(`${url}/api/orders`, { method: 'POST', headers, body })).status;
}

/** Submits it until it is acknowledged: a busy machine may not know in time that it is kept. */
const accept = (config: Config, own: string) =>
  until(`${own} to be taken`, async () => (await submit(config, own)) < 300 || undefined);

async function stateOf({ db }: SqliteStore, reference: string): Promise<string | undefined> {
  const row = db.selectFrom('outbox').select('state').where('reference', '=', reference);
  return (await row.executeTakeFirst())?.state;
}

const untilState = (store: SqliteStore, own: string, state: string) =>
  until(`${own} to be ${state}`, async () =>
    (await stateOf(store, own)) === state ? true : undefined,
  );

const parts = () => {
  const log = testLogger();
  return { clock, random: systemRandom(), log, manager: serviceManager({}, process.pid, log) };
};

const standbyOn = (config: Config, signal = new AbortController().signal) =>
  runStandby(config, parts(), signal);

const start = (config: Config): Promise<RunningDaemon> =>
  startTestDaemon(reference, config, clock, atEnd);

/** A daemon that another machine ends; `ended` resolves with the reason. */
async function startEnding(config: Config) {
  placeDatabase(join(config.dataDir, 'mirror.db'));
  const daemon = await openDaemon(config, { ...parts(), scrubber: createScrubber() });
  const stop = new AbortController();
  atEnd(() => stop.abort());
  const ended = daemon.run(stop.signal).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { ...daemon, ended };
}

const ordersNamed = (own: string): number =>
  reference.world.book.orders.all.filter((order) => order.reference === own).length;

describe('a second machine', () => {
  it('takes over with all that was acknowledged, and the first one comes to wait', async () => {
    const { here, there } = await machines('dies');
    const first = await start(here);
    await accept(here, 'before');
    await untilState(first.store, 'before', 'confirmed');
    await backUp(here);
    const waiting = standbyOn(there);
    await accept(here, 'after');
    await untilState(first.store, 'after', 'confirmed');
    await until(
      'the standby',
      () => readStandbyStatus(there.dataDir)?.state === 'waiting' || undefined,
    );
    await first.stop();
    const ended = await waiting;
    expect(ended).toMatchObject({ how: 'taken', restored: { missing: [] } });
    const second = await start(there);
    expect(await stateOf(second.store, 'after')).toBe('confirmed');
    // Decisions and pushes go on by themselves once everything was read.
    await until('the pauses to end', async () =>
      (await readPauses(second.store.db)).length === 0 ? true : undefined,
    );
    await accept(there, 'after');
    await accept(there, 'later');
    await untilState(second.store, 'later', 'confirmed');
    expect(['before', 'after', 'later'].map(ordersNamed)).toEqual([1, 1, 1]);
    // The way back: what the first one had is set aside, and it waits.
    await backUp(there);
    const stop = new AbortController();
    const back = standbyOn(here, stop.signal);
    await until(
      'the way back',
      () => readStandbyStatus(here.dataDir)?.state === 'waiting' || undefined,
    );
    expect(existsSync(join(here.dataDir, 'mirror.db'))).toBe(false);
    const aside =
      readdirSync(here.dataDir).find((name) => name.startsWith('before-standby-')) ?? '';
    expect(readdirSync(join(here.dataDir, aside))).toContain('mirror.db');
    stop.abort();
    expect(await back).toBeUndefined();
    await second.stop();
  });

  it('puts in doubt what a permit allowed and nobody knows the outcome of', async () => {
    const { here, there } = await machines('doubts');
    const first = await start(here);
    await backUp(here);
    await first.store.transaction(async (tx) => {
      const values = { target: 'pushes', name: '', reason: 'test', actor: 'eva', at: 1 } as const;
      await tx.insertInto('pause').values(values).execute();
    });
    await first.stop();
    const again = await start(here);
    await accept(here, 'unknown');
    await accept(here, 'waits');
    // The machine dies between its permit and its record of the answer.
    const row = again.store.db.selectFrom('outbox').select(['outbox_id', 'body']);
    const { outbox_id: id, body } = await row
      .where('reference', '=', 'unknown')
      .executeTakeFirstOrThrow();
    const { contentHash } = await import('../../src/outbox/documents.ts');
    const hash = contentHash(JSON.parse(body));
    const permit = JSON.stringify({
      kind: 'order',
      reference: 'unknown',
      bodyHash: hash,
      goodMs: 1,
    });
    await again.stop();
    // The statement of the permit still runs when the lease is asked for.
    const dying = new pg.Client({ connectionString: postgres.url('doubts') });
    await dying.connect();
    await dying.query(`begin; set search_path to ${SCHEMA}; select from standby_lease for share;
      insert into standby_record (account, taking, seq, whole, what, key, row)
      select account, taking, null, true, 'permit', '[${id},1]', '${permit}' from standby_lease`);
    const asked = takeOverByHand(there, parts(), {
      isForced: false,
      signal: new AbortController().signal,
    });
    const waits = "select pid from pg_stat_activity where wait_event_type = 'Lock'";
    await until('the lease to be asked for', () => postgres.sql(waits) !== '' || undefined);
    await dying.query('commit');
    await dying.end();
    const ended = await asked;
    expect(ended).toMatchObject({ how: 'taken', restored: { missing: [], inDoubt: 1 } });
    const second = await start(there);
    expect(await stateOf(second.store, 'unknown')).toBe('in_doubt');
    expect(await stateOf(second.store, 'waits')).toBe('queued');
    await second.stop();
  });

  it('is handed the lease with nothing in doubt, and takes none that is renewed', async () => {
    const { here, there } = await machines('drill');
    const first = await startEnding(here);
    await backUp(here);
    await accept(here, 'one');
    await untilState(first.store, 'one', 'confirmed');
    const refused = takeOverByHand(there, parts(), {
      isForced: false,
      signal: new AbortController().signal,
    });
    await expect(refused).rejects.toMatchObject({ code: 'standby.alive' });
    const waiting = standbyOn(there);
    await until(
      'the standby',
      () => readStandbyStatus(there.dataDir)?.state === 'waiting' || undefined,
    );
    await first.standby?.handOver();
    expect(await waiting).toMatchObject({ how: 'taken', restored: { missing: [], inDoubt: 0 } });
    expect(await first.ended).toMatchObject({ code: 'standby.superseded' });
    const second = await start(there);
    await accept(there, 'two');
    const row = second.store.db.selectFrom('outbox').select('outbox_id');
    const { outbox_id } = await row.where('reference', '=', 'two').executeTakeFirstOrThrow();
    expect(outbox_id).toBe(2);
    await second.stop();
  });

  it('resumes a take-over that was killed, with what had been handed over', async () => {
    const { here, there } = await machines('killed');
    const first = await startEnding(here);
    await backUp(here);
    await accept(here, 'one');
    await untilState(first.store, 'one', 'confirmed');
    await first.standby?.handOver(`there:${there.dataDir}`);
    // The standby takes the lease, and is killed before it has restored anything.
    const taking = drawTaking();
    const proof = { isHandedOver: true, isProven: true, isAgain: false };
    mkdirSync(there.dataDir);
    const machine = `${hostname()}:${there.dataDir}`;
    openMemory({ dataDir: there.dataDir, machine }).note(taking, proof);
    postgres.sql(
      `update ${SCHEMA}.standby_lease set taking = '${taking}', beat = 0, handed_over = false`,
      'killed',
    );
    expect(await first.ended).toMatchObject({ code: 'standby.superseded' });
    // The host starts its daemon, which has no database yet.
    const started = openDaemon(there, { ...parts(), scrubber: createScrubber() });
    await expect(started).rejects.toMatchObject({ code: 'standby.superseded' });
    expect(await standbyOn(there)).toMatchObject({
      how: 'taken',
      restored: { missing: [], inDoubt: 0, disarmed: [] },
    });
    const second = await start(there);
    const acts = second.store.db.selectFrom('audit').select('detail');
    const { detail } = await acts.where('action', '=', 'takeover').executeTakeFirstOrThrow();
    expect(JSON.parse(detail)).toMatchObject({ isHandedOver: true, isProven: true });
    await accept(there, 'two');
    const row = second.store.db.selectFrom('outbox').select('outbox_id');
    const { outbox_id } = await row.where('reference', '=', 'two').executeTakeFirstOrThrow();
    expect(outbox_id).toBe(2);
    await second.stop();
  });

  it('plays nothing of a past that was given up by a backup restored by hand', async () => {
    const { here, there } = await machines('restored');
    const first = await start(here);
    const { backup } = await backUp(here);
    await accept(here, 'given-up');
    await untilState(first.store, 'given-up', 'confirmed');
    await first.stop();
    const place = { dataDir: here.dataDir, exchangeFile: exchangeFile(here) };
    const directory = backupDirectory(here);
    const plan = { ...place, directory, backup: backup.path, busyTimeoutMs: 1_000 };
    const how = { withExchange: false, actor: 'eva', steps: RESTORE_STEPS };
    expect((await restoreBackup({ ...plan, ...how }, clock)).isRecordEnded).toBe(true);
    const again = await start(here);
    await accept(here, 'since');
    const byHand = () =>
      takeOverByHand(there, parts(), { isForced: true, signal: new AbortController().signal });
    await expect(byHand()).rejects.toMatchObject({
      code: 'standby.not_ready',
      message: expect.stringContaining('of an earlier feed: PostgreSQL or mirror.db was put back'),
    });
    await backUp(here);
    await accept(here, 'later');
    await again.stop();
    expect(await byHand()).toMatchObject({ how: 'taken' });
    const second = await start(there);
    const known = await second.store.db.selectFrom('outbox').select('reference').execute();
    expect(known.map((row) => row.reference).toSorted()).toEqual(['later', 'since']);
    await second.stop();
  });

  it('does not take a lease from which it could not go on', async () => {
    const { here, there } = await machines('bare');
    const first = await start(here);
    const stop = new AbortController();
    const waiting = standbyOn(there, stop.signal);
    await first.stop();
    await until(
      'the reason',
      () => readStandbyStatus(there.dataDir)?.error?.code === 'standby.not_ready' || undefined,
    );
    const sql = `select holder from ${SCHEMA}.standby_lease`;
    expect(postgres.sql(sql, 'bare')).toContain(here.dataDir);
    stop.abort();
    expect(await waiting).toBeUndefined();
  });
});
