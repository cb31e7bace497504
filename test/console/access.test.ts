/** Access to the console: who is let in, and who is not. */

import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../src/console/access/password.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { MASK } from '../../src/lib/reading/quoted.ts';
import {
  auditOf,
  type ConsoleHouse,
  caller,
  cookieIn,
  seenRows,
  sharedEnd,
  signIn,
  startConsole,
} from './support.ts';

const PASSWORD = 'a long enough phrase';

/** For the tests that leave nothing behind but ended sessions. */
const { atEnd, end } = sharedEnd();
let house: ConsoleHouse;

beforeAll(async () => {
  const password = await hashPassword(PASSWORD, seededRandom(3));
  const operators = ['anna', 'ben', 'carl', 'vera'].map((name) => {
    const role = name === 'vera' ? 'viewer' : 'operator';
    return { name, role, password, sees: [] };
  });
  const settings = [{ path: 'console.operators', value: operators }];
  house = await startConsole({ held: 1, settings, atEnd });
});

afterAll(end);

describe('a printed link', () => {
  it('signs in once, by its button and not by being looked at', async () => {
    const link = new URL(await house.daemon.consoleLink('anna', 'operator'));
    const key = link.searchParams.get('key') ?? '';
    const visitor = caller(house.url);
    const page = await visitor.get(`${link.pathname}${link.search}`);
    expect([page.status, page.headers.get('set-cookie')]).toEqual([200, null]);
    const first = await visitor.form('/sign-in/link', { key });
    expect(first.headers.get('set-cookie')).toMatch(
      /^selvedge=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43\d\d\d$/,
    );
    expect(await visitor.form('/sign-in/link', { key })).toMatchObject({ status: 410 });
    expect(await auditOf(house, 'console.sign_in')).toMatchObject([{ actor: 'anna' }]);
  });

  it('gives a key that the visitor did not choose', async () => {
    const key = new URL(await house.daemon.consoleLink('anna', 'viewer')).searchParams.get('key');
    const fixed = caller(house.url, { cookie: `selvedge=${'f'.repeat(43)}` });
    const answer = await fixed.form('/sign-in/link', { key: key ?? '' });
    expect(cookieIn(answer)).not.toContain('ffff');
    expect(await fixed.get('/')).toMatchObject({ status: 303 });
  });
});

it('whoever signs in goes on where the session ended, and nowhere else', async () => {
  const visitor = caller(house.url);
  const asked = await visitor.get('/review?country=DK&open=500001');
  const signIn = '/sign-in?to=%2Freview%3Fcountry%3DDK%26open%3D500001';
  expect([asked.status, asked.headers.get('location')]).toEqual([303, signIn]);
  const page = (await visitor.get(signIn)).text;
  expect(page).toContain('name="to" value="/review?country=DK&amp;open=500001"');
  const given = { name: 'ben', password: PASSWORD };
  for (const [to, led] of [
    ['/review?country=DK&open=500001', '/review?country=DK&open=500001'],
    ['//evil.example/review', '/'],
    ['https://evil.example', '/'],
  ] as const) {
    const answer = await visitor.form('/sign-in/password', { ...given, to });
    expect([to, answer.headers.get('location')]).toEqual([to, led]);
    const hostile = await visitor.get(`/sign-in?${new URLSearchParams({ to })}`);
    expect(hostile.text.includes('evil')).toBe(false);
  }
});

