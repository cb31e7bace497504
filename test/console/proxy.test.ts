/** People whom an authenticating proxy names, and those who only say that they are. */
import { describe, expect, it } from 'vitest';
import { PROXY, PROXY_SECRET, startBehindProxy } from './behind-proxy.ts';

const ANNA = 'anna@example.com';
const PEOPLE = {
  operators: [{ name: ANNA, role: 'operator', sees: [] }],
  proxyRole: null,
} as const;

const FORM = 'application/x-www-form-urlencoded';
const ORIGIN = 'https://selvedge.example.com';

function named(name: string, secret = PROXY_SECRET): Record<string, string> {
  return { [PROXY.userHeader]: name, [PROXY.secretHeader]: secret };
}

it('an open page hears within 15 seconds that the loop of the daemon stands still', async () => {
  const { call, clock, stall } = await startBehindProxy(PEOPLE, PROXY);
  const isSilent = async (): Promise<unknown> =>
    JSON.parse((await call('/changes.json', named(ANNA))).payload).silent;
  await clock.advance(60_000);
  expect(await isSilent()).toBe(false);
  stall();
  await clock.advance(12_000);
  expect(await isSilent()).toBe(true);
  expect((await call('/', named(ANNA))).payload).toContain(
    '<div id="lost" class="band">Selvedge is busy: nothing can be changed for the moment.</div>',
  );
});

it('the page after an act says if a standby may lack it, and a header tells programs', async () => {
  const answers: ('kept' | 'unknown')[] = ['kept', 'unknown'];
  const keep = async () => answers.shift() ?? 'unknown';
  const { call } = await startBehindProxy(PEOPLE, PROXY, ORIGIN, keep);
  const pause = async (name: string) => {
    const headers = { ...named(ANNA), origin: ORIGIN, 'content-type': FORM };
    const done = await call('/pause', headers, `target=pushes&name=${name}&reason=x&back=/`);
    expect(done.statusCode).toBe(303);
    const page = (await call('/', named(ANNA))).payload;
    return [done.headers['selvedge-kept'], page.includes('Kept here only')];
  };
  expect(await pause('order')).toEqual([undefined, false]);
  expect(await pause('style')).toEqual(['here', true]);
});

describe('the host name that a proxy passes on', () => {
  it('leads here with any port or none, and in any letters', async () => {
    const { call, logged } = await startBehindProxy();
    for (const host of ['', ':443', ':8443', '.', '.:8443'].map(
      (end) => `Selvedge.example.com${end}`,
    )) {
      expect([host, (await call('/sign-in', { host })).statusCode]).toEqual([host, 200]);
    }
    expect(logged).toEqual([]);
  });

  it('may lack the port of the page that sends a form', async () => {
    const { call, entrance } = await startBehindProxy(PEOPLE, null, `${ORIGIN}:8443`);
    const send = async (origin: string) => {
      const { key } = entrance.mintLink('carl', 'viewer');
      const headers = { origin, 'content-type': FORM };
      return (await call('/sign-in/link', headers, `key=${key}`)).statusCode;
    };
    expect(await send(`${ORIGIN}:8443`)).toBe(303);
    // Another program of the same machine.
    expect(await send(`${ORIGIN}:9000`)).toBe(403);
  });

  it('is refused and logged once, however often it comes and whatever its port', async () => {
    const { call, logged } = await startBehindProxy();
    for (const host of [
      'evil.example',
      'EVIL.example:8443',
      'selvedge.example.com.evil.example',
      'evil.example',
    ]) {
      expect([host, (await call('/changes.json', { host })).statusCode]).toEqual([host, 421]);
    }
    expect(logged).toHaveLength(2);
    expect(JSON.parse(logged[0] ?? '')).toMatchObject({
      host: 'evil.example',
      hint: expect.stringContaining('console.publicUrl'),
    });
    for (let other = 0; other < 40; other += 1) await call('/', { host: `${other}.example` });
    expect(logged.length).toBeLessThan(25);
  });
});

