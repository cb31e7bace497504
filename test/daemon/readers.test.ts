import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkHolders } from '../../src/daemon/doctor/machine.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';

/** A process that has these databases open until the test ends; gives its number. */
async function holding(...paths: readonly string[]): Promise<number | undefined> {
  const script = `
    const Database = require('better-sqlite3');
    const paths = process.argv.slice(1).filter((path) => path[0] === '/');
    const open = paths.map((path) => new Database(path));
    for (const one of open) one.exec('begin; select * from sqlite_schema');
    console.log('open');
    setInterval(() => open.length, 60_000);`;
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const options = { cwd: repositoryRoot, stdio: [...stdio] };
  const child = spawn(process.execPath, ['-e', script, ...paths], options);
  onTestFinished(() => void child.kill('SIGKILL'));
  if (child.stdout) await once(child.stdout, 'data');
  return child.pid;
}

describe('doctor, of who has the database open', () => {
  it('names all programs but the daemon and the copy, also in a folder of our name', async () => {
    const folder = temporaryFolder();
    expect(folder).toContain('selvedge');
    const mirror = join(folder, 'mirror.db');
    const daemon = await holding(mirror, join(folder, 'daemon.lock'));
    expect(checkHolders({ dataDir: folder })).toMatchObject([{ grade: 'ok' }]);
    // The process of the copy reads in short transactions, as long as the daemon lives.
    await holding(mirror, 'plane', 'run');
    expect(checkHolders({ dataDir: folder })).toMatchObject([{ grade: 'ok' }]);
    const reader = await holding(mirror);
    const [finding] = checkHolders({ dataDir: folder });
    expect(finding).toMatchObject({ grade: 'warning' });
    expect(finding?.text).toContain(`(pid ${reader})`);
    expect(finding?.text).not.toContain(`(pid ${daemon})`);
  });
});
