import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Config } from '../../src/config/schema.ts';
import { checkDatabase } from '../../src/daemon/doctor/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { gradeHealth } from '../../src/ops/health-grade.ts';
import { INCIDENT_KINDS } from '../../src/ops/incident-kinds.ts';
import { installationOf, readInstallation } from '../../src/ops/installation.ts';
import { DATABASE_MEASURES, LIVE_MEASURES } from '../../src/ops/metrics/table.ts';
import { freshnessOf, headline, readStatus } from '../../src/ops/status.ts';
import { databaseMadeAt } from '../../src/store/backup/inspect.ts';
import { openReadOnlyStore } from '../../src/store/store.ts';
import {
  type ConfigParts,
  type RunningDaemon,
  startTestDaemon,
  startTestReference,
  testConfig,
  until,
} from '../support/house.ts';
import { filesBelow, repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';

interface Watched {
  readonly daemon: RunningDaemon;
  readonly url: string;
  readonly config: Config;
  /** The samples by name and labels, as they stand in the text. */
  samples(): Promise<ReadonlyMap<string, number>>;
  /** Numbers are remembered for a moment: it passes. */
  later(): void;
}

async function startWatched(
  knobs: Record<string, unknown> = {},
  overrides: ConfigParts['overrides'] = [],
  clock = systemClock(),
): Promise<Watched> {
  const folder = temporaryFolder();
  const reference = await startTestReference(knobs);
  const config = testConfig(reference, { folder, overrides });
  let aheadMs = 0;
  const monotonic = (): number => clock.monotonic() + aheadMs;
  const daemon = await startTestDaemon(reference, config, { ...clock, monotonic });
  const file = join(folder, 'data', 'local.json');
  const { url } = await until('the local API', () => {
    try {
      return JSON.parse(readFileSync(file, 'utf8'));
    } catch {
      return undefined;
    }
  });
  return {
    ...{ daemon, url, config },
    later() {
      aheadMs += 3_000;
    },
    async samples() {
      const text = await (await fetch(`${url}/metrics`)).text();
      const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      return new Map(
        lines.map((line) => {
          const at = line.lastIndexOf(' ');
          const value = line.slice(at + 1).replace('+Inf', 'Infinity');
          return [line.slice(0, at), Number(value)];
        }),
      );
    },
  };
}

describe('health', () => {
  it('is told without a token, and does not depend on the service', async () => {
    const { url } = await startWatched({}, [
      { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' },
    ]);
    await until('ready', async () => ((await fetch(`${url}/readyz`)).ok ? true : undefined));
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ ready: true, why: [] });
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ healthy: true, why: [] });
    expect((await fetch(`${url}/api/acts/sync.run`, { method: 'POST' })).status).toBe(401);
  });

  it('is ill while a worker makes no progress, and well again', async () => {
    const clock = systemClock();
    let aheadMs = 0;
    const monotonic = (): number => clock.monotonic() + aheadMs;
    const { url, samples } = await startWatched({}, [], { ...clock, monotonic });
    await until('ready', async () => ((await fetch(`${url}/readyz`)).ok ? true : undefined));
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    // Every worker that sleeps now has slept for longer than it wanted.
    aheadMs = 3_600_000;
    const ill = await fetch(`${url}/healthz`);
    expect(ill.status).toBe(503);
    const why = expect.arrayContaining([expect.stringMatching(/^\w+ makes no progress$/)]);
    expect(await ill.json()).toEqual({ healthy: false, why });
    expect((await samples()).get('selvedge_workers_stuck')).toBeGreaterThan(0);
    aheadMs = 0;
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('is not ready while the disk is too full for events', async () => {
    const { url, samples } = await startWatched({}, [
      { path: 'store.space.receiveFloor', value: '1000000GiB' },
    ]);
    await until('listeners', async () =>
      /listeners/.test(await (await fetch(`${url}/readyz`)).text()) ? undefined : true,
    );
    const unready = await fetch(`${url}/readyz`);
    expect(unready.status).toBe(503);
    expect(await unready.json()).toEqual({ ready: false, why: ['the disk is nearly full'] });
    const found = await samples();
    expect(found.get('selvedge_disk_stopped{activity="receive"}')).toBe(1);
    expect(found.get('selvedge_disk_stopped{activity="send"}')).toBe(0);
  });

  it('is not ready while the database cannot be written, and tells people', async () => {
    const clock = systemClock();
    const { url, config } = await startWatched(
      {},
      [{ path: 'store.busyTimeout', value: '100ms' }],
      // Long sleeps end at once.
      { ...clock, sleep: (ms, signal) => clock.sleep(Math.min(ms, 100), signal) },
    );
    await until('ready', async () => ((await fetch(`${url}/readyz`)).ok ? true : undefined));
    const path = join(config.dataDir, 'mirror.db');
    const other = new Database(path);
    onTestFinished(() => void other.close());
    other.exec('begin immediate');
    const why = await until('unready', async () => {
      const answer = await fetch(`${url}/readyz`);
      return answer.ok ? undefined : await answer.text();
    });
    expect(why).toContain('"the database cannot be written: database is locked"');
    const store = await openReadOnlyStore({ path, busyTimeoutMs: 100 });
    onTestFinished(() => store.close());
    const now = Date.now() + 60_000;
    const found = await readInstallation(store.db, installationOf(config), now);
    expect(found.daemon.running).toBe(true);
    expect(found.silentMs).toBeGreaterThan(0);
    expect(gradeHealth(found, installationOf(config), now).findings).toContainEqual(
      expect.stringMatching(/^the daemon has written nothing for more than /),
    );
    expect(await checkDatabase(config, now)).toContainEqual(
      expect.objectContaining({ check: 'daemon', grade: 'failed' }),
    );
    const leaseEndsAt = async () => (await readStatus(store.db, now, {})).daemon.leaseEndsAt;
    const before = await leaseEndsAt();
    other.exec('rollback');
    await until('written', async () => ((await leaseEndsAt()) === before ? undefined : true));
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ ready: true, why: [] });
  });

  it('stays ready while a worker waits that receives no events', async () => {
    const path = join(temporaryFolder(), 'no folder');
    writeFileSync(path, '');
    const { daemon, url } = await startWatched({}, [{ path: 'intake.folder.path', value: path }]);
    await until('a worker that waits', () => {
      const folder = daemon.health().find(({ name }) => name === 'folder');
      return folder?.state === 'waiting' && folder.restarts > 1 ? folder : undefined;
    });
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ ready: true, why: [] });
  });

  it('tells no number of what is not known', async () => {
    const { samples } = await startWatched({}, [
      { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' },
    ]);
    const found = await until('the streams', async () => {
      const now = await samples();
      return now.has('selvedge_stream_age_seconds{stream="orders"}') ? now : undefined;
    });
    expect([...found.keys()].filter((name) => name.startsWith('selvedge_stream_rows'))).toEqual([]);
  });

  it('tells of each pause, whoever asked for it', async () => {
    const { daemon, config, samples, later } = await startWatched();
    const none = [...(await samples())].filter(([name]) => /paused\{/.test(name));
    expect(none.map(([name, value]) => `${name} ${value}`).sort()).toEqual([
      'selvedge_paused{target="all",name=""} 0',
      'selvedge_paused{target="decisions",name=""} 0',
      'selvedge_paused{target="pushes",name=""} 0',
      'selvedge_paused{target="stream",name=""} 0',
    ]);
    writeFileSync(join(config.dataDir, 'pushes.paused'), 'prices');
    const row = {
      target: 'stream',
      name: 'stock',
      actor: 'anna',
      reason: 'prices',
      at: 0,
    } as const;
    await daemon.store.db.insertInto('pause').values(row).execute();
    later();
    const found = await samples();
    expect(found.get('selvedge_paused{target="pushes",name=""}')).toBe(1);
    expect(found.get('selvedge_paused{target="stream",name="stock"}')).toBe(1);
    // The alert asks for the age itself: a gap in the scrapes begins its four hours anew otherwise.
    const lasts = 'selvedge_paused_seconds{target="stream",name="stock"}';
    expect(found.get(lasts)).toBeGreaterThan(1.7e9);
    expect(found.get('selvedge_paused_seconds{target="pushes",name=""}')).toBeLessThan(14_400);
    const alerts = readFileSync(join(repositoryRoot, 'docs/operating/alerts.yaml'), 'utf8');
    expect(alerts).toContain('expr: selvedge_paused_seconds > 14400\n        labels:');
    const line = await headline(daemon.store.db, systemClock().now(), config);
    expect(line).toContain('; PAUSED: pushes, the pull of stock; ');
  });

  it('counts no stream as fresh that is switched off', async () => {
    const { daemon, config } = await startWatched();
    const streams = Object.keys(freshnessOf(config)).map((stream) => ({ stream }));
    const old = [...streams, { stream: 'styles' }].map((row) => ({ ...row, due_at: 0 }));
    const { db } = daemon.store;
    await db
      .insertInto('stream_state')
      .values(old)
      .onConflict((on) => on.doNothing())
      .execute();
    const line = await headline(db, systemClock().now(), config);
    const [, fresh, stale] = /^(\d+) streams fresh, (\d+) stale/.exec(line) ?? [];
    expect(Number(fresh) + Number(stale)).toBe(streams.length);
  });

  it('tells no number of a database that cannot be read, also where it knew one', async () => {
    const { daemon, samples, later } = await startWatched();
    const readable = async (is: number) => {
      later();
      const now = await samples();
      expect(now.get('selvedge_database_readable')).toBe(is);
      return now;
    };
    const ofDatabase = (found: ReadonlyMap<string, number>): string[] =>
      DATABASE_MEASURES.flatMap(({ name }) =>
        [...found.keys()].filter((key) => key.split('{')[0] === `selvedge_${name}`),
      );
    expect(ofDatabase(await readable(1))).toContain('selvedge_rejects_waiting');
    await sql`alter table quarantine rename to away`.execute(daemon.store.db);
    expect(ofDatabase(await readable(0))).toEqual([]);
    await sql`alter table away rename to quarantine`.execute(daemon.store.db);
    expect(ofDatabase(await readable(1))).toContain('selvedge_rejects_waiting');
  });

  it('tells its numbers although the folder of the backups cannot be read', async () => {
    const directory = join(temporaryFolder(), 'no folder');
    writeFileSync(directory, '');
    const { samples } = await startWatched({}, [
      { path: 'store.backup.directory', value: directory },
    ]);
    const found = await samples();
    expect(found.get('selvedge_database_readable')).toBe(1);
    expect(found.get('selvedge_backup_age_seconds')).toBe(Infinity);
  });

  it('tells of the last backup of its own database, whatever others lie beside it', async () => {
    const { config, samples } = await startWatched();
    const directory = join(config.dataDir, 'backups');
    mkdirSync(directory);
    const place = (name: string, databaseMadeAt: string | undefined, bytes: number): void => {
      const mirror = { file: 'm.db', bytes, sha256: '', schema: 1, rows: {} };
      const slip = { createdAt: new Date(0), program: '1', databaseMadeAt, mirror, exchange: null };
      writeFileSync(join(directory, `backup-${name}.json`), JSON.stringify(slip));
    };
    const path = join(config.dataDir, 'mirror.db');
    place('20260105T080000Z', databaseMadeAt(path), 17);
    place('20260106T080000Z', '2020-01-01T00:00:00.000Z', 99);
    // The clock was ahead then.
    place('20990105T080000Z', databaseMadeAt(path), 98);
    expect((await samples()).get('selvedge_backup_bytes')).toBe(17);
  });

  it('wakes somebody when events come with a wrong signature', async () => {
    const { daemon, samples, later } = await startWatched();
    const text = readFileSync(join(repositoryRoot, 'docs/operating/alerts.yaml'), 'utf8');
    const alert = /increase\((\w+refused_total)\{reason=~"(.*?)"\}\[1h\]\) > 0/.exec(text);
    const [, name = '', reasons = ''] = alert ?? [];
    const counts = async (): Promise<readonly (number | undefined)[]> => {
      const found = await samples();
      return reasons.split('|').map((reason) => found.get(`${name}{reason="${reason}"}`));
    };
    // An increase is told from two samples: the first event counts only after a nought.
    expect(await counts()).toEqual([0, 0]);
    const url = (await daemon.listenerUrl) ?? '';
    const headers = { 'content-type': 'application/json', 'webhook-id': 'msg_1' };
    const signature = `v1,${Buffer.alloc(32).toString('base64')}`;
    const signed = { 'webhook-timestamp': '1767614400', 'webhook-signature': signature };
    await fetch(url, { method: 'POST', headers: { ...headers, ...signed }, body: '{}' });
    later();
    expect(await counts()).toEqual([1, 0]);
  });

  it('wakes somebody when the service refuses the log-in, not when it is away', async () => {
    const alert = readFileSync(join(repositoryRoot, 'docs/operating/alerts.yaml'), 'utf8');
    const [, result] = /logins_total(\{result="\w+"\})/.exec(alert) ?? [];
    const quick = { path: 'service.limits.loginSpacing', value: '0s' };
    const secret = new Secret('clientSecret', 'not this one');
    const refused = await startWatched({ auth: { loginSpacing: 0 } }, [
      ...[quick, { path: 'service.v1.login.clientSecret', value: secret }],
    ]);
    const count = async ({ samples, later }: Watched, of = result): Promise<number> => {
      later();
      return (await samples()).get(`selvedge_logins_total${of}`) ?? Number.NaN;
    };
    await until('a refusal', async () => (await count(refused)) > 0 || undefined);
    const away = await startWatched({}, [
      ...[quick, { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' }],
    ]);
    await until('no answer', async () => (await count(away, '{result="failed"}')) > 0 || undefined);
    expect(await count(away)).toBe(0);
  });

  it('has a number for everything that an operator is woken for', async () => {
    const { daemon, samples } = await startWatched({ world: { styles: 5, orders: 3 } });
    const { db } = daemon.store;
    const startedAt = await until('a first run', async () => {
      const orders = db.selectFrom('stream_state').where('stream', '=', 'orders');
      return (await orders.select('complete_at').executeTakeFirst())?.complete_at ?? undefined;
    });
    const found = await samples();
    const age = found.get('selvedge_stream_age_seconds{stream="orders"}');
    expect(age).toBeLessThanOrEqual((systemClock().now() - startedAt) / 1_000);
    expect(
      [...found].filter(([name, value]) => /^selvedge/.test(name) && Number.isNaN(value)),
    ).toEqual([]);
    expect(found.get('selvedge_logins_total{result="done"}')).toBeGreaterThan(0);
    expect(found.get('selvedge_service_requests_total')).toBeGreaterThan(0);
    expect(found.get('selvedge_worker_running{worker="sync"}')).toBe(1);
    expect(found.get('selvedge_workers_stuck')).toBe(0);
    expect(found.get('selvedge_rejects_waiting')).toBe(0);
    expect(found.get('selvedge_disk_free_bytes')).toBeGreaterThan(0);
    expect(found.get('selvedge_database_bytes')).toBeGreaterThan(0);
    expect(found.get('selvedge_backup_age_seconds')).toBe(Infinity);
    expect(found.has('nodejs_eventloop_lag_p99_seconds')).toBe(true);
    // An event that never came is not one that came in 1970.
    expect(found.get('selvedge_last_event_timestamp_seconds')).not.toBe(0);
  });

  it('has words for each kind of incident that is opened, and for no other', () => {
    const texts = filesBelow('src', ['.ts'])
      .filter(({ path }) => !path.endsWith('incident-kinds.ts'))
      .map(({ text }) => text);
    const all = texts.join('\n');
    const opened = [...all.matchAll(/kind: '([a-z_]+)',\s*entity\b/g)].map(([, kind]) => kind);
    expect(opened.length).toBeGreaterThan(20);
    expect(opened.filter((kind) => !INCIDENT_KINDS.includes(kind ?? ''))).toEqual([]);
    expect(INCIDENT_KINDS.filter((kind) => !all.includes(`'${kind}'`))).toEqual([]);
  });

  it('tells 0 of what is known and does not occur', async () => {
    const { samples } = await startWatched();
    const found = await samples();
    for (const name of [
      'deliveries_pending{outcome="hold"}',
      'deliveries_pending_oldest_seconds{outcome="undecided"}',
      'holds{rule="hold-large"}',
      'holds_oldest_seconds{rule="unread"}',
      'decisions_total{outcome="reject",mode="live"}',
      'rule_decisions_total{rule="accept-small",outcome="accept",mode="live"}',
      'pushes_ended_total{kind="order",state="dead"}',
      'packed_to_confirmed_seconds_count',
      'outbox_items{kind="order",state="in_doubt"}',
      'quarantine_rows{entity="delivery"}',
      'incidents_open{kind="push_dead"}',
      'events_refused_total{reason="stale"}',
      'service_request_seconds_count{class="person",answer="2xx"}',
    ]) {
      expect([name, found.get(`selvedge_${name}`)]).toEqual([name, 0]);
    }
  });

  it('is described: manual, alerts and dashboard name every number, and no other', () => {
    const read = (name: string): string =>
      readFileSync(join(repositoryRoot, 'docs/operating', name), 'utf8');
    const measures = [...DATABASE_MEASURES, ...LIVE_MEASURES].map(({ name }) => `selvedge_${name}`);
    const known = [...measures, 'selvedge_build_info', 'selvedge_database_readable'];
    const namedIn = (text: string) =>
      new Set(
        [...text.matchAll(/\bselvedge_[a-z0-9_]+/g)].map(([name]) => name.replace(/_bucket$/, '')),
      );
    const manual = namedIn(read('../metrics.md'));
    expect(known.filter((name) => !manual.has(name))).toEqual([]);
    for (const name of ['../metrics.md', 'monitoring.md', 'alerts.yaml', 'dashboard.json']) {
      expect([...namedIn(read(name))].filter((one) => !known.includes(one))).toEqual([]);
    }
    const rules = z.object({
      alert: z.string(),
      expr: z.string(),
      labels: z.object({ severity: z.enum(['info', 'warning', 'critical']) }),
      annotations: z.object({ summary: z.string(), action: z.string() }),
    });
    const alerts = z.object({ groups: z.tuple([z.object({ rules: z.array(rules) })]) });
    const [{ rules: described }] = alerts.parse(parse(read('alerts.yaml'))).groups;
    expect(described.length).toBeGreaterThan(15);
    for (const { alert, expr, annotations } of described) {
      if (!/^(?:sum|max)\b/.test(expr)) continue;
      // A sum keeps only the label that it names.
      const kept = /\bby \((\w+)\)/.exec(expr)?.[1];
      for (const [, named] of annotations.summary.matchAll(/\$labels\.(\w+)/g)) {
        expect([alert, kept]).toEqual([alert, named]);
      }
    }
    expect(JSON.parse(read('dashboard.json')).panels.length).toBeGreaterThan(10);
  });
});
