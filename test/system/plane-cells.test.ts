/** The plane as people meet it: cells, their processes, and a PostgreSQL of Debian. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { verifyChain } from '../../src/decisions/journal.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { deleteOldChanges } from '../../src/mirror/upkeep.ts';
import { readPlaneStatus } from '../../src/plane/status-file.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { deleteOldLedgerChanges } from '../../src/store/ledger-feed.ts';
import { sharedEnd } from '../console/support.ts';
import { placeOrders, startFastReference } from '../e2e/support.ts';
import { type Cell, startCell } from '../support/cell.ts';
import { startTestReference, until, WITH_STOCK } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { repositoryRoot } from '../support/source.ts';

const { atEnd, end } = sharedEnd();
let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
  atEnd(() => postgres.remove());
});

afterAll(end);

async function ok(cell: Cell, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await cell.call(...args);
  expect([args, stderr, code]).toEqual([args, expect.any(String), 0]);
  return stdout;
}

/** Waits until the process says that it has all, then compares value by value. */
function untilEqual(cell: Cell): Promise<string> {
  const { dataDir } = cell.config;
  return until(`an equal copy of ${cell.account}`, async () => {
    const told = readPlaneStatus(dataDir);
    if (told?.state !== 'following' || told.lagMs > 0) return undefined;
    const { code, stdout, stderr } = await cell.call('plane', 'verify', '--deep');
    if (process.env.SELVEDGE_TEST_LOG) process.stderr.write(`${code} ${stdout} ${stderr}`);
    return code === 0 ? stdout : undefined;
  });
}