describe('a name and a password', () => {
  it('sign in, with the role of the configuration', async () => {
    const visitor = caller(house.url);
    const answer = await visitor.form('/sign-in/password', { name: 'anna', password: PASSWORD });
    expect(answer.status).toBe(303);
    const anna = caller(house.url, { cookie: cookieIn(answer) });
    expect((await anna.get('/')).text).toContain('anna · operator');
  });

  it('are refused in the same words whatever is wrong, five times a minute', async () => {
    const visitor = caller(house.url);
    const attempt = (name: string) =>
      visitor.form('/sign-in/password', { name, password: 'a wrong phrase' });
    const [wrong, unknown] = [await attempt('ben'), await attempt('nobody')];
    const problem = /role="alert">([^<]+)</;
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(problem.exec(wrong.text)?.[1]).toBe(problem.exec(unknown.text)?.[1]);
    for (let tries = 2; tries <= 5; tries += 1) await attempt('ben');
    expect((await attempt('ben')).status).toBe(429);
    const right = await visitor.form('/sign-in/password', { name: 'ben', password: PASSWORD });
    expect(right.status).toBe(429);
  });

  it('cost the daemon no more than one password at a time, however many try', async () => {
    const visitor = caller(house.url);
    const names = Array.from({ length: 40 }, (_, index) => `nobody-${index}`);
    const attempts = names.map((name) =>
      visitor.form('/sign-in/password', { name, password: 'a wrong phrase' }),
    );
    const statuses = (await Promise.all(attempts)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    const right = await visitor.form('/sign-in/password', { name: 'carl', password: PASSWORD });
    expect(right.status).toBe(303);
  });

  it('see no comment of a customer unless the configuration says so', async () => {
    const answer = await caller(house.url).form('/sign-in/password', {
      name: 'vera',
      password: PASSWORD,
    });
    const vera = caller(house.url, { cookie: cookieIn(answer) });
    const [row] = await seenRows(vera);
    const view = await vera.get(`/deliveries/${row?.orderDeliveryId}.json`);
    expect(view.json).toMatchObject({ card: { order: { comment: MASK } } });
  });
});

describe('a session', () => {
  it('ends with a sign-out, and everywhere with the other one', async () => {
    const [one, two] = [
      await signIn(house, 'anna', 'viewer'),
      await signIn(house, 'anna', 'viewer'),
    ];
    await one.form('/sign-out', {});
    expect([(await one.get('/')).status, (await two.get('/')).status]).toEqual([303, 200]);
    const three = await signIn(house, 'anna', 'viewer');
    await three.form('/sign-out/everywhere', {});
    expect([(await two.get('/')).status, (await three.get('/')).status]).toEqual([303, 303]);
  });

  it('that has ended changes nothing, and says so', async () => {
    const anna = await signIn(house, 'anna', 'approver');
    const [row] = await seenRows(anna);
    await anna.form('/sign-out', {});
    const answer = await anna.form(`/deliveries/${row?.orderDeliveryId}/accept`, { reason: 'x' });
    expect([answer.status, answer.text.includes('nothing was done')]).toEqual([401, true]);
  });
});

describe('requests of other sites', () => {
  it('are refused: by host name, by origin, by what the browser says of them', async () => {
    const anna = await signIn(house, 'anna', 'approver');
    const post = async (headers: Record<string, string>) => {
      const { statusCode, body } = await request(`${house.url}/pause`, {
        method: 'POST',
        headers: {
          cookie: anna.cookie,
          'content-type': 'application/x-www-form-urlencoded',
          ...headers,
        },
        body: 'target=all&reason=x',
      });
      await body.dump();
      return statusCode;
    };
    expect(await post({ host: 'evil.example', origin: 'http://evil.example' })).toBe(421);
    expect(await post({ origin: 'http://evil.example' })).toBe(403);
    expect(await post({ 'sec-fetch-site': 'cross-site', origin: house.url })).toBe(403);
    expect(await post({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await post({})).toBe(403);
    expect(await auditOf(house, 'pause')).toEqual([]);
  });

  it('cannot use a cookie as a token, which no browser guard looks at', async () => {
    const anna = await signIn(house, 'anna', 'approver');
    const key = anna.cookie.replace(/^selvedge=/, '');
    const thief = caller(house.url, { authorization: `Bearer ${key}` });
    expect(await thief.json('/pause', { target: 'all', reason: 'x' })).toMatchObject({
      status: 401,
    });
  });
});

describe('the pages', () => {
  it('come with a strict policy and are kept by nobody', async () => {
    const anna = await signIn(house, 'anna', 'viewer');
    const { headers, text } = await anna.get('/');
    expect(headers.get('content-security-policy')).toContain(
      "default-src 'none'; script-src 'self'",
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text.match(/<h1>/g)).toHaveLength(1);
    expect(text).not.toMatch(/ style=| on\w+=/);
  });

  it('lead to the sign-in where nobody is signed in, and refuse programs in JSON', async () => {
    const visitor = caller(house.url);
    for (const path of ['/', '/review', '/deliveries/1', '/outbox', '/outbox/1', '/nowhere']) {
      const { status } = await visitor.get(path);
      expect([path, status]).toEqual([path, path === '/nowhere' ? 404 : 303]);
    }
    for (const path of ['/index.json', '/review.json', '/review.csv', '/outbox.json']) {
      const { status, json } = await visitor.get(path);
      expect([path, status, json]).toMatchObject([path, 401, { code: 'console.no_session' }]);
    }
  });
});
