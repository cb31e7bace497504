import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../src/lib/errors.ts';

import { selvedge } from '../cli/support.ts';
import { copyMirror, onPostgres } from '../plane/sides.ts';
import { ALL_CONTENT } from '../plane/world.ts';
import { reportHouse } from '../report/support.ts';
import { startPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/store.ts';

const SCHEMA = 'fleet';

describe('selvedge report run --on plane', () => {
  it('says of an account what the mirror says, and of all what each of them says', async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.remove());
    const settings = ['instance: acme', `plane: { url: { env: PLANE_URL }, schema: ${SCHEMA} }`];
    const { folder, config } = reportHouse(temporaryFolder(), settings);
    const as = (user: string, ...args: string[]) =>
      selvedge([...args, '--config', config], {
        KEY: 'key-4711',
        PLANE_URL: postgres.url('postgres', user),
      });
    const run = (...args: string[]) => as('postgres', 'report', 'run', ...args);
    const rows = async (...args: string[]): Promise<unknown> => {
      const { code, stdout, stderr } = await run(...args, '--json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout);
    };
    const missing = await run('stock-value', '--on', 'plane');
    expect(missing.stderr).toContain('run "selvedge plane init"');
    const plane = await onPostgres(postgres.url(), SCHEMA);
    const mirror = new Database(`${folder}/data/mirror.db`, { readonly: true });
    for (const account of ['acme', 'bolt']) await copyMirror(plane, mirror, account, ALL_CONTENT);
    mirror.close();
    for (const args of [['stock-value'], ['stock-grid', '--param', 'style=S-1'], ['drift']]) {
      const told = (await rows(...args)) as object[];
      expect(told.length, args[0]).toBeGreaterThan(0);
      expect(await rows(...args, '--on', 'plane'), args[0]).toEqual(told);
      expect(await rows(...args, '--on', 'plane', '--account', 'bolt')).toEqual(told);
      const all = ['acme', 'bolt'].flatMap((account) => told.map((row) => ({ account, ...row })));
      expect(await rows(...args, '--on', 'plane', '--account', 'all'), args[0]).toEqual(all);
    }
    const some = await run('stock-grid', '--param', 'style=S-1', '--on', 'plane', '--limit', '3');
    expect(some.stderr).toContain('there are more than 3 rows');
    const other = await run('drift', '--on', 'plane', '--account', 'bold');
    expect(other.code).toBe(EXIT.usage.code);
    expect(other.stderr).toContain('did you mean bolt?');
    const session = await plane.read();
    await expect(session.query("insert into plane_cursor (account) values ('x')")).rejects.toThrow(
      'read-only',
    );
    await session.end();
    // A role learns what it lacks, however much of it: the schema, a table, nothing.
    const asReader = () => as('bi', 'report', 'run', 'stock-value', '--on', 'plane');
    postgres.sql('create role bi login');
    for (const grant of [`usage on schema ${SCHEMA}`, `select on ${SCHEMA}.plane_cursor`]) {
      expect((await asReader()).stderr).toMatch(/permission denied[\s\S]*plane grant-reader/);
      expect((await as('bi', 'fleet', 'status')).stderr).toContain('plane grant-reader');
      postgres.sql(`grant ${grant} to bi`);
    }
    expect((await asReader()).stderr).toMatch(/permission denied[\s\S]*plane grant-reader/);
    expect((await as('postgres', 'plane', 'grant-reader', 'bi')).code).toBe(0);
    expect(await asReader()).toMatchObject({ code: 0, stderr: '' });
    // Its programs read files that its address names.
    const lost = await selvedge(['report', 'run', 'drift', '--on', 'plane', '--config', config], {
      KEY: 'key-4711',
      PLANE_URL: `${postgres.url()}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`,
    });
    expect(lost.stderr).toMatch(/^selvedge: PostgreSQL: ENOENT[^\n]*\nhint: [^\n]*\n$/);
  });
});
