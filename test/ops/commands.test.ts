import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { requireConfig } from '../../src/config/load.ts';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { selvedge } from '../cli/support.ts';
import { answerJson, envelope, startFaulty } from '../client/support.ts';
import { SIMPLE_RULES, startTestReference, until, WEBHOOK_SECRET } from '../support/house.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

interface House {
  readonly folder: string;
  readonly file: string;
  readonly reference: Reference;
  readonly lines: string[];
  run(...args: string[]): ReturnType<typeof selvedge>;
  makeDatabase(): void;
  start(): Promise<void>;
}

const PATH_TOKEN = 'canary-path-token-51f9';

/** Lists cost most of a start, and nobody looks at them but the search for secrets. */
const QUIET = 'streams: { off: [brands, freight, seasons, stock, season] }\n';

/** An installation as an operator has it: a file, secrets beside it, a folder of its own. */
async function install(knobs: Record<string, unknown> = {}, more = QUIET): Promise<House> {
  const folder = temporaryFolder();
  const reference = await startTestReference({
    ...{ world: { styles: 3, orders: 3 }, auth: { loginSpacing: '0s' } },
    ...knobs,
  });
  const [credentials] = Object.values(reference.credentials);
  if (!credentials) throw new Error('the reference has no key');
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules', 'rules.yaml'), SIMPLE_RULES);
  const secrets = { id: credentials.clientId, secret: credentials.clientSecret };
  for (const [name, value] of Object.entries({
    ...secrets,
    hook: WEBHOOK_SECRET,
    path: PATH_TOKEN,
  })) {
    writeFileSync(join(folder, name), value, { mode: 0o600 });
  }
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(
    file,
    `dataDir: data
service:
  v1:
    baseUrl: "${reference.v1Url}"
    login: { clientId: { file: id }, clientSecret: { file: secret } }
  timeouts: { connect: 5m, firstByte: 5m, idle: 5m, total: 5m }
  limits: { requestsPerSecond: 1000, loginSpacing: 0s }
  retry: 1
listener: { port: 0, secrets: [{ secret: { file: hook } }], access: { pathToken: { file: path } } }
local: { port: 0 }
rules: { directory: rules, mode: live }
${more}`,
  );
  const lines: string[] = [];
  const makeDatabase = (): void => placeDatabase(join(folder, 'data', 'mirror.db'));
  const wanted = ['orders: complete', ...(more === QUIET ? [] : ['stock: complete'])];
  return {
    ...{ folder, file, reference, lines },
    run: (...args) => selvedge(['--config', file, ...args]),
    makeDatabase,
    async start() {
      makeDatabase();
      const scrubber = createScrubber();
      const { config } = requireConfig({ file, env: {}, scrubber });
      const write = (line: string): number => lines.push(line);
      const log = createLogger({ level: 'trace', format: 'json', scrubber, write });
      const deps = { clock: systemClock(), random: systemRandom(), log, scrubber };
      const daemon = await openDaemon(config, deps);
      const stop = new AbortController();
      const done = daemon.run(stop.signal);
      onTestFinished(async () => {
        stop.abort();
        await done;
      });
      await until('the first runs', () =>
        wanted.every((one) => lines.some((line) => line.includes(one))) ? true : undefined,
      );
    },
  };
}

