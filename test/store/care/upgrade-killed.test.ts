/** An upgrade that is killed goes on; upgrade-killed.slow.test.ts kills it while it copies. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../../support/source.ts';
import { inFile, migrateArgv, olderDatabase } from './killed-upgrade.ts';

it('goes on behind the step that it has ended, where it is killed in the next one', () => {
  const { dataDir, steps } = olderDatabase(3);
  const path = join(dataDir, 'mirror.db');
  const killed = spawnSync(process.execPath, migrateArgv(dataDir, steps, 3), {
    cwd: repositoryRoot,
  });
  expect(killed.signal).toBe('SIGKILL');
  const versions = 'select version from schema_migration order by version';
  expect(inFile(path, versions)).toEqual([1, 2]);
  const argv = migrateArgv(dataDir, steps, 0);
  expect(spawnSync(process.execPath, argv, { cwd: repositoryRoot }).status).toBe(0);
  expect(inFile(path, versions)).toEqual([1, 2, 3]);
  expect(inFile(path, 'select thing_id from part')).toEqual([1, 2, 3]);
});