describe('a name with the secret of the proxy', () => {
  it('is signed in with the role of the configuration, once for all its requests', async () => {
    const { call, store } = await startBehindProxy(PEOPLE, PROXY);
    for (const path of ['/', '/review', '/outbox']) {
      const { statusCode, payload, headers } = await call(path, {
        ...named(ANNA),
        'x-forwarded-for': '192.0.2.9',
      });
      expect([path, statusCode]).toEqual([path, 200]);
      expect(payload).toContain(`${ANNA} · operator`);
      // Only the proxy's word is the key.
      expect(headers['set-cookie']).toBeUndefined();
    }
    const signedIn = await store.db.selectFrom('audit').selectAll().execute();
    expect(signedIn).toMatchObject([
      { action: 'console.sign_in', actor: ANNA, session: 'proxy:1', address: '192.0.2.9' },
    ]);
  });

  it('is refused where the configuration has no such person and no role for others', async () => {
    const { call, store } = await startBehindProxy(PEOPLE, PROXY);
    const { statusCode, payload } = await call('/review.json', named('ben@example.com'));
    expect([statusCode, JSON.parse(payload)]).toMatchObject([403, { code: 'console.proxy' }]);
    expect(await store.db.selectFrom('console_session').selectAll().execute()).toEqual([]);
  });

  it('gets the role for others where there is one', async () => {
    const people = { ...PEOPLE, proxyRole: 'viewer' } as const;
    const { call } = await startBehindProxy(people, PROXY);
    expect((await call('/', named('ben@example.com'))).payload).toContain('· viewer');
    expect((await call('/', named(ANNA))).payload).toContain('· operator');
  });

  it('changes nothing from a page of another site, nor without its origin', async () => {
    const { call } = await startBehindProxy(PEOPLE, PROXY);
    const pause = async (headers: Record<string, string>) =>
      (await call('/pause', { ...named(ANNA), 'content-type': FORM, ...headers }, 'target=x'))
        .statusCode;
    expect(await pause({})).toBe(403);
    expect(await pause({ origin: 'https://evil.example' })).toBe(403);
    expect(await pause({ origin: ORIGIN, 'sec-fetch-site': 'cross-site' })).toBe(403);
    // This one is read, and only the act is missing here.
    expect(await pause({ origin: ORIGIN })).toBe(404);
  });

  it('comes after a session that the person has opened on purpose', async () => {
    const { call, entrance } = await startBehindProxy(PEOPLE, PROXY);
    const { key } = await entrance.byLink(entrance.mintLink('carl', 'approver').key, null);
    const cookie = `__Host-selvedge=${key}`;
    const both = await call('/', { ...named(ANNA), cookie });
    expect(both.payload).toContain('carl · approver by link');
    const wrong = await call('/', { ...named(ANNA), authorization: 'Bearer selvedge_x' });
    expect(wrong.statusCode).toBe(401);
  });

  it('is out as soon as the configuration has another role for it, or none', async () => {
    const { call, entrance, store } = await startBehindProxy(PEOPLE, PROXY);
    await call('/', named(ANNA));
    const operators = [{ ...PEOPLE.operators[0], role: 'approver' }] as const;
    await entrance.takePeople({ operators, proxyRole: null });
    expect((await call('/', named(ANNA))).payload).toContain('· approver');
    const ended = await store.db.selectFrom('console_session').selectAll().execute();
    expect(ended).toMatchObject([{ ended_by: 'configuration' }, { ended_at: null }]);
    await entrance.takePeople({ operators: [], proxyRole: null });
    expect((await call('/', named(ANNA))).statusCode).toBe(403);
  });

  it('is new after it was not used for the time that a session may idle', async () => {
    const { call, clock, store } = await startBehindProxy(PEOPLE, PROXY);
    await call('/', named(ANNA));
    await clock.advance(7_200_001);
    expect((await call('/', named(ANNA))).statusCode).toBe(200);
    const rows = await store.db.selectFrom('console_session').select('session_id').execute();
    expect(rows).toHaveLength(2);
  });
});

describe('a name without the secret of the proxy', () => {
  it.each([
    ['no secret', { [PROXY.userHeader]: ANNA }],
    ['another secret', named(ANNA, `${PROXY_SECRET}x`)],
    ['an empty one', named(ANNA, '')],
    ['its digest', named(ANNA, PROXY.secretDigest)],
    ['a second name', named(`${ANNA}, ben@example.com`)],
    ['markup', named('<i>anna</i>')],
  ])('is refused and logged: %s', async (_what, headers) => {
    const { call, store, logged } = await startBehindProxy(PEOPLE, PROXY);
    for (const path of ['/', '/review.json', '/review.csv', '/outbox']) {
      expect([path, (await call(path, headers)).statusCode]).toEqual([path, 403]);
    }
    expect(await store.db.selectFrom('console_session').selectAll().execute()).toEqual([]);
    expect(logged).toHaveLength(4);
    expect(logged[0]).toContain(PROXY.userHeader);
    expect(logged.join()).not.toContain(PROXY_SECRET);
  });

  it('is nothing where no proxy is configured', async () => {
    const { call } = await startBehindProxy(PEOPLE);
    expect((await call('/', named(ANNA))).statusCode).toBe(303);
    expect((await call('/review.json', named(ANNA))).statusCode).toBe(401);
  });

  it('is no hindrance to signing in by a link', async () => {
    const { call, entrance } = await startBehindProxy(PEOPLE, PROXY);
    const { key } = entrance.mintLink('carl', 'viewer');
    const headers = { [PROXY.userHeader]: ANNA, origin: ORIGIN, 'content-type': FORM };
    const { statusCode } = await call('/sign-in/link', headers, `key=${key}`);
    expect(statusCode).toBe(303);
  });
});
