/**
 * A large mirror on the plane: whether each view and each shipped report says there what it says in
 * SQLite, row by row, and how long the reports take where ten accounts are as large.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/lib/clock.ts';
import { openPlaneSession, type PlaneSession } from '../../src/plane/reader.ts';
import { MirrorReader } from '../../src/plane/source.ts';
import { bindParameters } from '../../src/report/parameters.ts';
import { runOnPlane } from '../../src/report/plane.ts';
import { planeSqlOf, type Report, readReports } from '../../src/report/report-file.ts';
import { createCollector } from '../../src/report/table.ts';
import { openWriter } from '../../src/store/connection.ts';
import { openStore } from '../../src/store/store.ts';
import {
  compareReports,
  compareViews,
  copyMirror,
  onPostgres,
  type PlaneSide,
} from '../../test/plane/sides.ts';
import { ALL_CONTENT, SCHEMA } from '../../test/plane/world.ts';
import { type Postgres, startPostgres } from '../../test/support/postgres.ts';
import { fillMirror } from './large-mirror.ts';
import type { Say } from './plane-goals.ts';
import { cell, median, table } from './results.ts';

export interface LargeWish {
  readonly variants: number;
  /** For each variant. */
  readonly changes: number;
  readonly accounts: number;
  readonly parts: readonly ('compare' | 'reports')[];
  /** Shows the plan of each report that misses its goal. */
  readonly hasPlans: boolean;
}

const BUSY = { busyTimeoutMs: 5_000 };
const ROUNDS = 3;
const ROWS_MAX = 10_000;
const TIME_MAX_MS = 300_000;
const GOAL_MS = 1_000;
const GIVEN = { style: ['S-1'], season: ['AW26'] };
/** A server with a quarter of a machine of 16 GiB, as its manual advises. */
const SERVER = {
  shared_buffers: '4GB',
  effective_cache_size: '12GB',
  maintenance_work_mem: '1GB',
  max_wal_size: '16GB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  random_page_cost: '1.1',
};

async function secondsOf(what: string, work: () => unknown): Promise<void> {
  const from = performance.now();
  await work();
  console.log(`${what}: ${((performance.now() - from) / 1_000).toFixed(0)} s`);
}

async function makeMirror(path: string, { variants, changes }: LargeWish): Promise<void> {
  const { store } = await openStore({ path, ...BUSY }, systemClock());
  await store.close();
  const writer = openWriter(path, BUSY);
  fillMirror(writer, { variants, changes: variants * changes, orders: variants / 5, days: 100 });
  writer.close();
}

/** The stock of each variant on each day is a hundred times the stock. */
function tooLarge(mirror: Database.Database): Readonly<Record<string, readonly string[]>> {
  const day = mirror.prepare("select date('now', '-10 days')").pluck().get();
  return { v_style_stock_day: [`day = '${day}'`, "style_no = 'S-1'"] };
}

async function compareAll(plane: PlaneSide, mirror: Database.Database, say: Say): Promise<void> {
  const views = await compareViews(plane, mirror, 'brand1', tooLarge(mirror));
  const reports = await compareReports(plane, mirror, 'brand1', GIVEN);
  for (const [kind, found] of Object.entries({ views, reports })) {
    const all = [...found];
    const rows = all.reduce((sum, [, one]) => sum + one.rows, 0);
    const wrong = all.filter(([, { differences }]) => differences.length > 0);
    const empty = all.filter(([, one]) => one.rows === 0).map(([name]) => name);
    console.log(`without a row: ${empty.join(', ') || 'none'}`);
    say(`${all.length} ${kind}, ${rows} rows: ${wrong.length} differ`, wrong.length === 0);
    for (const [name, { differences }] of wrong) {
      console.log(`  ${name}: ${JSON.stringify(differences[0], undefined, 2)}`);
    }
  }
}

/** All rows of the first account again for each other one; indexes are made afterwards. */
function multiply(postgres: Postgres, mirror: Database.Database, accounts: number): void {
  const run = (text: string): string => postgres.sql(`set search_path to ${SCHEMA};\n${text}`);
  const indexes = run(
    `select indexname, indexdef from pg_indexes join pg_class on relname = indexname
     join pg_index on indexrelid = pg_class.oid
     where schemaname = '${SCHEMA}' and not indisprimary`,
  );
  const made = [...indexes.matchAll(/^(\w+)\|(.*)$/gm)];
  for (const [, name] of made) run(`drop index ${name}`);
  for (const { name, columns } of new MirrorReader(mirror, ALL_CONTENT).tables) {
    const list = columns.map((column) => `"${column.name}"`).join(', ');
    run(`insert into "${name}" (account, ${list}) select 'brand' || n, ${list}
      from "${name}", generate_series(2, ${accounts}) n where account = 'brand1'`);
  }
  for (const [, , text = ''] of made) run(text);
  run(`insert into plane_cursor (account, database, epoch, shape, seq, ledger_seq, seen, first_seq,
      written_at) select 'brand' || n, database, epoch, shape, seq, ledger_seq, seen, first_seq,
      written_at from plane_cursor, generate_series(2, ${accounts}) n`);
}

