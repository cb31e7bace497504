/** Reports through HTTP: their forms, limits, files, masks and schedules. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSheet } from 'read-excel-file/node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSchedule, writeSchedule } from '../../src/report/schedules/state.ts';
import { until } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';
import { CUSTOMER, SHIRT, seedGoods } from './goods.ts';
import {
  type Caller,
  type ConsoleHouse,
  program,
  sharedEnd,
  signIn,
  startConsole,
} from './support.ts';

const { atEnd, end } = sharedEnd();
const GRID = `/reports/stock-grid?param.style=${encodeURIComponent(SHIRT)}`;
let house: ConsoleHouse;
let vera: Caller;
let bi: Caller;

/** Reports of one's own: one for each thing that may be wrong. */
const OWN: Readonly<Record<string, string>> = {
  'own-orders': `/* { title: Orders, totals: [pieces], formats: { pieces: count },
    chart: { kind: bar, x: order_no, y: pieces } } */
    SELECT order_no, account_no, company, pieces FROM v_order ORDER BY order_no`,
  'own-hidden': '/* title: Who buys */ SELECT company AS who FROM v_order',
  'own-endless': `/* title: For ever */ WITH RECURSIVE n(i) AS
    (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`,
  'own-wrong': '/* title: Wrong */ SELECT a FROM nowhere',
  'own-empty': '/* { title: None, empty: Nobody ordered that. } */ SELECT 1 AS a WHERE 0',
  'own-no-head': 'SELECT 1',
};

beforeAll(async () => {
  const directory = temporaryFolder(atEnd);
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(OWN)) {
    writeFileSync(join(directory, `${name}.sql`), text);
  }
  const to = { folder: { path: temporaryFolder(atEnd), keep: 3 } };
  const monday = { name: 'monday', report: 'own-orders', every: 'Mon 07:00', format: 'xlsx', to };
  const settings = [
    { path: 'reports.directory', value: directory },
    { path: 'reports.schedules', value: [monday] },
  ];
  house = await startConsole({ held: 0, settings, atEnd });
  await seedGoods(house.daemon.store, Date.now());
  vera = await signIn(house, 'vera', 'viewer');
  bi = await program(house, 'viewer');
});

afterAll(end);

