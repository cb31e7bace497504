/** Words of the service in errors, which may name a customer: who sees and who forgets them. */
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { errorOfAnswer, errorOfBrokenAnswer, errorOfPage } from '../../src/client/http/answer.ts';
import { makeBundle } from '../../src/daemon/doctor/bundle.ts';
import { createSource } from '../../src/plane/source.ts';
import { until, withStreams } from '../support/house.ts';
import {
  type Caller,
  type ConsoleHouse,
  program,
  sharedEnd,
  signIn,
  startConsole,
} from './support.ts';

const NAMES = /brackenbury|zinnober|ulvenhald/i;
const SAID = 'Ottoline Brackenbury, Zinnober Alley 17, Ulvenhald';
const ASKED = { method: 'GET', url: 'http://x/orders', safe: true };

/** What each kind of answer leaves as the reason of a run. */
const REASONS = [
  errorOfAnswer(ASKED, { status: 500, headers: {}, text: JSON.stringify({ message: SAID }) }, 0),
  errorOfAnswer(ASKED, { status: 502, headers: {}, text: `<p>${SAID}` }, 0),
  errorOfAnswer(ASKED, { status: 422, headers: {}, text: SAID }, 0),
  errorOfPage(ASKED, `Sorry, ${SAID}`),
  errorOfBrokenAnswer(ASKED, failureOfParsing(`{"a":1}, ${SAID}`)),
  // As 0.1.0 kept it.
  new Error(`GET /orders: HTTP 500: ${SAID}`),
].map(({ message }) => message);

const ROW = JSON.stringify({ orderId: 'of Ottoline Brackenbury' });

function failureOfParsing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error;
  }
}

const { atEnd, end } = sharedEnd();
let house: ConsoleHouse;
let anna: Caller;
let bi: Caller;
let runs: readonly number[];

beforeAll(async () => {
  house = await startConsole({ held: 0, settings: withStreams('brands'), atEnd });
  anna = await signIn(house, 'anna', 'approver');
  bi = await program(house, 'approver');
  const { store } = house.daemon;
  // A pull that ends later would take away the error that is written here.
  await until('the first pull of each stream', async () => {
    const states = await store.db.selectFrom('stream_state').select('complete_at').execute();
    return (states.length === 3 && states.every((one) => one.complete_at !== null)) || undefined;
  });
  runs = await store.transaction(async (tx) => {
    const made = await tx
      .insertInto('sync_run')
      .values(
        REASONS.map((reason, at) => ({
          ...{ stream: 'brands', cause: 'schedule', options: '{}', read_seq: 4e9 + at, reason },
          ...{ checkpoint: JSON.stringify({ noted: { [`status=‹${SAID}›`]: 1 } }) },
          ...{ started_at: Date.now(), ended_at: Date.now() + 1, outcome: 'failed' as const },
        })),
      )
      .returning('run_id')
      .execute();
    await tx
      .updateTable('stream_state')
      .set({ last_error: REASONS[0] ?? '', due_at: 4e12, complete_at: 1 })
      .execute();
    const known = { first_seen_at: 1, changed_at: 1, read_seq: 1, content_hash: '', source: '' };
    await tx
      .insertInto('sales_order')
      .values({
        ...{ ...known, order_id: 9, status: 'fulfilled', completed: 1, reference: 'SO-9' },
        ...{ shipping_address: JSON.stringify({ lastName: 'Brackenbury' }) },
        // A status and a member that nobody knows.
        extra: JSON.stringify({ [SAID]: 1, comment: 7 }),
      })
      .execute();
    await tx
      .insertInto('quarantine')
      .values({
        ...{ entity: 'sales_order', raw: ROW, raw_hash: 'a', path: 'orderId', source: 'x' },
        ...{ reason: `no number: ‹${SAID}›`, first_seen_at: 1, last_seen_at: 1 },
      })
      .execute();
    const detail = JSON.stringify({ said: REASONS[0] });
    await tx
      .insertInto('incident')
      .values({ at: 1, kind: 'level_too_high', entity: 'account', key: '', detail })
      .execute();
    return made.map(({ run_id }) => run_id);
  });
});

afterAll(end);

const pathsOf = () => [
  ...['/pulls', '/pulls.json', '/pulls.csv', '/index.json', '/', '/system', '/system.json'],
  ...['/pulls/brands', '/pulls/brands.json', '/pulls/brands.csv', '/pulls/orders.json'],
  ...runs.flatMap((run) => [`/pulls/runs/${run}`, `/pulls/runs/${run}.json`]),
];

it('are shown to people who may see names, and to nobody else, in any form', async () => {
  let shown = 0;
  for (const path of pathsOf()) {
    const [full, masked] = [await anna.get(path), await bi.get(path)];
    expect([path, full.status, masked.status]).toEqual([path, 200, 200]);
    expect([path, NAMES.exec(masked.text)?.[0]]).toEqual([path, undefined]);
    if (NAMES.test(full.text)) shown += 1;
  }
  expect(shown).toBeGreaterThan(8);
  // Our own words stay.
  expect((await bi.get('/pulls.json')).text).toContain('GET /orders: HTTP 500: ');
});

it('are in no support bundle', async () => {
  const { config } = house;
  const bundle = JSON.stringify(await makeBundle({ config, warnings: [] }, [], Date.now()));
  expect(bundle).toContain('GET /orders: HTTP 500: ');
  expect(NAMES.exec(bundle)?.[0]).toBe(undefined);
});

it('are on no plane that holds no addresses', () => {
  const { path } = house.daemon.store;
  const content = ['mirror', 'ledgers', 'changes'] as const;
  const source = createSource({ path, busyTimeoutMs: 5_000, content });
  const reader = source.reader();
  const tables = ['sync_run', 'stream_state', 'quarantine', 'incident', 'sales_order'];
  const copied = reader.tables.filter(({ name }) => tables.includes(name));
  const rows = copied.map((table) => JSON.stringify(reader.rowsBehind(table, undefined, 100)));
  source.close();
  expect(rows).toHaveLength(tables.length);
  expect(rows.join('\n')).toContain('GET /orders: HTTP 500: ');
  expect(NAMES.exec(rows.join('\n'))?.[0]).toBe(undefined);
});

it('go with the order that is forgotten, since they may be about it', async () => {
  const order = { order: 'id:9', again: 'id:9', reason: 'asked to' };
  expect(await anna.json('/orders/forget', order)).toMatchObject({ status: 200 });
  const database = new Database(house.daemon.store.path, { readonly: true });
  const kept = ['sync_run', 'stream_state', 'quarantine', 'incident', 'sales_order'].map((table) =>
    JSON.stringify(database.prepare(`select * from ${table}`).all()),
  );
  database.close();
  expect(NAMES.exec(kept.join('\n'))?.[0]).toBe(undefined);
  expect(kept[0]).toContain('GET /orders: HTTP 500: ');
});