describe('doctor', () => {
  it('finds everything in order, through the running daemon', async () => {
    const house = await install();
    await house.start();
    const { code, stdout } = await house.run('doctor');
    expect(stdout).toMatch(/ok {3}service V1 +log-in and GET \/brands work/);
    expect(stdout).toMatch(/ok {3}daemon +runs/);
    expect(stdout).toMatch(/WARN backup .*\n.*→ selvedge backup create/);
    expect(stdout).not.toContain('FAIL');
    expect(code).toBe(0);
  });

  it('asks for the secret of the endpoint while every event is refused as forged', async () => {
    const house = await install();
    await house.start();
    const listening = house.lines.find((line) => line.includes('listening for events')) ?? '';
    const headers = {
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(systemClock().now() / 1_000)),
      'webhook-signature': `v1,${Buffer.from('another secret').toString('base64')}`,
    };
    const url = `${JSON.parse(listening).url}/${PATH_TOKEN}`;
    const { status } = await fetch(url, { method: 'POST', headers, body: '{}' });
    expect(status).toBe(401);
    const { stdout } = await house.run('doctor');
    expect(stdout).toMatch(
      /WARN signatures +1 event was refused as forged, none was taken\n.*listener\.secrets/,
    );
  });

  it('makes no database where there is none, and migrates none', async () => {
    const house = await install();
    const data = join(house.folder, 'data');
    const first = await house.run('doctor');
    expect(first.stdout).toMatch(/FAIL database .*mirror\.db/);
    expect(first.stdout).toMatch(/- {4}service +not asked: first the database/);
    expect([first.code, existsSync(data)]).toEqual([1, false]);
    house.makeDatabase();
    const database = new Database(join(data, 'mirror.db'));
    const newest = 'select max(version) from schema_migration';
    database.exec(`delete from schema_migration where version = (${newest})`);
    database.close();
    const before = readFileSync(join(data, 'mirror.db'));
    const second = await house.run('doctor');
    expect(second.stdout).toMatch(/FAIL database .* has schema \d+, this program needs \d+/);
    expect(readFileSync(join(data, 'mirror.db')).equals(before)).toBe(true);
  });

  it('says of each thing that is wrong what to do', async () => {
    const house = await install({}, 'streams: { stock: { schedule: "7 3 * * *" } }\n');
    const { service } = requireConfig({ file: house.file, env: {} }).config;
    expect(service.v1.baseUrl).toBe(house.reference.v1Url);
    house.makeDatabase();
    chmodSync(join(house.folder, 'data'), 0o755);
    await house.run('pause', 'pushes', '--reason', 'a test');
    await house.reference.close();
    const { code, stdout } = await house.run('doctor', '--json');
    const { checks } = JSON.parse(stdout);
    const byName = new Map(checks.map((one: { check: string }) => [one.check, one]));
    expect(byName.get('daemon')).toMatchObject({ grade: 'warning' });
    expect(byName.get('freshness')).toMatchObject({ text: 'nothing was pulled yet' });
    expect(byName.get('data folder')).toMatchObject({ advice: expect.stringContaining('chmod') });
    expect(byName.get('schedules')).toMatchObject({
      text: 'stock has 1d between runs, but is stale after 45m',
    });
    const advice = 'selvedge resume pushes --reason "…"';
    expect(byName.get('paused')).toMatchObject({ advice });
    expect(byName.get('service V1')).toMatchObject({
      grade: 'failed',
      advice: expect.stringContaining('nothing listens there'),
    });
    expect(code).toBe(1);
    writeFileSync(house.file, 'dataDir: 5\n');
    expect((await house.run('doctor')).stdout).toMatch(/FAIL configuration .*dataDir/);
  });
});

describe('too little room on the disk', () => {
  it.each([
    { floors: ['receive'], resting: 'events and submissions' },
    { floors: ['pull'], resting: 'pulls' },
    { floors: ['pull', 'receive', 'send'], resting: 'pulls, events and submissions, pushes' },
  ])('is told with what rests for it: $resting', async ({ floors, resting }) => {
    const space = floors.map((name) => `${name}Floor: 1000000GiB`).join(', ');
    const house = await install({}, `${QUIET}store: { space: { ${space} } }\n`);
    house.makeDatabase();
    const { stdout } = await house.run('doctor', '--offline');
    expect(stdout).toMatch(new RegExp(`FAIL disk .* free: ${resting} rest\n`));
    const check = await house.run('status', '--check');
    expect(check.stdout).toMatch(new RegExp(`the disk is (nearly )?full: ${resting} rest;`));
  });
});

