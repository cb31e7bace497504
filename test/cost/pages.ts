/** Everything that people and programs look at, once in each of its forms. */
import { sql } from 'kysely';
import { pulledStreams } from '../../src/config/streams.ts';
import { createEntrance } from '../../src/console/access/entrance.ts';
import type { ConsoleSettings } from '../../src/console/context.ts';
import { createConsoleApp } from '../../src/console/server.ts';
import { SHOWN } from '../../src/decisions/review/filter.ts';
import { SORTS } from '../../src/decisions/review/listing.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { installationOf } from '../../src/ops/installation.ts';
import { freshnessOf } from '../../src/ops/status.ts';
import { exchangeFile } from '../../src/store/exchange/exchange.ts';
import { openReadOnlyStore, storeOptions } from '../../src/store/store.ts';
import { OUTBOX_STATES, RUN_OUTCOMES } from '../../src/store/tables.ts';
import { testLogger } from '../support/house.ts';
import type { House } from './day.ts';
import { OF_THE_TEST } from './noted.ts';

const HOUR_MS = 3_600_000;

export function settingsOf({ config }: Pick<House, 'config'>): ConsoleSettings {
  const { dataDir, store, reports, instance } = config;
  return {
    ...{ instance, version: 'test', publicUrl: null, timeZone: null, proxy: null },
    ...{ sessionIdleMs: HOUR_MS, notAtLevel: {} },
    reasons: [],
    rates: [],
    freshnessMs: freshnessOf(config),
    pulled: pulledStreams(config),
    installation: installationOf(config),
    reports: { ...reports, schedules: [], store: storeOptions(config) },
    machine: { dataDir, store, exchange: exchangeFile(config), written: null, plane: null },
  };
}

type Ids = Readonly<Record<'accepted' | 'account' | 'delivery' | 'event' | 'push' | 'run', string>>;

/** Things of the day that have pages of their own. */
async function idsIn({ daemon }: House): Promise<Ids> {
  const { rows } = await sql<Ids>`select ${sql.raw(OF_THE_TEST)}
    (select min(order_delivery_id) from delivery) delivery,
    (select min(order_delivery_id) from delivery where status = 'accepted') accepted,
    (select min(account_no) from sales_order where account_no <> '') account,
    (select min(event_id) from webhook_event) event,
    (select min(outbox_id) from outbox) push,
    (select min(run_id) from sync_run) run`.execute(daemon.store.db);
  const [ids] = rows;
  if (!ids) throw new TypeError('a day without any life');
  return ids;
}

/** Addresses of the console: each page, and each way in which its rows are chosen. */
function addresses({ account, delivery, event, push, run, accepted }: Ids): readonly string[] {
  const shown = SHOWN.flatMap((one) => [
    ...SORTS.map((sort) => `/review?shown=${one}&sort=${sort}`),
    ...['rule=hold-large', 'owner=x', 'country=DK', 'customer=Mode', 'season=AW26'].map(
      (filter) => `/review?shown=${one}&${filter}`,
    ),
    ...[
      'currency=DKK',
      'min=1',
      'max=1',
      'older=1',
      'overdue=1',
      `customer=${account}`,
      'q=20001',
    ].map((filter) => `/review?shown=${one}&${filter}`),
    `/review/selection.json?shown=${one}`,
  ]);
  const states = [...OUTBOX_STATES, ''].flatMap((state) =>
    ['', 'order', 'delivery_status', 'style'].map((kind) => `/outbox?state=${state}&kind=${kind}`),
  );
  return [
    ...['/', '/index.json', '/changes.json', '/system', '/system.json', '/pulls', '/pulls.json'],
    ...[
      ...shown,
      ...states,
      '/outbox?attention=1',
      '/outbox?open=1',
      '/outbox?waiting=1',
      '/outbox.csv',
    ],
    ...['/events', '/events?type=delivery_created', '/events?order=1', '/events?since=2026-01-01'],
    ...['/orders', '/orders?open=1', '/orders?state=confirmed', '/refunds', '/events/missed'],
    ...['/system/audit', '/system/audit?action=rules.', '/system/settings', '/system/backups'],
    ...['/events/figures.json', `/events/${event}`, `/outbox/${push}`],
    ...RUN_OUTCOMES.map((outcome) => `/pulls/orders?outcome=${outcome}`),
    ...['/pulls/orders', `/pulls/runs/${run}`, '/pulls/stock', '/rules'],
    ...['/rules/hold-large', '/rules/reject-some', '/rules/reject-some/arm'],
    ...['/stock', '/stock?q=a', '/reports', `/deliveries/${delivery}`],
    ...['raw', 'changes', 'facts', 'now'].map((part) => `/deliveries/${delivery}/${part}`),
    `/review/card/${delivery}`,
    `/deliveries/${accepted}`,
  ];
}

/** Looks at every page of the console; gives those that the console could not show. */
export async function lookAtPages(house: House): Promise<readonly string[]> {
  const { clock, daemon } = house;
  const store = await openReadOnlyStore(storeOptions(house.config));
  const settings = settingsOf(house);
  const app = createConsoleApp({
    ...{ db: store.db, clock, settings, log: testLogger() },
    snapshot: (read) => store.snapshot(read),
    ask: async () => ({ value: {} }),
    daemonSeenAt: () => clock.monotonic(),
    rulesMode: () => house.config.rules.mode,
    beats: () => [],
  });
  const entrance = createEntrance({
    ...{ store: daemon.store, clock, random: systemRandom(), sessionIdleMs: HOUR_MS },
    ...{ people: { operators: [], proxyRole: null }, sessionMs: HOUR_MS },
  });
  const person = { name: 'bi', role: 'approver', seesAddresses: true } as const;
  const given = { ...person, expiresAt: clock.now() + 1_000 * HOUR_MS };
  const { token } = await entrance.createToken(given, { actor: 'ada', reason: '' });
  const headers = { authorization: `Bearer ${token}`, accept: 'text/html' };
  const failed: string[] = [];
  for (const url of addresses(await idsIn(house))) {
    const { statusCode } = await app.inject({ url, headers });
    if (statusCode >= 400) failed.push(`${statusCode} ${url}`);
  }
  await app.close();
  await store.close();
  return failed;
}

/** Commands beside the daemon that read, and the local API. */
export async function lookAtCommands(house: House): Promise<readonly string[]> {
  const { call, http } = house;
  const { delivery, event, push, run } = await idsIn(house);
  const failed: string[] = [];
  for (const words of [
    ...['status', 'status --check', 'status --json', 'deliveries list', 'audit list'],
    ...['deliveries list --held', 'deliveries list --accepted --sort value'],
    ...[`deliveries show ${delivery}`, `deliveries explain ${delivery}`, 'events list'],
    ...[
      `events show ${event}`,
      'outbox list',
      'outbox list --open',
      'outbox list --needs-attention',
    ],
    ...[`outbox show ${push}`, 'sync show', 'sync show orders', `sync show ${run}`, 'rules list'],
    ...['audit list --action rules.', 'audit list --since 1h', 'rules check'],
  ]) {
    const { code, stderr } = await call(...words.split(' '));
    if (code > 1) failed.push(`${words}: ${code} ${stderr}`);
  }
  for (const path of ['/healthz', '/readyz', '/metrics', '/api/outcomes?after=0']) await http(path);
  await http('/api/documents?kind=order&reference=SO-1');
  return failed;
}
