import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareDemoFolder } from '../../src/cli/demo/folder.ts';
import { zoneOfMachine } from '../../src/lib/local-time.ts';
import { lockFolder } from '../../src/store/lock.ts';
import { startTestReference, WEBHOOK_SECRET } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';

describe('the folder of the demo', () => {
  it('is emptied at the start, but never under a demo that runs', async () => {
    const reference = await startTestReference();
    const dir = join(temporaryFolder(), 'demo');
    const prepare = () => prepareDemoFolder(dir, reference, WEBHOOK_SECRET);
    prepare();
    const written = readFileSync(join(dir, 'selvedge.yaml'), 'utf8');
    expect(written).toContain(`timeZone: ${zoneOfMachine()}\n`);
    mkdirSync(join(dir, 'data'));
    const lock = lockFolder(join(dir, 'data', 'daemon.lock'));
    const database = join(dir, 'data', 'mirror.db');
    writeFileSync(database, '');
    expect(prepare).toThrow(/a daemon runs on this data folder/);
    expect(existsSync(database)).toBe(true);
    lock.release();
    prepare();
    expect(existsSync(database)).toBe(false);
  });

  it('is never one that holds something else', async () => {
    const reference = await startTestReference();
    const dir = temporaryFolder();
    writeFileSync(join(dir, 'thesis.tex'), 'years of work');
    expect(() => prepareDemoFolder(dir, reference, WEBHOOK_SECRET)).toThrow(/is no demo/);
    expect(existsSync(join(dir, 'thesis.tex'))).toBe(true);
  });
});