describe('a report', () => {
  it('asks for what it needs, and shows the table with its heat', async () => {
    const form = await vera.get('/reports/stock-grid');
    expect(form.status).toBe(200);
    expect(form.text).toContain('name="param.style"');
    expect(form.text).not.toContain('role="alert"');
    // The form offers the styles there are; any other may be typed.
    expect(form.text).toMatch(new RegExp(`list="l-style"><datalist.*<option value="${SHIRT}">`));
    const { text } = await vera.get(GRID);
    expect(text.match(/<h1>/g)).toHaveLength(1);
    expect(text).toMatch(/<td class="number n\d">-\d+<\/td>/);
    // As on the page of the style: a group of rows for each colour, the sum of a row at its end.
    expect(text).toMatch(/<th scope="rowgroup" rowspan="6">Navy.*<\/th><th scope="row">On hand</);
    expect(text).toMatch(/<th scope="col" class="number">Total<\/th><\/tr>/);
    expect(text).toContain('href="/reports/stock-grid.xlsx?param.style=S-100%2F1"');
    expect(text).toContain(`selvedge report run stock-grid --param &#39;style=${SHIRT}&#39;`);
  });

  it('has a chart with a table, and runs at once where it needs nothing', async () => {
    const { text } = await vera.get('/reports/own-orders');
    expect(text).toMatch(/role="img"\s+aria-label="Orders: bars of Order no\. SO-990001/);
    expect(text).toContain('<summary>As a table</summary>');
    expect(text).toMatch(/<tfoot><tr><td class="">Total<\/td>/);
    expect(text).toContain(CUSTOMER);
  });

  it('has the parcels that are to come, and a delivery’s page what customs ask of it', async () => {
    const { db } = house.daemon.store;
    const { text } = await vera.get('/deliveries/990001');
    expect(text).toContain('<h2>Shipment</h2><p>No tracking number.</p>');
    expect(text).toContain('<td>62052000</td><td>PT</td>');
    expect((await vera.get('/deliveries/990001.json')).json).toMatchObject({
      shipment: {
        weightKg: 0.31,
        customs: [{ tariffNo: '62052000', origin: 'PT', pieces: 1, weightKg: 0.31, value: 400 }],
      },
    });
    await db
      .updateTable('delivery')
      .set({ status: 'accepted', tracking_numbers: '["TT-990001"]' })
      .where('order_delivery_id', '=', 990_001)
      .execute();
    const found = await vera.get('/reports/shipments?param.find=tt-99');
    expect(found.text).toContain('>TT-990001</td>');
    expect((await vera.get('/deliveries/990001')).text).toContain('Tracking number: TT-990001');
    const customs = await vera.get('/reports/customs.json?param.delivery=PO-990001');
    expect(customs.json).toMatchObject({ rows: [{ tariff_no: '62052000', weight_kg: 0.31 }] });
    await db
      .updateTable('delivery')
      .set({ status: 'pending', tracking_numbers: '[]' })
      .where('order_delivery_id', '=', 990_001)
      .execute();
  });

  it('offers the values there are, with names for those who may see them', async () => {
    const options = async (caller: Caller, path: string) =>
      [...(await caller.get(path)).text.matchAll(/<option value="([^"]*)">([^<]*)<\/option>/g)].map(
        ([, value, says]) => [value, says],
      );
    const customers = await options(vera, '/reports/open-orders');
    expect(customers).toContainEqual(['C-990001', CUSTOMER]);
    expect(await options(vera, '/reports/best-sellers')).toContainEqual(['7d', 'a week']);
    expect(await options(bi, '/reports/open-orders')).toContainEqual(['C-990001', '']);
    const typed = await vera.get('/reports/open-orders?param.customer=C-990001');
    expect(typed.text).toContain(`>${CUSTOMER}</td>`);
    expect(typed.text).not.toContain('>Ask &amp; Embla</td>');
  });

  it('is a workbook, CSV of the reader’s place, a file to send, and JSON', async () => {
    const response = await fetch(`${house.url}${GRID.replace('grid?', 'grid.xlsx?')}`, {
      headers: { cookie: (await signIn(house, 'vera', 'viewer')).cookie },
    });
    const rows = await readSheet(Buffer.from(await response.arrayBuffer()));
    expect(rows.flat()).toEqual(expect.arrayContaining(['Navy', 12, -3]));
    const csv = await vera.get('/reports/own-orders.csv?locale=da-DK');
    expect(csv.text).toContain(`SO-990001;C-990001;${CUSTOMER};5`);
    const file = await vera.get('/reports/own-orders.html');
    expect(file.headers.get('content-disposition')).toContain('filename="own-orders.html"');
    expect(file.text).toContain('<title>Orders</title>');
    expect((await vera.get('/reports/own-orders.json')).json).toMatchObject({
      ...{ name: 'own-orders', title: 'Orders' },
      rows: [
        { order_no: 'SO-990001', pieces: 5 },
        { order_no: 'SO-990002', pieces: 2 },
      ],
    });
  });

  it('tells a program nothing of who a customer is, under no name', async () => {
    const { text } = await bi.get('/reports/own-orders.json');
    expect(text).toContain('"company": "•••"');
    expect(text).toContain('C-990001');
    expect(text).not.toContain('Quillfeather');
    expect(await bi.get('/reports/own-hidden.json')).toMatchObject({
      status: 409,
      json: { message: expect.stringContaining('it reads company, which you may not see') },
    });
  });

  it('says in words what is wrong with it or what was asked, or that it has no rows', async () => {
    const wrong = await vera.get('/reports/own-wrong');
    expect(wrong.status).toBe(409);
    expect(wrong.text).toContain('own-wrong.sql: no such table: nowhere');
    const bad = await vera.get('/reports/stock-as-of?param.style=x&param.at=soon');
    expect(bad.text).toContain('at must be a time such as');
    expect(await vera.get('/reports/stock-grid.json')).toMatchObject({
      ...{ status: 400, json: { message: 'stock-grid needs style' } },
    });
    expect((await vera.get('/reports/own-empty')).text).toContain('Nobody ordered that.');
    const unknown = await vera.get('/reports/stock-gird');
    expect([unknown.status, unknown.text]).toEqual([
      404,
      expect.stringContaining('did you mean stock-grid?'),
    ]);
  });

  it('ends at its rows, while other pages and a third report are answered', async () => {
    const endless = [vera.get('/reports/own-endless'), vera.get('/reports/own-endless')];
    const third = await vera.get('/reports/own-endless.json');
    expect(third).toMatchObject({ status: 409, json: { code: 'report.busy' } });
    expect((await vera.get('/changes.json')).status).toBe(200);
    for (const { text } of await Promise.all(endless)) {
      expect(text).toContain('There are more than 1000 rows; the others are left out.');
    }
  });
});

describe('the list of reports', () => {
  it('has them all with their schedules, and says which files are none', async () => {
    const { text } = await vera.get('/reports');
    expect(text).toContain('<a href="/reports/stock-grid">');
    expect(text).toContain('it does not say what it is');
    expect(text).toContain('Mon 07:00');
    expect(text).toContain('not made yet');
    expect((await vera.get('/reports.csv')).text).toContain('\r\nstock-grid,');
  });

  it('shows the last result of a schedule, and when a failed one is tried again', async () => {
    const { db } = house.daemon.store;
    const { dueAt } = await until('the plan of the daemon', () => readSchedule(db, 'monday'));
    // As the daemon itself may have left it, which looks at it meanwhile.
    const retryAt = Date.now() + 1_800_000;
    const at = Date.parse('2026-03-02T07:00:00Z');
    const failed = { at, isGood: false, rows: null, says: 'the disk is full' };
    const state = { every: 'Mon 07:00', dueAt, attempts: 1, retryAt };
    await writeSchedule(db, 'monday', { ...state, last: failed }, at);
    for (const path of ['/reports', '/reports/own-orders']) {
      const { text } = await vera.get(path);
      expect(text).toContain('<b class="state s-overdue">failed: the disk is full</b>');
    }
    expect((await vera.get('/reports.json')).json).toMatchObject({
      reports: expect.arrayContaining([
        expect.objectContaining({
          name: 'own-orders',
          schedules: [
            expect.objectContaining({
              last: { ...failed, at: '2026-03-02T07:00:00.000Z' },
              lastAt: '2026-03-02T07:00:00.000Z',
              retryAt: new Date(retryAt).toISOString(),
            }),
          ],
        }),
      ]),
    });
  });
});
