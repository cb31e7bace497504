import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PlaneContent } from '../../src/plane/tables.ts';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import { readReports } from '../../src/report/report-file.ts';
import { VIEWS } from '../../src/report/views.ts';
import {
  compareReports,
  compareViews,
  copyMirror,
  differencesIn,
  onPostgres,
  withoutAddresses,
} from '../plane/sides.ts';
import { ALL_CONTENT } from '../plane/world.ts';
import { GIVEN, madeUpMirrors } from '../plane/worlds.ts';
import {
  startTestDaemon,
  startTestReference,
  testConfig,
  until,
  withStreams,
} from '../support/house.ts';
import { startPostgres } from '../support/postgres.ts';

/** By the schema that has it. */
const CONTENTS: readonly (readonly [string, readonly PlaneContent[]])[] = [
  ['everything', ALL_CONTENT],
  ['without_addresses', ['mirror', 'changes', 'ledgers']],
];

/** A mirror by real pulls, events, decisions and pushes, which nobody writes any more. */
async function pulledMirror(): Promise<string> {
  const reference = await startTestReference({
    world: { styles: 6, orders: 30 },
    life: { ordersPerMinute: 0, packAfter: '0s', shipAfter: '0s', cancelShare: 0 },
  });
  const config = testConfig(reference, {
    overrides: withStreams('brands', 'freight', 'seasons', 'stock', 'season'),
  });
  const { store, stop } = await startTestDaemon(reference, config);
  const { world } = reference;
  for (let left = 12; left > 0; left -= 1) {
    const orderId = world.book.orders.nextId();
    world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0.2 }));
  }
  await until('variants, shipped deliveries, held ones and the order of sizes', async () => {
    const { rows } = await sql<{ n: number }>`
      select (select count(*) from stream_state
          where stream in ('stock', 'season') and complete_at is not null) = 2
        and exists (select 1 from delivery where status = 'accepted' and tracking_numbers <> '[]')
        and (select count(*) from outbox where state = 'confirmed') > 3
        and exists (select 1 from size_rank) and exists (select 1 from stock_day) as n`.execute(
      store.db,
    );
    return rows[0]?.n === 1 || undefined;
  });
  await stop();
  return join(config.dataDir, 'mirror.db');
}

describe('views and shipped reports on the plane, in PostgreSQL', () => {
  it('say what SQLite says, with all content and without addresses', async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.remove());
    const pulled = new Database(await pulledMirror(), { readonly: true });
    onTestFinished(() => {
      pulled.close();
    });
    const names = (sql: string) => pulled.prepare(sql).pluck().all().map(String);
    const given = {
      ...GIVEN,
      style: [...GIVEN.style, ...names('select distinct style_no from v_order_line limit 3')],
      season: [...GIVEN.season, ...names('select season_name from season')],
    };
    const mirrors = new Map([['acme', pulled], ...(await madeUpMirrors())]);
    for (const [schema, content] of CONTENTS) {
      const plane = await onPostgres(postgres.url(), schema);
      const seen = new Set<string>();
      for (const [account, mirror] of mirrors) await copyMirror(plane, mirror, account, content);
      for (const [account, mirror] of mirrors) {
        const database = content.includes('addresses') ? mirror : withoutAddresses(mirror.name);
        const views = await compareViews(plane, database, account);
        expect(differencesIn(views), `${schema}, ${account}`).toEqual([]);
        const reports = await compareReports(plane, database, account, given);
        expect(differencesIn(reports), `${schema}, ${account}`).toEqual([]);
        for (const [name, { rows }] of [...views, ...reports]) if (rows > 0) seen.add(name);
      }
      const all = [...VIEWS, ...readReports('').reports].map(({ name }) => name);
      expect(
        all.filter((name) => !seen.has(name)),
        'without a row to compare',
      ).toEqual([]);
    }
  });
});