const status = z.object({
  plane: z.object({ state: z.string(), lagMs: z.number(), isLate: z.boolean() }),
});
describe('three brands and one PostgreSQL', () => {
  const brands = ['acme', 'bolt', 'cord'] as const;
  let cells: readonly Cell[];
  const first = (): Cell => {
    const [cell] = cells;
    if (!cell) throw new Error('no cell');
    return cell;
  };

  beforeAll(async () => {
    postgres.sql('create database fleet');
    cells = await Promise.all(
      brands.map(async (account, at) => {
        const world = { seed: 40 + at, styles: 10 + at, orders: 20 };
        const reference = await startTestReference({ world }, systemClock(), atEnd);
        return startCell(reference, {
          ...{ account, atEnd, settings: WITH_STOCK },
          url: postgres.url('fleet'),
        });
      }),
    );
    for (const cell of cells) {
      expect(await ok(cell, 'plane', 'init')).toMatch(/^feed +begun$/m);
      cell.startSink();
    }
    for (const cell of cells) {
      await until(`stock of ${cell.account}`, async () => {
        const { db } = cell.daemon.store;
        const found = await db.selectFrom('stock_variant').select('barcode').executeTakeFirst();
        return found;
      });
      await untilEqual(cell);
    }
  });

  it('are one place for SQL', async () => {
    const counts = postgres.sql(
      'select account, count(*) from selvedge.v_stock group by 1 order by 1',
      'fleet',
    );
    const lines = counts.trim().split('\n');
    expect(lines.map((line) => line.split('|')[0])).toEqual(brands);
    for (const [at, line] of lines.entries()) {
      const cell = cells[at];
      const own = await cell?.daemon.store.db
        .selectFrom('stock_variant')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('deleted_at', 'is', null)
        .executeTakeFirstOrThrow();
      expect(line).toBe(`${brands[at]}|${own?.n}`);
    }
  });

  it('have one report over all of them', async () => {
    const asked = ['ats', '--on', 'plane', '--account', 'all', '--json'];
    const rows = z
      .array(z.looseObject({ account: z.string() }))
      .parse(JSON.parse(await ok(first(), 'report', 'run', ...asked)));
    expect([...new Set(rows.map(({ account }) => account))]).toEqual(brands);
  });

  it('are told of at a glance, from any of them', async () => {
    const lines = brands.map((account) => new RegExp(`^${account} +(?:ok|look) +`, 'm'));
    await until('news of all', async () => {
      const table = await ok(first(), 'fleet', 'status');
      return lines.every((line) => line.test(table)) || undefined;
    });
    const fleet = z
      .array(z.object({ account: z.string(), health: z.string(), lagMs: z.number() }))
      .parse(JSON.parse(await ok(first(), 'fleet', 'status', '--json')));
    expect(fleet.map(({ account }) => account)).toEqual(brands);
    for (const { lagMs } of fleet) expect(lagMs).toBeLessThan(60_000);
    expect(await ok(first(), 'plane', 'status')).toMatch(/^copy +follows/m);
  });

  it('has a role for BI that can read, and nothing else', async () => {
    postgres.sql('create role bi login', 'fleet');
    expect(await ok(first(), 'plane', 'grant-reader', 'bi')).toMatch(/^bi may read/);
    const asBi = (text: string) =>
      postgres.sql(`set role bi; set search_path to selvedge; ${text}`, 'fleet').trim();
    expect(Number(asBi('select count(*) from v_stock'))).toBeGreaterThan(0);
    for (const text of [
      "delete from stock_variant_row where account = 'acme'",
      'update plane_cursor set seq = 0',
      "insert into brand (account, brand_name) values ('acme', 'x')",
      'drop view v_stock',
      'create table selvedge.own (n int)',
      'truncate brand',
    ]) {
      expect(() => asBi(text), text).toThrow(/permission denied|must be owner/);
    }
  });

  it('puts an account again as a whole, beside the process that follows', async () => {
    expect(await ok(first(), 'plane', 'rebuild')).toMatch(/^acme: \d+ rows copied/);
    expect(await untilEqual(first())).toMatch(/^acme: equal \(\d+ tables/);
  });
});

async function confirmed({ daemon }: Cell): Promise<number> {
  const { n } = await daemon.store.db
    .selectFrom('outbox')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('state', '=', 'confirmed')
    .executeTakeFirstOrThrow();
  return Number(n);
}

/** A cell whose deliveries are packed and decided as fast as they come. */
async function busyCell(account: string): Promise<{ cell: Cell; reference: Reference }> {
  const reference = await startFastReference({
    world: { styles: 20, orders: 0 },
    life: { ordersPerMinute: 600, packAfter: '50ms', shipAfter: '1h', cancelShare: 0 },
  });
  postgres.sql(`create database ${account}`);
  const cell = await startCell(reference, { account, url: postgres.url(account) });
  await ok(cell, 'plane', 'init');
  return { cell, reference };
}

async function lagOf(cell: Cell) {
  return status.parse(JSON.parse(await ok(cell, 'status', '--json'))).plane;
}

describe('a PostgreSQL that is away', () => {
  it('stops no decision and no push; the lag is told, and caught up by itself', async () => {
    const { cell } = await busyCell('away');
    const sink = cell.startSink();
    await until(
      'a first copy',
      async () => (await lagOf(cell).catch(() => undefined)) ?? undefined,
    );
    await until('pushes', async () => ((await confirmed(cell)) > 3 ? true : undefined));
    await postgres.stop('immediate');
    const before = await confirmed(cell);
    await until('pushes without PostgreSQL', async () =>
      (await confirmed(cell)) > before + 10 ? true : undefined,
    );
    const waiting = await until('a lag', async () => {
      const plane = await lagOf(cell);
      return plane.state === 'waiting' && plane.lagMs > 1_000 ? plane : undefined;
    });
    expect(waiting.lagMs).toBeGreaterThan(1_000);
    const { stdout } = await cell.call('doctor', '--offline');
    expect(stdout).toMatch(/FAIL plane +waits, .* behind: PostgreSQL: .*ECONNREFUSED/);
    expect(stdout).toMatch(/→ the copy waits and catches up by itself/);
    expect(await ok(cell, 'status')).toMatch(/^plane +waits/m);
    const asked = await cell.call('plane', 'verify');
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringMatching(/PostgreSQL/)]);
    await postgres.start();
    await untilEqual(cell);
    expect(sink.log.join('\n')).toContain('the copy goes on');
    await until('no lag', async () => ((await lagOf(cell)).isLate ? undefined : true));
    expect(await verifyChain(cell.daemon.store.db)).toMatchObject({ brokenAt: undefined });
  });

  it('beyond the retention of the feed has the copy made again, and tells so', async () => {
    const { cell, reference } = await busyCell('longer');
    const sink = cell.startSink();
    await untilEqual(cell);
    const cursor = () =>
      Number(postgres.sql('select seq from selvedge.plane_cursor', 'longer').trim());
    const at = cursor();
    await postgres.stop('immediate');
    placeOrders(reference, 5);
    const { store } = cell.daemon;
    const top = async () =>
      Number(
        (
          await store.db
            .selectFrom('change')
            .select((eb) => eb.fn.max('seq').as('n'))
            .executeTakeFirst()
        )?.n ?? 0,
      );
    await until('changes', async () => ((await top()) > at + 20 ? true : undefined));
    // Retention deletes these after its time; here at once.
    const now = systemClock().now();
    for (const deleteOld of [deleteOldChanges, deleteOldLedgerChanges]) {
      while ((await store.transaction((tx) => deleteOld(tx, now))) > 0);
    }
    await postgres.start();
    await until('a new copy', () => sink.log.find((line) => line.includes('copy is made again')));
    await untilEqual(cell);
    expect(sink.log.join('\n')).toMatch(/begins at \d+: the entries before are deleted/);
  });
});

it('is kept by a process that stops cleanly at SIGTERM, and is removed again', async () => {
  const reference = await startTestReference();
  postgres.sql('create database alone');
  const cell = await startCell(reference, { account: 'alone', url: postgres.url('alone') });
  await ok(cell, 'plane', 'init');
  const args = ['bin/selvedge.mjs', '--config', cell.file, 'plane', 'run'];
  const child = spawn(process.execPath, args, { cwd: repositoryRoot, stdio: 'pipe' });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => said.push(`${text}`));
  await untilEqual(cell);
  expect((await cell.call('plane', 'rebuild')).stderr).toBe('');
  // The process has read its configuration once, and would put the old content back.
  const text = readFileSync(cell.file, 'utf8');
  writeFileSync(cell.file, text.replace('plane:\n', 'plane:\n  content: [mirror]\n'));
  expect((await cell.call('plane', 'rebuild')).stderr).toMatch(/restart "plane run"/);
  writeFileSync(cell.file, text);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(said.join('')).toMatch(/"msg":"stopped"/);
  expect(await ok(cell, 'plane', 'remove', '--rows')).toMatch(/^feed +removed$/m);
  expect(postgres.sql('select count(*) from selvedge.plane_cursor', 'alone').trim()).toBe('0');
  const audit = await ok(cell, 'audit', 'list', '--action', 'plane.');
  const did = audit.match(/(?:began|ended) the feed/g);
  expect(did).toEqual(['ended the feed', 'began the feed']);
});