describe('api', () => {
  it('makes a call with or without a daemon, writes changes down, and stays inside', async () => {
    const house = await install();
    house.makeDatabase();
    const alone = await house.run('api', 'GET', '/brands');
    expect(JSON.parse(alone.stdout)).toMatchObject({ status: 200, data: { count: 10 } });
    await house.start();
    const { stdout, stderr } = await house.run('api', 'get', '/orders?beforeOrderId=999999999');
    expect(JSON.parse(stdout).data.orders.length).toBeGreaterThan(0);
    expect(stderr).toMatch(/^200, \d+ ms/);
    for (const path of ['brands', '/../v10/x', '/../../x', '@evil.example/x']) {
      expect((await house.run('api', 'GET', path)).stderr).toContain('is no path below');
    }
    await house.run('api', 'POST', '/orders/1/pending-refunds', '--data', '{"x":1}');
    const database = new Database(join(house.folder, 'data', 'mirror.db'), { readonly: true });
    const audit = database.prepare('select subject, detail from audit').all();
    database.close();
    expect(audit).toEqual([
      { subject: 'v1 POST /orders/1/pending-refunds', detail: '{"body":{"x":1}}' },
    ]);
  });
});

describe('api, of a service whose address has no path', () => {
  it('makes the call', async () => {
    const house = await install();
    house.makeDatabase();
    await using bare = await startFaulty(({ url }, response) =>
      answerJson(response, 200, envelope(200, { url, token: 'token-of-the-bare-service' })),
    );
    const written = readFileSync(house.file, 'utf8');
    writeFileSync(house.file, written.replace(house.reference.v1Url, bare.url));
    const { stdout, stderr } = await house.run('api', 'GET', '/brands?a=1&b&a=2');
    expect(stderr).not.toContain('is no path');
    expect(JSON.parse(stdout).data.url).toBe('/brands?a=1&a=2&b=');
  });
});

describe('a command that the daemon refuses', () => {
  it('is the mistake of who typed it, and none in the log', async () => {
    const house = await install();
    await house.start();
    const { code, stderr } = await house.run('sync', 'run', 'nonsense');
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nonsense'),
    });
    expect(house.lines.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  });
});

describe('status', () => {
  it('has one line and an exit code for monitoring; knows at once that nobody runs', async () => {
    const house = await install();
    expect(await house.run('status', '--check')).toMatchObject({ code: 3 });
    house.makeDatabase();
    const { stdout, code } = await house.run('status', '--check');
    expect(stdout).toMatch(/^CRITICAL: the daemon does not run; .*there is no backup\n$/);
    expect(code).toBe(2);
    // A log that a reader has kept from being emptied, without the work of filling it.
    const log = join(house.folder, 'data', 'mirror.db-wal');
    writeFileSync(log, '');
    truncateSync(log, 600_000_000);
    const grown = await house.run('status', '--check');
    expect(grown.stdout).toContain('the log of the database has 572.2 MiB');
    // A lease of a daemon that was killed a moment ago.
    const database = new Database(join(house.folder, 'data', 'mirror.db'));
    database.exec("insert into lease values ('daemon', 'dead:1', 1, 0, 9999999999999)");
    database.close();
    expect((await house.run('status')).stdout).toMatch(/^service {5}.*\ndaemon {6}not running/);
    await house.start();
    expect((await house.run('status')).stdout).toMatch(/^service {5}.*\ndaemon {6}running/);
    await house.run('backup', 'create');
    const better = await house.run('status', '--check');
    expect(better.stdout).not.toContain('CRITICAL');
  });
});

