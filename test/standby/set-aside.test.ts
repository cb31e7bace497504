/** Files that an earlier holder left on this machine, before it waits as a standby. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { setAside } from '../../src/standby/take-over/set-aside.ts';
import { configOf } from '../config/config-of.ts';
import { temporaryFolder } from '../support/store.ts';
import { SERVICE } from './support.ts';

const NOW = 1_700_000_000_000;
const ASIDE = `before-standby-${NOW}`;

/** Writes files with their own names as content. */
function place(folder: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), name);
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

function machine({ dropFolder, exchange }: { dropFolder?: string; exchange?: string } = {}) {
  const folder = temporaryFolder();
  const at = (name: string | undefined) => (name === undefined ? null : join(folder, name));
  const config = configOf([
    ...SERVICE,
    { path: 'dataDir', value: join(folder, 'data') },
    { path: 'intake.folder.path', value: at(dropFolder) },
    { path: 'intake.database', value: at(exchange) },
  ]);
  const told: string[] = [];
  const run = (now = NOW) => setAside(config, now, (one) => void told.push(one));
  return { folder, run, told };
}

it('sets aside databases and documents wherever they are, and tells each folder', () => {
  const { folder, run, told } = machine({ dropFolder: 'erp/in', exchange: 'erp/shop.db' });
  const exchange = ['shop.db', 'shop.db-journal'];
  const mirrors = ['mirror.db', 'mirror.db-journal', 'mirror.db.before-restore-7'];
  const left = [
    ...['data/standby.json', 'data/daemon.lock', 'data/local.json', 'data/backups/backup-1.json'],
    ...['data/rules/rules.yaml', 'data/secret', 'erp/in/done/1.json', 'erp/notes.txt'],
  ];
  place(folder, [
    ...left,
    ...mirrors.map((name) => `data/${name}`),
    ...exchange.map((name) => `erp/${name}`),
    ...['erp/in/1.json', 'erp/in/.2.json'],
  ]);
  run();
  expect(told).toEqual(['erp/in', 'erp', 'data'].map((name) => join(folder, name, ASIDE)));
  expect(filesIn(folder)).toEqual(
    [
      ...left,
      ...mirrors.map((name) => `data/${ASIDE}/${name}`),
      ...exchange.map((name) => `erp/${ASIDE}/${name}`),
      ...[`erp/in/${ASIDE}/1.json`, `erp/in/${ASIDE}/.2.json`],
    ].sort(),
  );
  // Nothing was changed on its way.
  for (const name of filesIn(folder)) {
    expect(readFileSync(join(folder, name), 'utf8')).toMatch(name.split('/').at(-1) ?? '?');
  }
});

it('leaves what came since: without a mirror there is no past here', () => {
  const { folder, run, told } = machine({ dropFolder: 'data/in' });
  place(folder, ['data/mirror.db', 'data/exchange.db', 'data/in/before.json']);
  run();
  place(folder, ['data/in/after.json']);
  run(NOW + 1);
  expect(told).toEqual([join(folder, 'data/in', ASIDE), join(folder, 'data', ASIDE)]);
  expect(readdirSync(join(folder, 'data/in')).sort()).toEqual(['after.json', ASIDE]);
});

it('says which folder cannot be written and what to do, and goes on there the next time', () => {
  const { folder, run, told } = machine({ dropFolder: 'in', exchange: 'erp/exchange.db' });
  place(folder, ['in/1.json', 'erp/exchange.db', 'data/mirror.db']);
  // A file in the place of the folder keeps root out as well.
  writeFileSync(join(folder, 'erp', ASIDE), '');
  expect(run).toThrow(
    expect.objectContaining({
      code: 'standby.set_aside',
      message: expect.stringContaining(`stays in ${join(folder, 'erp')}: `),
      hint: expect.stringContaining(`ReadWritePaths=${join(folder, 'erp')}`),
    }),
  );
  expect(existsSync(join(folder, 'data/mirror.db'))).toBe(true);
  run(NOW + 1);
  expect(told).toEqual([
    join(folder, 'in', ASIDE),
    join(folder, 'erp', `before-standby-${NOW + 1}`),
    join(folder, 'data', `before-standby-${NOW + 1}`),
  ]);
});
