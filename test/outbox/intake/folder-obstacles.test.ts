import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/lib/log.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { until } from '../../support/house.ts';
import { temporaryFolder } from '../../support/store.ts';
import { envelope, openFolder } from './folder-support.ts';
import { hastyClock } from './support.ts';

describe('the drop folder', () => {
  it.each([
    ['too long for its receipt', (no: number) => `${'a'.repeat(230)}${no}.json`],
    ['that of a receipt', (no: number) => `a${no}.json.receipt.json`],
  ])('leaves files alone whose name is %s, and takes all others', async (_, nameOf) => {
    const { store, folder, start, receipt } = await openFolder();
    // More than are looked at in one round.
    for (let no = 0; no < 150; no += 1) {
      writeFileSync(join(folder, nameOf(no)), envelope(`SO-${no}`));
    }
    writeFileSync(join(folder, 'last.json'), envelope('SO-LAST'));
    start();
    await receipt('done/last.json');
    const taken = await store.db.selectFrom('outbox').select('reference').execute();
    expect(taken).toEqual([{ reference: 'SO-LAST' }]);
    expect(existsSync(join(folder, nameOf(7)))).toBe(true);
  });

  it.each(['done/a.json', 'done/a.json.receipt.json', 'refused/a.json'])(
    'takes all others while a folder lies at %s, and this one after it',
    async (path) => {
      const { folder, start, drop, receipt } = await openFolder();
      mkdirSync(join(folder, path, 'inside'), { recursive: true });
      const first = start();
      drop('a.json', path.startsWith('done') ? envelope('SO-1') : '{}');
      drop('b.json', envelope('SO-2'));
      await receipt('done/b.json');
      expect([existsSync(join(folder, 'a.json')), readdirSync(join(folder, path))]).toEqual([
        true,
        ['inside'],
      ]);
      await first.stop();
      rmSync(join(folder, path), { recursive: true });
      start();
      await receipt(path.replace('.receipt.json', ''));
      await until('the move', () => !existsSync(join(folder, 'a.json')) || undefined);
    },
  );

  it('says in the log why a link and a folder are skipped, and takes the next', async () => {
    let written = '';
    const write = (line: string): void => {
      written += line;
    };
    const log = createLogger({ level: 'info', format: 'json', scrubber: createScrubber(), write });
    const { store, folder, start, drop } = await openFolder(undefined, undefined, log);
    const elsewhere = join(temporaryFolder(), 'order.json');
    writeFileSync(elsewhere, envelope('SO-1'));
    symlinkSync(elsewhere, join(folder, 'a.json'));
    mkdirSync(join(folder, 'b.json'));
    drop('c.json', envelope('SO-2'));
    start();
    await until('the file', () => written.includes('file taken') || undefined);
    expect(written).toMatch(/a\.json.*file skipped: it is no file \(a link counts as such\)/);
    expect(written).toMatch(/b\.json.*file skipped: it is a folder/);
    const taken = await store.db.selectFrom('outbox').select('reference').execute();
    expect(taken).toEqual([{ reference: 'SO-2' }]);
  });

  it.each(['ORDERS.JSON', 'Orders.Json', 'a.jSON', 'b.json '])(
    'takes %j like any other file, with a receipt beside it',
    async (name) => {
      const { store, start, drop, receipt } = await openFolder();
      drop(name, envelope('SO-1'));
      start();
      expect(await receipt(`done/${name}`)).toMatchObject({ file: name });
      const taken = await store.db.selectFrom('outbox').select('reference').execute();
      expect(taken).toEqual([{ reference: 'SO-1' }]);
    },
  );

  it('says in the log what is not taken for its name, once nobody writes it any more', async () => {
    let written = '';
    const write = (line: string): void => {
      written += line;
    };
    const log = createLogger({ level: 'info', format: 'json', scrubber: createScrubber(), write });
    const { folder, start, drop, receipt } = await openFolder(undefined, undefined, log);
    const old = ['orders.ndjson', '.orders-17.tmp', '.DS_Store'];
    for (const name of [...old, 'A.JSON.RECEIPT.JSON', 'fresh.tmp', '.fresh.json']) {
      writeFileSync(join(folder, name), envelope('SO-1'));
    }
    for (const name of old) utimesSync(join(folder, name), 1_700_000_000, 1_700_000_000);
    drop('last.json', envelope('SO-2'));
    start();
    await receipt('done/last.json');
    await until('the line', () => written.includes('orders.ndjson') || undefined);
    expect(written).toMatch(/orders\.ndjson.*file skipped: its name does not end in \.json/);
    expect(written).toMatch(/A\.JSON\.RECEIPT\.JSON.*file skipped: it is named like a receipt/);
    expect(written).toMatch(/\.orders-17\.tmp.*file skipped: its name begins with a dot/);
    for (const name of ['fresh', 'DS_Store']) expect(written).not.toContain(name);
  });

  it('takes no pipe that took the place of a file after the look into the folder', async () => {
    let swap = (): void => undefined;
    const { folder, start, drop, receipt } = await openFolder(undefined, () => swap());
    const path = join(folder, 'b.json');
    swap = () => {
      swap = () => undefined;
      rmSync(path);
      execFileSync('sh', ['-c', 'mkfifo "$0"', path]);
    };
    drop('a.json', envelope('SO-1'));
    drop('b.json', envelope('SO-2'));
    start();
    await receipt('done/a.json');
    drop('c.json', envelope('SO-3'));
    await receipt('done/c.json');
    expect(existsSync(path)).toBe(true);
    expect(readdirSync(join(folder, 'refused'))).toEqual([]);
  });

  it('tells of one that stays in the way once an hour, however often it is looked at', async () => {
    let written = '';
    const write = (line: string): void => {
      written += line;
    };
    const log = createLogger({ level: 'info', format: 'json', scrubber: createScrubber(), write });
    const hasty = hastyClock();
    let aheadMs = 0;
    const clock = { ...hasty, monotonic: () => hasty.monotonic() + aheadMs };
    const { folder, start, drop } = await openFolder(undefined, undefined, log, clock);
    mkdirSync(join(folder, 'a.json'));
    start();
    for (const name of ['b.json', 'c.json', 'd.json']) {
      drop(name, envelope(name));
      await until(name, () => written.includes(`"file":"${name}"`) || undefined);
      aheadMs += 61_000;
    }
    const told = (): number => written.split('file skipped').length - 1;
    expect(told()).toBe(1);
    aheadMs += 3_600_000;
    await until('the reminder', () => told() === 2 || undefined);
  });

  it('leaves files alone whose name is not UTF-8, and takes all others', async () => {
    const { store, folder, start, receipt } = await openFolder();
    for (let no = 0; no < 150; no += 1) {
      const path = Buffer.from(`${folder}/M\u{fc}ller-${no}.json`, 'latin1');
      writeFileSync(path, envelope(`SO-${no}`));
    }
    writeFileSync(join(folder, 'last.json'), envelope('SO-LAST'));
    start();
    await receipt('done/last.json');
    const taken = await store.db.selectFrom('outbox').select('reference').execute();
    expect(taken).toEqual([{ reference: 'SO-LAST' }]);
  });

  it.each([
    ['over it', 'a.json'],
    ['beside it and renames it', 'b.tmp'],
  ])('takes what somebody writes %s while it is taken, of the same size', async (_, name) => {
    let times = 0;
    const house = await openFolder(undefined, () => {
      times += 1;
      if (times > 1) return;
      const path = join(house.folder, 'a.json');
      const { atime, mtime } = statSync(path);
      writeFileSync(join(house.folder, name), envelope('SO-2'));
      if (name === 'a.json') return;
      utimesSync(join(house.folder, name), atime, mtime);
      renameSync(join(house.folder, name), path);
    });
    house.drop('a.json', envelope('SO-1'));
    // A time that can be written again as it is.
    utimesSync(join(house.folder, 'a.json'), 1_700_000_000, 1_700_000_000);
    house.start();
    const taken = house.store.db.selectFrom('outbox').select('reference').orderBy('outbox_id');
    await until('both', async () => (await taken.execute()).length === 2 || undefined);
    expect(await taken.execute()).toEqual([{ reference: 'SO-1' }, { reference: 'SO-2' }]);
  });
});