describe('a pause whose reason cannot be read', () => {
  it('is one, and breaks no command', async () => {
    const house = await install();
    house.makeDatabase();
    // A folder is unreadable as a file for everybody, as a file of root is for the service's user.
    mkdirSync(join(house.folder, 'data', 'pushes.paused'));
    const { code, stdout } = await house.run('status');
    expect(stdout).toMatch(/^PAUSED +pushes by file .*pushes\.paused cannot be read/m);
    expect(code).toBe(0);
    expect((await house.run('doctor', '--offline')).stdout).toMatch(/WARN paused +paused by file /);
  });
});

describe('what is paused', () => {
  it('is told by each command that says how it is, and so is a dry run', async () => {
    const house = await install({}, `${QUIET}outbox: { dryRun: true }\n`);
    house.makeDatabase();
    const database = new Database(join(house.folder, 'data', 'mirror.db'));
    database.exec(`insert into pause (target, name, reason, actor, at)
      values ('pushes', 'order', 'prices', 'anna', 0), ('decisions', '', 'prices', 'anna', 0)`);
    database.close();
    const { stdout: shown } = await house.run('status');
    expect(shown).toMatch(/^PAUSED +pushes of orders by anna since 1970.*: prices$/m);
    expect(shown).toMatch(/^PAUSED +decisions by anna since 1970.*: prices$/m);
    expect(shown).toMatch(/^DRY RUN +nothing is sent/m);
    const check = await house.run('status', '--check');
    expect(check.stdout).toContain('paused by anna (pushes of orders): prices; ');
    expect(check.stdout).toContain('nothing is sent: outbox.dryRun');
    const { stdout: examined } = await house.run('doctor', '--offline');
    expect(examined).toMatch(
      /WARN paused +paused by anna \(pushes of orders\): prices\n.* --kind order/,
    );
    expect(examined).toMatch(/WARN paused +paused by anna \(decisions\): prices\n.* resume decis/);
    expect(examined).toMatch(/WARN paused +nothing is sent: outbox.dryRun/);
  });
});

describe('rules that only observe', () => {
  it('are told of by the status, because what they accept looks decided', async () => {
    const house = await install();
    house.makeDatabase();
    expect((await house.run('status')).stdout).not.toMatch(/^rules /m);
    const database = new Database(join(house.folder, 'data', 'mirror.db'));
    const note = { mode: 'observe', valid: true, set: 'live', rules: 2, live: 2 };
    database
      .prepare("insert into daemon_state values ('rules_acting', ?, 0)")
      .run(JSON.stringify(note));
    database.close();
    const { stdout } = await house.run('status');
    expect(stdout).toMatch(/^rules +the rules only observe \(rules\.mode\)$/m);
    const check = await house.run('status', '--check');
    expect(check.stdout).toContain('the rules only observe (rules.mode)');
    const doctor = await house.run('doctor', '--offline');
    expect(doctor.stdout).toMatch(/WARN in force +the rules only observe \(rules\.mode\)/);
    expect(doctor.stdout).toMatch(/WARN in force +the rules in force .* are not those of/);
  });
});

describe('a disk that is nearly full', () => {
  it('is why streams that are due do not run, and status says so', async () => {
    const house = await install({}, 'store: { space: { pullFloor: 1000000GB } }\n');
    house.makeDatabase();
    const { stdout } = await house.run('status');
    expect(stdout).toMatch(/^disk +[\d.]+ \wiB free: pulls rest$/m);
  });
});

describe('a stream that was switched off', () => {
  it('is not stale, and wakes nobody', async () => {
    const house = await install({}, 'streams: { off: [stock] }\n');
    house.makeDatabase();
    const database = new Database(join(house.folder, 'data', 'mirror.db'));
    // These rows were left when stock, and V2 with its styles, were switched off.
    database.exec(`insert into stream_state (stream, due_at, complete_at)
      values ('stock', 0, 0), ('styles', 0, 0)`);
    database.close();
    expect((await house.run('status', '--check')).stdout).not.toMatch(/stock|styles/);
    expect((await house.run('status')).stdout).toMatch(/^stock +off .*\nstyles +off /m);
    expect((await house.run('sync', 'list')).stdout).toMatch(/^stock .* off\b.*\nstyles .* off\b/m);
    expect((await house.run('doctor', '--offline')).stdout).toMatch(/ok +freshness/);
  });
});

