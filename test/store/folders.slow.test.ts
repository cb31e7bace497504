import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/lib/errors.ts';
import { ENV, MINIMAL, writeConfig } from '../config/support.ts';
import { LAUNCHER, launcherEnv } from '../support/launcher.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

/** Nobody can make a folder here, not even root, and the system says that there is no such file. */
const NOWHERE = '/proc/selvedge';

const CALLS = [
  { args: ['backup', 'create', '--to', NOWHERE], said: `no backup can be made in ${NOWHERE}: ` },
  { args: ['backup', 'create', '--to', join(NOWHERE, 'deep')], said: 'no backup can be made in ' },
  { args: ['demo', '--dir', NOWHERE], said: `${NOWHERE} cannot be made: ` },
  { args: ['run'], said: `the data folder ${NOWHERE} cannot be made: ` },
];

describe('a folder that nobody can make', () => {
  it.for(CALLS)('is told at once: $args', ({ args, said }) => {
    const dataDir = args[0] === 'backup' ? temporaryFolder() : NOWHERE;
    if (dataDir !== NOWHERE) placeDatabase(join(dataDir, 'mirror.db'));
    const file = writeConfig(`dataDir: ${dataDir}\n${MINIMAL}`);
    // In a process of its own: a call that does not end can only be killed.
    const { status, stderr } = spawnSync(process.execPath, [LAUNCHER, '--config', file, ...args], {
      env: { ...launcherEnv(), ...ENV },
      encoding: 'utf8',
      timeout: 20_000,
      killSignal: 'SIGKILL',
    });
    expect(stderr).toContain(said);
    expect(status).toBe(EXIT.config.code);
  });
});
