/** The commands of a standby, where no PostgreSQL is at hand. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type StandbyStatus, writeStandbyStatus } from '../../src/standby/status-file.ts';
import { ENV, MINIMAL, writeConfig, writeSecret } from '../config/support.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

const COMMANDS = [
  'standby',
  'standby wait',
  'standby init',
  'standby status',
  'standby drill',
  'takeover',
  'takeover --force',
];

/** A port at which nobody listens; the password is a canary. */
const NOWHERE = 'postgresql://selvedge:canary-5e1@127.0.0.1:1/selvedge';

const HOLDER: Omit<StandbyStatus, 'at'> = {
  ...{ role: 'holder', state: 'sending', account: 'main', machine: 'a', holder: 'a' },
  ...{ waiting: 0, place: 9, acknowledge: 'postgresql' },
};
const READY = { machine: 'b', version: '1', seenMsAgo: 1, backupMsAgo: 1, behind: 4 };
const GUIDE = 'docs/operating/standby.md; selvedge standby status';

function machine(more = '') {
  const dataDir = temporaryFolder();
  const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}${more}`);
  const run = (...args: readonly string[]) => selvedge(['--config', file, ...args], ENV);
  return { dataDir, run };
}

type Machine = ReturnType<typeof machine>;

const withServer = () =>
  machine(
    `outbox: { quietTime: 20m }\nstandby: { servers: [{ file: ${writeSecret(NOWHERE)} }] }\n`,
  );

describe('the commands of a standby', () => {
  it.each(COMMANDS)('%s says that there is none, and where to set it', async (command) => {
    const { dataDir, run } = machine();
    const { code, stdout, stderr } = await run(...command.split(' '));
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/the configuration has no standby/);
    expect(stderr).toMatch(/hint: set standby\.servers \(docs\/operating\/standby\.md\)/);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it('name the server that cannot be reached, not its password, and change nothing', async () => {
    for (const args of [
      ['standby', 'init'],
      ['standby', 'drill'],
      ['takeover', '--force'],
    ]) {
      const { dataDir, run } = withServer();
      writeFileSync(join(dataDir, 'mirror.db'), 'what is here');
      const { code, stderr } = await run(...args);
      expect([args, code]).toEqual([args, 75]);
      expect(stderr).toMatch(/PostgreSQL at 127\.0\.0\.1:1: .*ECONNREFUSED/);
      expect(stderr).toMatch(/hint: nothing is sent until PostgreSQL answers/);
      expect(stderr).not.toContain('canary');
      expect(existsSync(join(dataDir, 'mirror.db'))).toBe(true);
    }
  });

  it('status tells what this machine knows even so, and if nothing runs here', async () => {
    const { dataDir, run } = withServer();
    const none = await run('standby', 'status');
    expect([none.code, none.stdout]).toEqual([
      75,
      expect.stringMatching(/^here +nothing has run here with a standby$/m),
    ]);
    const told = {
      ...({ role: 'holder', state: 'away', account: 'main', machine: 'a' } as const),
      ...({ waiting: 3, place: 9, acknowledge: 'postgresql' } as const),
      error: { code: 'standby.unknown', message: 'PostgreSQL: no answer', hint: 'start it' },
    };
    writeStandbyStatus(dataDir, { ...told, at: Date.now() });
    const { stdout, stderr } = await run('standby', 'status');
    expect(stdout).toMatch(/^here +holder, away \(told .+ ago\)$/m);
    expect(stdout).toMatch(/^waiting +3 entries are not kept yet$/m);
    // The reason is told once: as this command met it, not as the daemon did.
    expect(stdout).not.toContain('no answer');
    expect(stderr).toMatch(/PostgreSQL at 127\.0\.0\.1:1: /);
    writeStandbyStatus(dataDir, { ...told, at: Date.now() - 3_600_000 });
    expect((await run('standby', 'status')).stdout).toMatch(
      /^here +NOTHING RUNS, it was holder, away \(told 1h\b.* ago\)$/m,
    );
  });
});

const findings = z.object({
  checks: z.array(
    z.object({
      check: z.string(),
      grade: z.string(),
      text: z.string(),
      advice: z.string().nullish(),
    }),
  ),
});

describe('the doctor of a machine with a standby', () => {
  const foundBy = async ({ dataDir, run }: Machine, told: Partial<StandbyStatus>) => {
    writeStandbyStatus(dataDir, { ...HOLDER, at: Date.now(), ...told });
    const { stdout } = await run('doctor', '--offline', '--json');
    return findings
      .parse(JSON.parse(stdout))
      .checks.filter(({ check }) => check === 'standby')
      .map(({ grade, text, advice }) => [grade, text, advice ?? null]);
  };

  it('says how it stands, what a person should look at, and what to do', async () => {
    const one = withServer();
    placeDatabase(join(one.dataDir, 'mirror.db'));
    const found = (told: Partial<StandbyStatus>) => foundBy(one, told);
    const sends = 'holds the lease and sends; a standby waits, 4 rows to play';
    expect(await found({ standbys: [READY] })).toEqual([['ok', sends, null]]);
    expect(await found({ standbys: [] })).toEqual([
      ['warning', 'holds the lease and sends; NO STANDBY could take over now', GUIDE],
    ]);
    const error = { code: 'standby.unreachable', message: 'PostgreSQL at one: away', hint: 'go' };
    expect(await found({ state: 'away', error })).toEqual([
      ['failed', 'SENDS NOTHING: PostgreSQL cannot be asked: PostgreSQL at one: away', 'go'],
    ]);
    expect(await found({ at: 1 })).toEqual([['failed', 'its process stopped or hangs', GUIDE]]);
  });
});
