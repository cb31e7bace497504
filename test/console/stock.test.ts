/** Stock through HTTP: styles to choose from, a style by colour and size, and its past. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CUSTOMER, DAY_MS, SHIRT, seedGoods } from './goods.ts';
import {
  type Caller,
  type ConsoleHouse,
  program,
  sharedEnd,
  signIn,
  startConsole,
} from './support.ts';

const { atEnd, end } = sharedEnd();
const path = `/stock/${encodeURIComponent(SHIRT)}`;
let house: ConsoleHouse;
let anna: Caller;
let bi: Caller;
let now: number;

const style = z.object({
  sizes: z.array(z.string()),
  asOf: z.string().nullable(),
  cells: z.array(
    z.object({
      ...{ color: z.string(), size: z.string(), onHand: z.int(), packed: z.int().nullable() },
      ...{ free: z.int().nullable(), toPack: z.int().nullable() },
      coverPercent: z.int().nullable(),
    }),
  ),
});

beforeAll(async () => {
  house = await startConsole({ held: 0, atEnd });
  now = Date.now();
  await seedGoods(house.daemon.store, now);
  anna = await signIn(house, 'anna', 'viewer');
  bi = await program(house, 'viewer');
});

afterAll(end);

describe('the list of styles', () => {
  const found = async (query: string) =>
    z
      .object({
        rows: z.array(z.object({ style: z.string() })),
        next: z.string().nullable(),
        back: z.string().nullable(),
      })
      .parse((await anna.get(`/stock.json${query}`)).json);

  it('has every style by number, a page at a time', async () => {
    const first = await found('?limit=1');
    expect(first).toEqual({ rows: [{ style: 'B-7' }], next: 'B-7', back: null });
    const last = { rows: [{ style: SHIRT }], next: null, back: SHIRT };
    expect(await found('?limit=1&after=B-7')).toEqual(last);
    const before = await found(`?limit=1&back=${encodeURIComponent(SHIRT)}`);
    expect(before).toEqual({ ...first, back: null });
    const page = (await anna.get('/stock?limit=1')).text;
    expect(page).toContain('href="/stock?limit=1&amp;after=B-7"');
  });

  it.each(['oxford', 'NORDLYS', '100/', '570202'])('finds a style by "%s"', async (q) => {
    expect((await found(`?q=${encodeURIComponent(q)}`)).rows).toEqual([{ style: SHIRT }]);
  });

  it('says in words that nothing was found, and takes signs of a pattern as they are', async () => {
    const { text, status } = await anna.get('/stock?q=%25');
    expect(status).toBe(200);
    expect(text).toContain('No number, name or brand of a style has that in it');
  });

  it('marks a style that has fewer than no pieces', async () => {
    const { text } = await anna.get('/stock');
    expect(text).toContain('1 size below 0');
    expect((await anna.get('/stock.csv?q=boot')).text).toBe(
      'style,name,brand,colors,variants,in_stock,pieces,below_zero\r\n' +
        'B-7,Chelsea boot,Fjord,1,3,3,9,0\r\n',
    );
  });
});

describe('a style', () => {
  const read = async (who: Caller, query = '') =>
    style.parse((await who.get(`${path}.json${query}`)).json);

  it('tells of each colour and size what is on hand, packed, free and wanted', async () => {
    const { cells, sizes, asOf } = await read(anna);
    expect([asOf, sizes]).toEqual([null, ['XS', 'S', 'M', 'XL', '3XL']]);
    expect(cells.map(({ color, size, onHand }) => [color, size, onHand])).toEqual([
      ...[
        ['Navy', 'XS', -3],
        ['Navy', 'M', 12],
        ['Navy', '3XL', 2],
      ],
      ...[
        ['White', 'S', 6],
        ['White', 'M', 4],
        ['White', 'XL', 9],
      ],
    ]);
    const whiteM = cells.find(({ color, size }) => color === 'White' && size === 'M');
    expect(whiteM).toMatchObject({ onHand: 4, packed: 1, free: 3, toPack: 4, coverPercent: 75 });
    const navyXs = cells.find(({ size }) => size === 'XS');
    expect(navyXs).toMatchObject({ free: -3, toPack: 2, coverPercent: 0 });
  });

  it('has its sizes in the order of their ranks', async () => {
    const { db } = house.daemon.store;
    await db.deleteFrom('size_rank').execute();
    const own = ['M', '3XL', 'XS'].map((size, index) => ({ size, rank: index + 1 }));
    await db.insertInto('size_rank').values(own).execute();
    expect((await read(anna)).sizes).toEqual(['M', '3XL', 'XS', 'S', 'XL']);
    const { text } = await anna.get(path);
    const heads = [...text.matchAll(/<th scope="col" class="number">([^<]+)<\/th>/g)].slice(0, 6);
    expect(heads.map(([, head]) => head)).toEqual(['M', '3XL', 'XS', 'S', 'XL', 'Total']);
    await db.deleteFrom('size_rank').execute();
  });

  it('shows what is below 0 in red, with heat, and a chart with its table', async () => {
    const { text, status } = await anna.get(path);
    expect(status).toBe(200);
    expect(text.match(/<h1>/g)).toHaveLength(1);
    expect(text).toMatch(/<td class="number n\d below ?">-3<\/td>/);
    expect(text).toMatch(/<td class="number h4 ?">12<\/td>/);
    // Sums are of another scale than what they add up.
    expect(text.split('>All colours</th>')[1]?.split('</tbody>')[0]).not.toMatch(/ [hn]\d/);
    expect(text).toContain('Pieces at the end of each day, by size');
    expect(text).toContain('<summary>As a table</summary>');
    expect(text).toContain(`selvedge stock ${SHIRT}</code>`);
    expect(text).toContain('aria-current="page">Stock');
  });

  it('has the pieces of each day, also of days on which nothing changed', async () => {
    const day = (ago: number) => new Date(now - ago * DAY_MS).toISOString().slice(0, 10);
    const { text } = await anna.get(`${path}?by=color`);
    const navy = (ago: number) =>
      new RegExp(`<tr><td>${day(ago)}</td><td class="number">(-?\\d+)</td>`).exec(text)?.[1];
    expect([3, 2, 1, 0].map(navy)).toEqual(['37', '37', '11', '11']);
  });

  it('is shown as it was, as the command shows it', async () => {
    const at = new Date(now - 2 * DAY_MS).toISOString();
    const { cells, asOf } = await read(anna, `?asOf=${at}`);
    expect(asOf).toBe(at);
    expect(cells.find(({ size }) => size === 'XS')).toMatchObject({
      ...{ onHand: 5, packed: null, free: null, toPack: null },
    });
    const { text } = await anna.get(`${path}?asOf=${at}`);
    expect(text).toContain(`selvedge stock ${SHIRT} --as-of ${at}</code>`);
    expect(text).toContain('What was packed and ordered then is not kept.');
    expect(text).not.toContain('<h2>Open orders</h2>');
  });

  it('takes a time without a zone as one of the console', async () => {
    const { asOf } = await read(anna, `?asOf=${new Date(now).toISOString().slice(0, 10)}T00:00`);
    expect(asOf).toBe(`${new Date(now).toISOString().slice(0, 10)}T00:00:00.000Z`);
  });

  it('says in words of what time nothing is known', async () => {
    const early = await anna.get(`${path}?asOf=2020-01-01T10:00`);
    expect(early.status).toBe(409);
    expect(early.text).toContain('nothing is known of the stock before');
    const late = await anna.get(`${path}.json?asOf=2999-01-01T10:00`);
    expect(late).toMatchObject({ status: 409, json: { code: 'stock.too_late' } });
    const none = await anna.get(`${path}.json?asOf=yesterday`);
    expect(none).toMatchObject({ status: 400, json: { code: 'request.invalid' } });
  });

  it('tells who has it in open orders, and a program not by name', async () => {
    const { text } = await anna.get(path);
    expect(text).toContain(CUSTOMER);
    expect(text).toContain('<h2>Open orders</h2>');
    expect(text).toContain('<td>SO-990001</td>');
    expect(text).toContain(`href="${path}/orders?sort=toPack"`);
    const csv = (await bi.get(`${path}/orders.csv`)).text;
    expect(csv).toContain('SO-990001');
    expect(csv).toContain('•••');
    expect(csv).not.toContain(CUSTOMER);
    expect((await bi.get(`${path}.json`)).text).not.toContain(CUSTOMER);
  });

  it('has its open orders a page at a time, forth and back', async () => {
    const page = z.looseObject({
      rows: z.array(z.looseObject({ orderId: z.int() })),
      next: z.string().nullable(),
      back: z.string().nullable(),
    });
    const read = async (query: string) =>
      page.parse((await anna.get(`${path}/orders.json?limit=1${query}`)).json);
    const first = await read('');
    const second = await read(`&after=${first.next}`);
    const ids = [...first.rows, ...second.rows].map(({ orderId }) => orderId);
    expect(ids).toEqual([990_002, 990_001]);
    expect([first.back, second.next]).toEqual([null, null]);
    expect((await read(`&back=${second.back}`)).rows).toEqual(first.rows);
  });

  it('has every movement, the newest first, also of one barcode and page by page', async () => {
    const page = z.looseObject({
      rows: z.array(z.looseObject({ barcode: z.string(), what: z.string(), seq: z.int() })),
      next: z.string().nullable(),
    });
    const read = async (of: string, query = '') =>
      page.parse((await anna.get(`/stock/${of}/history.json${query}`)).json);
    const { rows } = await read('570204');
    expect(rows.map(({ what }) => what)).toEqual(['sold out', 'first seen']);
    const first = await read('570204', '?limit=1');
    const second = await read('570204', `?limit=1&after=${first.next}`);
    expect([...first.rows, ...second.rows]).toEqual(rows);
    const style = await read(encodeURIComponent(SHIRT));
    expect(new Set(style.rows.map(({ barcode }) => barcode)).size).toBe(6);
    const { text } = await anna.get(`${path}/history`);
    expect(text).toContain('<td>sold out</td><td>quantity 5 → -3</td>');
    expect(text).toContain(`selvedge stock --history ${SHIRT}</code>`);
  });

  it('is found by a barcode, and one that is not known is refused in words', async () => {
    const { status, headers } = await anna.get('/stock/570202');
    expect([status, headers.get('location')]).toEqual([303, path]);
    const unknown = await anna.get('/stock/nothing');
    expect(unknown.status).toBe(404);
    expect(unknown.text).toContain('no style and no barcode nothing is known');
  });
});
