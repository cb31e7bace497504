/** Starts that a person must look at: what `selvedge run` says, and that nobody repeats them. */
import {
  existsSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { commandLogger } from '../../src/cli/logging.ts';
import { createOutput } from '../../src/cli/output.ts';
import type { Config } from '../../src/config/schema.ts';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { checkDatabase } from '../../src/daemon/doctor/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { EXIT } from '../../src/lib/errors.ts';
import { createLogger } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { requireFirstStart } from '../../src/store/backup/first-start.ts';
import { openExchange } from '../../src/store/exchange/exchange.ts';
import { openStore } from '../../src/store/store.ts';
import { selvedge } from '../cli/support.ts';
import { configOf } from '../config/config-of.ts';
import { ENV, MINIMAL, writeConfig } from '../config/support.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';

const FIVE_ERRORS = `service:
  v1:
    baseUrl: key.example.com/api/v1
    apiKey: { env: API_KEY }
    pageLimit: 251
listner:
  port: 8790
local: { port: 80901 }
streams:
  stock: { schedule: "61 * * * *" }
`;

/** The mirror of a daemon that does not run, and a connection of another program to it. */
async function ownMirror() {
  const dataDir = join(temporaryFolder(), 'data');
  mkdirSync(dataDir);
  const path = join(dataDir, 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 1_000 }, systemClock());
  await store.close();
  const database = new Database(path);
  onTestFinished(() => void database.close());
  return { dataDir, database };
}

/** exchange.db with one document in this state. */
function writeReceipt(dataDir: string, state: string): void {
  const path = join(dataDir, 'exchange.db');
  openExchange(path, systemClock())[Symbol.dispose]();
  const database = new Database(path);
  database.exec(`insert into intake (kind, reference, payload) values ('order', 'A-1', '{}');
    update receipt set state = '${state}'`);
  database.close();
}