describe('a stream that was left paused', () => {
  it('is not fresh, and no check says that everything is fine', async () => {
    const house = await install();
    house.makeDatabase();
    const database = new Database(join(house.folder, 'data', 'mirror.db'));
    database.exec(`insert into stream_state (stream, due_at, complete_at) values ('orders', 0, 0);
      insert into pause values ('stream', 'orders', 'looking', 'anna', 0)`);
    database.close();
    const check = await house.run('status', '--check');
    expect(check.stdout).toMatch(/; open orders: paused, \d+d( \d+[hm])? old;/);
    const { stdout } = await house.run('doctor', '--offline');
    expect(stdout).toMatch(/WARN freshness +open orders: paused, /);
  });
});

describe('secrets', () => {
  it('are in no log line, table, answer, message or bundle', async () => {
    const house = await install({}, '');
    await house.start();
    // Things go wrong with a secret in them.
    await house.run('api', 'GET', '/orders/1');
    const [credentials] = Object.values(house.reference.credentials);
    const login = { clientID: credentials?.clientId, clientSecret: credentials?.clientSecret };
    const nextSecret = 'next-secret-that-is-tried-first';
    for (const clientSecret of [login.clientSecret, nextSecret]) {
      const data = JSON.stringify({ ...login, clientSecret });
      await house.run('api', 'POST', '/auth/login', '--data', data);
    }
    const local = JSON.parse(readFileSync(join(house.folder, 'data', 'local.json'), 'utf8'));
    const listening = house.lines.find((line) => line.includes('listening for events')) ?? '';
    const url = `${JSON.parse(listening).url}/${PATH_TOKEN}`;
    await fetch(url, { method: 'POST', body: WEBHOOK_SECRET });
    const answers: string[] = [];
    for (const path of ['/healthz', '/readyz', '/metrics', '/nothing', `/${PATH_TOKEN}`]) {
      answers.push(await (await fetch(local.url + path)).text());
    }
    const said: string[] = [];
    for (const args of [['status'], ['config', 'show'], ['doctor'], ['config', 'check']]) {
      const { stdout, stderr } = await house.run(...args);
      said.push(stdout, stderr);
    }
    const bundle = join(house.folder, 'bundle.json');
    const writer = new Database(join(house.folder, 'data', 'mirror.db'));
    writer.prepare('update stream_state set last_error = ?').run('a\u001b[8m\u009b2J\u202eb');
    writer.close();
    expect((await house.run('support-bundle', bundle)).code).toBe(0);
    expect(statSync(bundle).mode & 0o777).toBe(0o600);
    const canaries = [
      ...[PATH_TOKEN, WEBHOOK_SECRET, WEBHOOK_SECRET.slice(6), credentials?.clientSecret ?? ''],
      ...[local.token, nextSecret],
    ];
    const database = new Database(join(house.folder, 'data', 'mirror.db'), { readonly: true });
    const copy = join(house.folder, 'copy.db');
    database.prepare('vacuum into ?').run(copy);
    database.close();
    const artefacts = {
      log: house.lines.join(''),
      database: readFileSync(copy).toString('latin1'),
      answers: answers.join(''),
      commands: said.join(''),
      bundle: readFileSync(bundle, 'utf8'),
    };
    expect(artefacts.bundle.length).toBeGreaterThan(1_000);
    // Nor does a text of the service steer the terminal of who looks at it.
    expect(artefacts.bundle).toContain(String.raw`a\u001b[8m\u009b2J\u202eb`);
    for (const [name, text] of Object.entries(artefacts)) {
      const leaked = canaries.filter((canary) => text.includes(canary));
      expect([name, leaked]).toEqual([name, []]);
    }
  });
});
