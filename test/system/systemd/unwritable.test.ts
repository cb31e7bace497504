import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EXIT } from '../../../src/lib/errors.ts';
import { mayWriteAll, startUnit, writeInstallation } from './support.ts';

it.skipIf(mayWriteAll)(
  'does not run where it may read the lock of the folder and not write it',
  async () => {
    const { folder, file } = writeInstallation();
    mkdirSync(join(folder, 'data'));
    const lock = join(folder, 'data', 'daemon.lock');
    // Made by root, who has tried something out: a lock that is only read is none.
    writeFileSync(lock, '', { mode: 0o444 });
    const unit = startUnit(file, {});
    expect(await unit.code).toBe(EXIT.config.code);
    expect(unit.log()).toContain(`cannot lock ${lock}: EACCES`);
  },
);
