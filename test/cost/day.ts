/** A day's life at a daemon: orders, events, decisions of every kind, pushes, ticks, and pages. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { inject } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { Config } from '../../src/config/schema.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { localFile } from '../../src/local-api/ask.ts';
import { exchangeFile } from '../../src/store/exchange/exchange.ts';
import { type CliRun, selvedge } from '../cli/support.ts';
import { fastClock, placeOrders, startFastReference } from '../e2e/support.ts';
import {
  type RunningDaemon,
  startTestDaemon,
  testConfig,
  until,
  WITH_STOCK,
} from '../support/house.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';
import { OF_THE_TEST } from './noted.ts';

const TOKEN = 'the-token-of-the-erp-0123456789';
const MINUTE = 60_000;

/** Rules that read each fact that statements of its own are made for. */
const RULES = `
rules:
  - id: hold-large
    title: Somebody looks
    action: hold
    mode: live
    when: [ delivery.quantity > 30 ]
  - id: reads-the-past
    title: Tries facts of before
    action: hold
    mode: shadow
    when:
      - |
        customer.orders_before > 90000
        || order.similar_within < duration("1s") || order.repeated_within < duration("1s")
        || today.accepted > 90000 || customer.accepted_today > 90000
        || customer.refunds_90d > 90000 || customer.first_order_at > clock.now
        || order.rejected_before > 90 || delivery.lines.exists(line, line.missing > 100000)
  - id: reads-the-credit
    title: Tries the credit
    action: hold
    mode: shadow
    when: [ customer.credit.currency == "DKK", customer.credit.headroom < -90000000 ]
  - id: reject-some
    title: Nobody wants this
    action: reject
    mode: live
    when: [ delivery.quantity == 1 ]
    reject: { grace: 24h }
  - id: revoke
    title: Blocked since
    action: hold
    mode: live
    applies_to: [pending, accepted]
    when: [ customer.blocked == true ]
  - id: accept
    title: The rest
    action: accept
    mode: live
    when: [ delivery.quantity > 0 ]
`;

const SETTINGS = `version: 1
safeguards:
  accept: { max_per_day: 100000, max_share_of_day: 100, share_floor: 1 }
`;

/** The ERP says of each customer that all is well. */
function tellCustomers(path: string): void {
  const erp = new Database(path);
  erp.exec(`with recursive n(i) as (select 20001 union all select i + 1 from n where i < 20999)
    insert into erp_customer (account_no, credit_limit, balance, currency, overdue_days, blocked,
      as_of)
    select i, 1000000, 10, 'DKK', 0, 0, strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 day') from n`);
  erp.close();
}

export interface House {
  readonly config: Config;
  readonly clock: Clock;
  readonly daemon: RunningDaemon;
  /** A command beside the daemon, as a person runs it. */
  call(...args: readonly string[]): Promise<CliRun>;
  /** The local API, as an ERP asks it. */
  http(path: string, init?: RequestInit): Promise<unknown>;
}

/** A daemon that has worked for some time: orders came, were packed, decided and answered. */
export async function liveDay(): Promise<House> {
  const clock = fastClock(100);
  const life = { ordersPerMinute: 0, packAfter: '1s', shipAfter: '1m', cancelShare: 0.1 };
  const knobs = { world: { styles: 10, orders: 5 }, life };
  const reference = await startFastReference(knobs, clock);
  const folder = temporaryFolder();
  const set = (path: string, value: unknown) => ({ path, value });
  const config = testConfig(reference, {
    folder,
    rules: RULES,
    overrides: [
      ...WITH_STOCK,
      set('intake.clients', [{ name: 'erp', token: new Secret('token', TOKEN) }]),
    ],
  });
  writeFileSync(join(config.rules.directory, 'settings.yaml'), SETTINGS);
  placeDatabase(exchangeFile(config), inject('migratedExchange'));
  tellCustomers(exchangeFile(config));
  const daemon = await startTestDaemon(reference, config, clock);
  const { db } = daemon.store;
  await until('the local API', () => existsSync(localFile(config.dataDir)) || undefined);
  const { url } = z
    .looseObject({ url: z.string() })
    .parse(JSON.parse(readFileSync(localFile(config.dataDir), 'utf8')));
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(
    file,
    stringify({
      dataDir: config.dataDir,
      rules: { directory: config.rules.directory },
      service: { v1: { baseUrl: reference.v1Url, apiKey: { env: 'KEY' } } },
    }),
  );
  placeOrders(reference, 12);
  const begun = clock.now();
  await until('a confirmed accept, a held delivery and counted stock', async () => {
    const { rows } = await sql`select ${sql.raw(OF_THE_TEST)} 1
      where exists (select 1 from outbox where state = 'confirmed')
        and exists (select 1 from decision where outcome = 'hold')
        and exists (select 1 from stock_day)`.execute(db);
    return rows.length > 0 && clock.now() > begun + 8 * MINUTE ? true : undefined;
  });
  return {
    config,
    clock,
    daemon,
    call: (...args) => selvedge(['--config', file, ...args]),
    http: async (path, init = {}) => {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
      return (await fetch(`${url}${path}`, { ...init, headers })).text();
    },
  };
}