interface Asked {
  readonly ms: number;
  readonly rows: number;
  readonly plan: string;
}

/** Runs a report in a session of its own, like `report run --on plane`. */
async function ask(url: string, report: Report, account: string | null, hasPlan: boolean) {
  const needed = Object.entries(report.params).filter(([, one]) => one.default === undefined);
  const given: Readonly<Record<string, readonly string[]>> = GIVEN;
  const chosen = Object.fromEntries(needed.map(([name]) => [name, given[name]?.[0] ?? '']));
  const values = bindParameters(report, chosen, systemClock());
  const query = { params: report.params, sql: planeSqlOf(report), values, account };
  const from = performance.now();
  const session = await openPlaneSession({ url, schema: SCHEMA, timeMaxMs: TIME_MAX_MS });
  let last: Parameters<PlaneSession['query']> = [''];
  const spied = {
    query: (...asked: Parameters<PlaneSession['query']>) => {
      if (asked[1] !== undefined) last = asked;
      return session.query(...asked);
    },
  };
  const collector = createCollector();
  await runOnPlane(spied, { ...query, rowsMax: ROWS_MAX }, collector);
  const ms = performance.now() - from;
  const [text, params] = last;
  const lines = hasPlan
    ? (await session.query(`explain (analyze, buffers) ${text}`, params)).rows
    : [];
  await session.end();
  return { ms, rows: collector.collected().rows.length, plan: lines.flat().join('\n') };
}

async function timeReports(url: string, wish: LargeWish, say: Say): Promise<void> {
  const found: { name: string; one: Asked; all: Asked }[] = [];
  const last = `brand${wish.accounts}`;
  const medianOf = async (report: Report, account: string | null): Promise<Asked> => {
    const asked: Asked[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      asked.push(await ask(url, report, account, false));
    }
    const ms = median(asked.map((one) => one.ms));
    const isLooked = wish.hasPlans && account !== null && ms > GOAL_MS;
    const { plan } = isLooked ? await ask(url, report, account, true) : { plan: '' };
    return { ms, rows: asked[0]?.rows ?? 0, plan };
  };
  for (const report of readReports('').reports) {
    const { name } = report;
    found.push({ name, one: await medianOf(report, last), all: await medianOf(report, null) });
  }
  found.sort((a, b) => b.one.ms - a.one.ms);
  const titles = ['report', 's', 'rows', `s of all ${wish.accounts}`, 'rows of all'];
  const lines = found.map(({ name, one, all }) => [
    name,
    ...[one, all].flatMap(({ ms, rows }) => [cell(ms / 1_000, 2), String(rows)]),
  ]);
  console.log(`\n${table(titles, lines)}\n`);
  for (const { name, one } of found) if (one.plan !== '') console.log(`${name}:\n${one.plan}\n`);
  const size = `${wish.variants} variants × ${wish.accounts} accounts`;
  for (const [what, of] of [
    ['one account', (one: (typeof found)[number]) => one.one],
    ['all accounts', (one: (typeof found)[number]) => one.all],
  ] as const) {
    const slow = found.filter((one) => of(one).ms > GOAL_MS).map(({ name }) => name);
    say(
      `reports of ${what} at ${size}: ${slow.length} of ${found.length} take longer than ` +
        `${GOAL_MS} ms${slow.length > 0 ? `: ${slow.join(', ')}` : ''}`,
      slow.length === 0,
    );
  }
}

export async function measureLarge(wish: LargeWish, say: Say): Promise<void> {
  await using scope = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  scope.defer(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'mirror.db');
  await secondsOf('mirror filled', () => makeMirror(path, wish));
  const mirror = new Database(path, { readonly: true });
  scope.defer(() => void mirror.close());
  const postgres = await startPostgres({ settings: SERVER });
  scope.defer(() => postgres.remove());
  const plane = await onPostgres(postgres.url(), SCHEMA, (end) => scope.defer(() => void end()));
  await secondsOf('copied', () => copyMirror(plane, mirror, 'brand1', ALL_CONTENT));
  postgres.sql('vacuum analyze');
  if (wish.parts.includes('compare')) {
    await secondsOf('compared', () => compareAll(plane, mirror, say));
  }
  if (!wish.parts.includes('reports')) return;
  await secondsOf('made many', () => multiply(postgres, mirror, wish.accounts));
  await secondsOf('analyzed', () => postgres.sql('vacuum analyze'));
  await timeReports(postgres.url(), wish, say);
}
