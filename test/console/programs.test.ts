/** Programs read what the pages show, and decide by the same rules. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEntrance } from '../../src/console/access/entrance.ts';
import { hashPassword } from '../../src/console/access/password.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { startCliHouse } from '../cli/house.ts';
import { selvedge } from '../cli/support.ts';
import { startTestDaemon, startTestReference } from '../support/house.ts';
import { temporaryStore } from '../support/store.ts';
import { startBehindProxy } from './behind-proxy.ts';
import {
  type Caller,
  type ConsoleHouse,
  caller,
  cookieIn,
  heldIds,
  program,
  seenRows,
  sharedEnd,
  signIn,
  startConsole,
} from './support.ts';

const BI = { name: 'bi', role: 'viewer', seesAddresses: false } as const;

describe('a token', () => {
  it('is printed once, reads, is listed without itself, and ends when it is revoked', async () => {
    const settings = [
      { path: 'console.enabled', value: true },
      { path: 'console.port', value: 0 },
    ];
    const house = await startCliHouse(await startTestReference(), { overrides: settings });
    await house.daemon.consoleLink('nobody', 'viewer');
    const { stdout } = await house.call('console', 'token', 'bi', '--expires', '1h', '--json');
    const { token, url } = JSON.parse(stdout);
    const bi = caller(url, { authorization: `Bearer ${token}` });
    expect(await bi.get('/review.json')).toMatchObject({ status: 200, json: { rows: [] } });
    const tokens = await house.call('console', 'tokens');
    expect(tokens.stdout).toMatch(/^NAME +ROLE .*\nbi +viewer /);
    expect(tokens.stdout).not.toContain(token);
    const sessions = await house.call('console', 'sessions', '--way', 'token', '--json');
    expect(JSON.parse(sessions.stdout)).toMatchObject([{ name: 'bi', way: 'token' }]);
    expect(await house.call('console', 'tokens', '--json')).toEqual(sessions);
    const key = join(house.folder, 'key');
    writeFileSync(key, token, { mode: 0o600 });
    const far = await selvedge(['--url', url, '--token-file', key, 'console', 'tokens', '--json']);
    expect(JSON.parse(far.stdout)).toMatchObject([{ name: 'bi', way: 'token' }]);
    expect(await bi.json('/pause', { target: 'all', reason: 'x' })).toMatchObject({ status: 403 });
    expect((await house.call('console', 'revoke', 'bi')).stdout).toBe('ended: 1\n');
    expect(await bi.get('/review.json')).toMatchObject({ status: 401 });
    const again = await house.call('console', 'revoke', 'bi');
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('no open token bi') });
  });

  it('is refused in the moment in which it expires, and as soon as it is revoked', async () => {
    const { entrance, call, clock } = await startBehindProxy();
    const by = { actor: 'ada', reason: '' };
    const tokenUntil = async (expiresAt: number) =>
      (await entrance.createToken({ ...BI, expiresAt }, by)).token;
    const read = async (token: string) =>
      (await call('/review.json', { authorization: `Bearer ${token}` })).statusCode;
    const short = await tokenUntil(clock.now() + 60_000);
    const long = await tokenUntil(clock.now() + 600_000);
    await clock.advance(59_999);
    expect([await read(short), await read(long)]).toEqual([200, 200]);
    await clock.advance(1);
    expect([await read(short), await read(long)]).toEqual([401, 200]);
    expect(await entrance.revokeTokens('bi', by)).toBe(2);
    expect(await read(long)).toBe(401);
  });

  it('does not stand in the database', async () => {
    const store = await temporaryStore();
    const clock = manualClock();
    const people = { operators: [], proxyRole: null };
    const lasts = { sessionMs: 1_000, sessionIdleMs: 1_000 };
    const deps = { store, clock, random: seededRandom(1), people, ...lasts };
    const given = { ...BI, expiresAt: clock.now() + 60_000 };
    const { token } = await createEntrance(deps).createToken(given, { actor: 'ada', reason: '' });
    const rows = await store.db.selectFrom('console_session').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(token);
  });
});

describe('the read API', () => {
  const { atEnd, end } = sharedEnd();
  let house: ConsoleHouse;
  let vera: Caller;

  beforeAll(async () => {
    house = await startConsole({ held: 5, atEnd });
    vera = await signIn(house, 'vera', 'viewer');
  });

  afterAll(end);

  it('pages through the list without a gap and without a row twice', async () => {
    for (const sort of ['waiting', 'value', 'customer', 'deadline', 'number', 'pieces']) {
      const seen: number[] = [];
      let after = '';
      do {
        const { json } = await vera.get(`/review.json?limit=2&sort=${sort}${after}`);
        const page = json as { rows: { orderDeliveryId: number }[]; next: string | null };
        seen.push(...page.rows.map(({ orderDeliveryId }) => orderDeliveryId));
        after = page.next === null ? '' : `&after=${page.next}`;
      } while (after !== '');
      expect([sort, seen.length, new Set(seen).size]).toEqual([sort, 5, 5]);
    }
  });

  it('says what is wrong with a request, and where', async () => {
    const wrong: readonly (readonly [string, number, RegExp])[] = [
      ['/review.json?sort=color', 400, /sort: .*waiting/],
      ['/review.json?limit=100000', 400, /limit/],
      ['/review.json?after=nowhere', 409, /no such place in the list/],
      // A filter that is passed over would widen what an act on all that fit is done to.
      ['/review/selection.json?contry=DK', 400, /did you mean country/],
      ['/outbox.json?state=lost', 400, /state/],
      ['/deliveries/4711.json', 404, /there is no delivery/],
      ['/outbox/4711.json', 404, /there is no push 4711/],
      ['/reviews.json', 404, /did you mean GET \/review\.json\?; all paths: \/openapi\.json/],
      ['/deliveries/4711/accept.json', 404, /did you mean POST \/deliveries\/<id>\/accept\?/],
      ['/deliveries/4711/accept', 405, /There is nothing to see here/],
    ];
    for (const [path, status, text] of wrong) {
      const answer = await vera.get(path);
      expect([path, answer.status, answer.text]).toEqual([
        path,
        status,
        expect.stringMatching(text),
      ]);
    }
  });

  it('writes points in time as ISO 8601, also deep inside', async () => {
    const [row] = await seenRows(vera);
    const { json } = await vera.get(`/deliveries/${row?.orderDeliveryId}.json`);
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(json).toMatchObject({
      card: { since: at, decisions: [{ at }], holds: [{ since: at }] },
    });
  });

  it('tells a program no town of two letters among facts, whatever the filter', async () => {
    const { db } = house.daemon.store;
    const [id = 0] = await heldIds(house.daemon);
    const town = JSON.stringify({ city: 'Ås', zip: '7', countryCode: 'NO' });
    await db.updateTable('sales_order').set({ shipping_address: town }).execute();
    const bi = await program(house, 'viewer');
    const [seen, masked, guessed] = await Promise.all(
      [vera, bi, bi].map((who, index) =>
        who.get(`/deliveries/${id}/facts.csv?q=${index === 2 ? encodeURIComponent('Ås') : 'city'}`),
      ),
    );
    expect(seen?.text).toMatch(/\.city,Ås,/);
    expect(masked?.text).toMatch(/\.city,•••,/);
    expect(guessed?.text).toBe('fact,value,meaning\r\n');
  });

  it('gives a spreadsheet no formula', async () => {
    await house.daemon.store.db
      .updateTable('sales_order')
      .set({ company: '=HYPERLINK("http://evil.example","pay")' })
      .execute();
    const { text, headers } = await vera.get('/review.csv');
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(text).toContain(`"'=HYPERLINK(""http://evil.example"",""pay"")"`);
  });

  it('writes CSV as RFC 4180 to programs, and for their spreadsheets to people', async () => {
    const { db } = house.daemon.store;
    await db.updateTable('delivery_line').set({ price: 199_500, fulfilled_quantity: 1 }).execute();
    const anna = await signIn(house, 'anna', 'viewer');
    const [row] = await seenRows(anna);
    const delivery = `/deliveries/${row?.orderDeliveryId}`;
    const page = await anna.get(delivery, { 'accept-language': 'da-DK,da;q=0.9,en;q=0.8' });
    expect(page.text).toContain(`href="${delivery}.csv?locale=da-DK"`);
    const list = await anna.get('/review?country=', { 'accept-language': 'de' });
    expect(list.text).toContain('href="/review.csv?locale=de"');
    const here = await anna.get(`${delivery}.csv?locale=da-DK`);
    expect(here.text).toMatch(/^barcode;style;color;size;packed;stock;price\r\n/);
    expect(here.text).toContain(';19,95\r\n');
    const program = await anna.get(`${delivery}.csv`, { 'accept-language': 'da-DK' });
    expect(program.text).toMatch(/^barcode,style,color,size,packed,stock,price\r\n/);
    expect(program.text).toContain(',19.95\r\n');
    const english = await anna.get(`${delivery}.csv?locale=en-GB`);
    expect(english.text).toContain(',19.95\r\n');
    expect((await anna.get(`${delivery}.csv?locale=nowhere-at-all`)).status).toBe(400);
  });

  it('filters by what people decide by', async () => {
    const { json } = await vera.get('/review.json');
    const { rows } = json as { rows: Record<string, string | number>[] };
    const [row] = rows;
    if (!row) throw new Error('nothing is held');
    const same = (name: string) => rows.filter((one) => one[name] === row[name]).length;
    const queries: readonly (readonly [string, number])[] = [
      [`country=${row.country}`, same('country')],
      [`customer=${row.accountNo}`, same('accountNo')],
      [`currency=${row.currency}`, same('currency')],
      ['owner=sales', 5],
      ['owner=nobody', 0],
      ['rule=no-such-rule', 0],
      [`min=${row.value}&max=${row.value}`, same('value')],
      [`q=${row.deliveryNo}`, 1],
      ['q=%25', 0],
      ['older=1', 0],
      ['shown=accepted', 0],
    ];
    for (const [query, count] of queries) {
      expect([query, (await seenRows(vera, `?${query}`)).length]).toEqual([query, count]);
    }
  });
});

describe('behind a reverse proxy with TLS', () => {
  it('the cookie is bound to https and to the host, and the audit has the address', async () => {
    const { entrance, call, store, clock } = await startBehindProxy();
    const form = {
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'https://selvedge.example.com',
      'x-forwarded-for': '10.1.2.3, 192.0.2.9',
    };
    const { key } = entrance.mintLink('anna', 'viewer');
    const answer = await call('/sign-in/link', form, `key=${key}`);
    expect(answer.headers['set-cookie']).toMatch(/^__Host-selvedge=.*; Secure; Max-Age=\d+$/);
    const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
    expect((await call('/review', { cookie })).statusCode).toBe(200);
    const { address } = await store.db
      .selectFrom('audit')
      .select('address')
      .executeTakeFirstOrThrow();
    expect(address).toBe('192.0.2.9');
    expect((await call('/review', { cookie, host: 'other.example.com' })).statusCode).toBe(421);
    await clock.advance(7_200_001);
    expect((await call('/review', { cookie })).statusCode).toBe(303);
  });
});

it('a restart ends links that nobody has opened, and sessions of operators who left', async () => {
  const password = await hashPassword('a long enough phrase', seededRandom(3));
  const anyone = { role: 'operator' as const, password, sees: [] };
  const operators = [
    { ...anyone, name: 'anna' },
    { ...anyone, name: 'carl' },
  ];
  const settings = [{ path: 'console.operators', value: operators }];
  const house = await startConsole({ held: 0, settings });
  const signedIn: Caller['own'][] = [];
  for (const { name } of operators) {
    const form = { name, password: 'a long enough phrase' };
    const answer = await caller(house.url).form('/sign-in/password', form);
    signedIn.push({ cookie: cookieIn(answer) });
  }
  const { own } = await signIn(house, 'dora', 'viewer');
  const link = new URL(await house.daemon.consoleLink('ben', 'viewer'));
  await house.daemon.stop();
  const { console: section } = house.config;
  const console = { ...section, operators: operators.slice(1) };
  const daemon = await startTestDaemon(house.reference, { ...house.config, console });
  const { origin } = new URL(await daemon.consoleLink('nobody', 'viewer'));
  const [anna, carl, dora] = [...signedIn, own].map((cookie) => caller(origin, cookie));
  expect(await anna?.get('/')).toMatchObject({ status: 303 });
  expect((await carl?.get('/'))?.text).toContain('carl · operator');
  expect((await dora?.get('/'))?.text).toContain('dora · viewer by link');
  const key = link.searchParams.get('key') ?? '';
  expect(await caller(origin).form('/sign-in/link', { key })).toMatchObject({ status: 410 });
});
