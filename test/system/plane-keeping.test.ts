/** Upkeep of a plane: an upgrade of its views, a copy that is another one's, old data. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readPlaneStatus } from '../../src/plane/status-file.ts';
import { sharedEnd } from '../console/support.ts';
import { type Cell, startCell } from '../support/cell.ts';
import { startTestReference, until, WITH_STOCK } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';

const { atEnd, end } = sharedEnd();
let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
  atEnd(() => postgres.remove());
});

afterAll(end);

async function cellOn(database: string, parts: Partial<Parameters<typeof startCell>[1]> = {}) {
  const reference = await startTestReference({ world: { styles: 5, orders: 5 } });
  const cell = { account: 'acme', url: postgres.url(database), ...parts };
  return startCell(reference, cell);
}

async function ok(cell: Cell, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await cell.call(...args);
  expect([args, stderr, code]).toEqual([args, '', 0]);
  return stdout;
}

describe('an upgrade', () => {
  it('replaces views that lose a column, for readers too, unless others need them', async () => {
    postgres.sql('create database older');
    const cell = await cellOn('older');
    await ok(cell, 'plane', 'init');
    postgres.sql('create role bi login; create role hand login');
    await ok(cell, 'plane', 'grant-reader', 'bi');
    // The release before: a column more, a name more, and readers whom nobody granted by command.
    postgres.sql(
      `set search_path to selvedge;
       create or replace view v_size as
         select account, size, rank, 1 as retired from size_rank;
       create view v_retired as select retired from v_size;
       grant usage on schema selvedge to hand;
       grant select on v_size to hand;
       create schema own;
       create view own.mine as select size from v_size;
       update plane_meta set layout = 1, hash = '',
         views = (views::jsonb || '["v_retired"]'::jsonb)::text`,
      'older',
    );
    const refused = await cell.call('plane', 'init');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(
        /own\.mine depends on view \S*v_size\nhint: drop what depends on it, run "selvedge/,
      ),
    ]);
    expect(postgres.sql('select retired from selvedge.v_size', 'older')).toBe('');
    postgres.sql('drop view own.mine', 'older');
    expect(await ok(cell, 'plane', 'init')).toMatch(/^PostgreSQL +schema selvedge made$/m);
    expect(() => postgres.sql('select retired from selvedge.v_size', 'older')).toThrow(/retired/);
    expect(() => postgres.sql('select 1 from selvedge.v_retired', 'older')).toThrow(/not exist/);
    for (const role of ['bi', 'hand']) {
      postgres.sql(`set role ${role}; select size from selvedge.v_size`, 'older');
    }
    expect(() => postgres.sql('set role hand; select 1 from selvedge.v_stock', 'older')).toThrow(
      /permission denied/,
    );
    expect(await ok(cell, 'plane', 'init')).toMatch(/^PostgreSQL +.* is as it should be$/m);
  });
});

describe('plane rebuild', () => {
  it('asks where PostgreSQL has the account of another database, and names both', async () => {
    postgres.sql('create database taken');
    const [one, two] = [await cellOn('taken'), await cellOn('taken')];
    for (const cell of [one, two]) await ok(cell, 'plane', 'init');
    // Nothing is there yet, and then its own.
    await ok(one, 'plane', 'rebuild');
    await ok(one, 'plane', 'rebuild');
    const named = (stderr: string) =>
      [one, two].map(({ config }) => stderr.includes(`:${config.dataDir} (database of 20`));
    const refused = await two.call('plane', 'rebuild', '--json');
    expect([refused.code, named(refused.stderr)]).toEqual([1, [true, true]]);
    expect(JSON.parse(refused.stdout)).toMatchObject({ code: 'plane.unconfirmed' });
    expect(refused.stderr).toMatch(/hint: .*--yes/);
    expect((await two.typing('yes', 'plane', 'rebuild')).code).toBe(1);
    const verdict = await one.call('plane', 'verify', '--deep');
    expect(verdict.stdout).toMatch(/equal/);
    const typed = await two.typing('acme', 'plane', 'rebuild');
    expect([typed.code, typed.stdout, named(typed.stderr)]).toEqual([
      ...[0, expect.stringMatching(/^acme: \d+ rows copied/), [true, true]],
    ]);
    await ok(one, 'plane', 'rebuild', '--yes');
    expect((await one.call('plane', 'verify', '--deep')).stdout).toMatch(/equal/);
  });
});

const fleetOf = z.array(
  z.object({
    account: z.string(),
    health: z.string(),
    why: z.array(z.string()),
    ageMs: z.record(z.string(), z.number().nullable()),
  }),
);

describe('fleet status', () => {
  it('calls a stream old by what its own cell allows, in a terminal of 80 columns', async () => {
    postgres.sql('create database fleet');
    const settings = WITH_STOCK;
    const pulled = (freshness: string) => ({ streams: { stock: { freshness } } });
    const long = 'a-brand-whose-name-is-long';
    const cells = [
      await cellOn('fleet', { settings, written: pulled('1s') }),
      await cellOn('fleet', { settings, written: pulled('3h'), account: long }),
    ];
    const [first] = cells;
    if (!first) throw new Error('no cell');
    for (const cell of cells) {
      await ok(cell, 'plane', 'init');
      cell.startSink();
    }
    const found = await until('old stock', async () => {
      const fleet = fleetOf.parse(JSON.parse(await ok(first, 'fleet', 'status', '--json')));
      const [lasting, short] = fleet;
      // A stream that was never complete is stale as well, and has no age.
      const areKnown = fleet.every(({ ageMs }) => Number.isFinite(ageMs.stock));
      return areKnown && lasting?.health === 'ok' && short?.health === 'stale' ? fleet : undefined;
    });
    expect(found.map(({ why }) => why)).toEqual([[], [expect.stringMatching(/^stock is \S+ old/)]]);
    // Streams that are not pulled have no age to look at.
    expect(Object.keys(found[1]?.ageMs ?? {})).not.toContain('season');
    expect(readPlaneStatus(first.config.dataDir)?.state).toBe('following');
    for (const args of [
      ['fleet', 'status'],
      ['plane', 'status'],
    ]) {
      const { stdout } = await first.typing('', ...args);
      const lines = stdout.split('\n');
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
      expect(lines.some((line) => line.startsWith(`${long} `))).toBe(true);
    }
    expect(await ok(first, 'fleet', 'status')).toMatch(/^acme: stock is \S+ old$/m);
    // A difference: keys are many, and are cut.
    postgres.sql('update selvedge.stock_variant_row set quantity = -1', 'fleet');
    const { stdout } = await first.typing('', 'plane', 'verify', '--deep');
    expect(stdout).toMatch(/^stock_variant_row .*…$/m);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});