function placed(dataDir: string): Config {
  return configOf([
    { path: 'dataDir', value: dataDir },
    { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' },
    { path: 'service.v1.apiKey', value: new Secret('apiKey', 'canary') },
    { path: 'rules.directory', value: temporaryFolder() },
    { path: 'listener.port', value: 0 },
    { path: 'local.port', value: 0 },
  ]);
}

function writeManifest(dataDir: string): void {
  const folder = join(dataDir, 'backups');
  mkdirSync(folder);
  const mirror = { file: 'a-mirror.db', bytes: 1, sha256: '', schema: 1, rows: {} };
  const slip = { createdAt: '2026-01-05T08:00:00Z', program: '0.1.0', mirror, exchange: null };
  writeFileSync(join(folder, 'backup-20260105T080000Z.json'), JSON.stringify(slip));
}

describe('selvedge run', () => {
  it('names all five errors of a configuration with their places, and ends with 78', async () => {
    const file = writeConfig(FIVE_ERRORS);
    const { code, stderr } = await selvedge(['--config', file, 'run'], ENV);
    expect(code).toBe(EXIT.config.code);
    const places = [...stderr.matchAll(/selvedge\.yaml:(\d+):\d+: /g)];
    expect(places.map(([, line]) => Number(line))).toEqual([3, 5, 6, 8, 10]);
    for (const name of ['baseUrl', 'pageLimit', 'listner', 'port', 'schedule']) {
      expect(stderr).toContain(name);
    }
  });

  it('gives its reason the priority of an error in the journal, and only there', async () => {
    const file = writeConfig(FIVE_ERRORS);
    const { dev, ino } = fstatSync(process.stderr.fd);
    const reason = async (stream: string) => {
      const { stderr } = await selvedge(['--config', file, 'run'], { JOURNAL_STREAM: stream });
      return stderr.trimEnd().split('\n');
    };
    for (const line of await reason(`${dev}:${ino}`)) expect(line).toMatch(/^<3>./);
    // A shell in a unit hands its word on to what writes elsewhere.
    for (const line of await reason(`${dev}:${ino + 1}`)) expect(line).not.toContain('<3>');
  });

  it.each([
    ['the journal', 0, '<6>{'],
    ['elsewhere in a unit', 1, '{'],
  ])('begins lines of a log for %s as it reads them', (_, off, begin) => {
    const { dev, ino } = fstatSync(process.stdout.fd);
    const written: string[] = [];
    const sink = { write: (text: string) => written.push(text) };
    const env = { JOURNAL_STREAM: `${dev}:${ino + off}` };
    const context = { env, output: createOutput(sink, sink, env), scrubber: createScrubber() };
    commandLogger(context, { level: 'info', format: 'auto' }).info('here');
    expect(written.join('')).toMatch(new RegExp(`^${begin}`));
  });

  it('leaves the database of a newer version alone, says what to do, ends with 65', async () => {
    const { dataDir, database } = await ownMirror();
    database.exec("insert into schema_migration values (9999, 'future', '', 0)");
    const shape = () => [
      ...database.prepare('select sql from sqlite_schema order by name').pluck().all(),
      ...database.prepare('select version from schema_migration').pluck().all(),
      ...readdirSync(dataDir).filter((name) => name.includes('before')),
    ];
    const before = shape();
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const { code, stderr } = await selvedge(['--config', file, 'run'], ENV);
    expect(code).toBe(EXIT.store.code);
    expect(stderr).toContain('has schema 9999 (future)');
    expect(stderr).toContain('run the newer program, or restore the backup');
    expect(shape()).toEqual(before);
  });

  it('leaves the database of an earlier chain alone, says what to do, ends with 65', async () => {
    const { dataDir, database } = await ownMirror();
    database.exec("update schema_migration set checksum = 'old'");
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    for (const command of ['run', 'status']) {
      const { code, stderr } = await selvedge(['--config', file, command], ENV);
      expect(code).toBe(EXIT.store.code);
      expect(stderr).toContain('mirror.db was made before 0.1.0');
      expect(stderr).toContain('name a new folder in dataDir');
    }
    expect(readdirSync(dataDir).filter((name) => name.includes('before'))).toEqual([]);
  });

  it.each([
    ['the reserved space', (dir: string) => writeFileSync(join(dir, 'ballast'), '')],
    ['receipts of ours', (dir: string) => writeReceipt(dir, 'confirmed')],
    ['a backup', writeManifest],
  ])('takes an absent database for no new one beside %s, and ends with 65', async (_, leave) => {
    const dataDir = join(temporaryFolder(), 'data');
    mkdirSync(dataDir);
    leave(dataDir);
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    const { code, stderr } = await selvedge(['--config', file, 'run'], ENV);
    expect(code).toBe(EXIT.store.code);
    expect(stderr).toContain('mirror.db is not there, but it was');
    expect(stderr).toContain('selvedge backup restore');
    expect(stderr).toMatch(/to begin with nothing, .* move .* away/);
    expect(existsSync(join(dataDir, 'mirror.db'))).toBe(false);
  });

  it('begins beside documents that no daemon has taken yet', () => {
    const dataDir = temporaryFolder();
    writeReceipt(dataDir, 'waiting');
    const place = placed(dataDir);
    expect(() => requireFirstStart(place, Date.now())).not.toThrow();
  });

  it('tries again later where another program holds the database: that ends', async () => {
    const { dataDir, database } = await ownMirror();
    database.exec('begin exclusive');
    const file = writeConfig(`dataDir: ${dataDir}\nstore: { busyTimeout: 100ms }\n${MINIMAL}`);
    const { code, stderr } = await selvedge(['--config', file, 'run'], ENV);
    expect(stderr).toContain('another program holds it; end that first');
    expect(code).toBe(EXIT.temporary.code);
  });

  it('starts without a trigger that somebody has dropped; its log and doctor say so', async () => {
    const { dataDir, database } = await ownMirror();
    database.exec('drop trigger decision_is_final');
    database.close();
    const config = placed(dataDir);
    let log = '';
    const write = (line: string) => {
      log += line;
    };
    const scrubber = createScrubber();
    const logger = createLogger({ level: 'info', format: 'json', scrubber, write });
    const deps = { clock: systemClock(), random: systemRandom(), log: logger, scrubber };
    const daemon = await openDaemon(config, deps);
    await daemon.run(AbortSignal.abort());
    expect(log).toContain('triggers were dropped from the database');
    const found = (await checkDatabase(config, Date.now())).find((one) => one.check === 'triggers');
    expect(found).toMatchObject({ grade: 'failed', text: 'dropped: decision_is_final' });
    expect(found?.advice).toContain('selvedge decisions verify');
  });

  // Not repeated, and not handed on either, would be a machine that does nothing from then on.
  it.each([
    ['selvedge.service', 'superseded', 'selvedge-standby.service', ['store', 'migration']],
    ['selvedge@.service', 'superseded', '"selvedge-standby@%i.service"', ['store', 'migration']],
    ['selvedge-standby.service', 'takenOver', 'selvedge.service', []],
    ['selvedge-standby@.service', 'takenOver', '"selvedge@%i.service"', []],
  ] as const)(
    'is not repeated by %s when a person must look, or at %s',
    (unit, end, next, also) => {
      const text = readFileSync(join(repositoryRoot, 'systemd', unit), 'utf8');
      const codes = /^RestartPreventExitStatus=(.*)$/m.exec(text)?.[1]?.split(' ').map(Number);
      const held = [...also, end, 'config' as const].map((name) => EXIT[name].code);
      expect(codes).toEqual(held.toSorted((a, b) => a - b));
      expect(text).toContain('\nRestart=always\n');
      expect(text).toContain(` ${EXIT[end].code}) systemctl --no-block start ${next} ;; esac'\n`);
    },
  );
});
