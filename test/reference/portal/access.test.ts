import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type PortalBench, startPortal } from './support.ts';

const MINUTE = 60_000;

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

/** A request with exactly these headers, `Host` included. */
function ask(
  { url }: PortalBench,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request(new URL(path, url), { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const OWN = { 'sec-fetch-site': 'same-origin' };
const JSON_TYPE = { 'content-type': 'application/json' };

function exchange(bench: PortalBench, link: string): Promise<Answer> {
  const token = new URL(link).hash.replace('#key=', '');
  return ask(bench, '/portal/session', { ...OWN, ...JSON_TYPE }, JSON.stringify({ token }));
}

async function signIn(bench: PortalBench): Promise<Record<string, string>> {
  const answer = await exchange(bench, bench.portal.mintLink().url);
  const [cookie = ''] = answer.headers['set-cookie'] ?? [];
  return { cookie: cookie.split(';')[0] ?? '' };
}

describe('a portal link', () => {
  it('opens a session once; the second use is refused with 410', async () => {
    const bench = await startPortal();
    const { url } = bench.portal.mintLink();
    const first = await exchange(bench, url);
    expect(first.status).toBe(204);
    expect(first.headers['set-cookie']?.[0]).toMatch(
      /^selvedge_portal=[\w-]{43}; Path=\/portal; HttpOnly; SameSite=Strict$/,
    );
    expect(await exchange(bench, url)).toMatchObject({ status: 410 });
    expect(bench.refused).toEqual(['used']);
  });

  it('is not burnt by a preview that only fetches its address', async () => {
    const bench = await startPortal();
    const { url } = bench.portal.mintLink();
    const { pathname, hash } = new URL(url);
    expect(hash).toMatch(/^#key=[\w-]{43}$/);
    expect((await ask(bench, pathname)).status).toBe(200);
    expect((await exchange(bench, url)).status).toBe(204);
  });

  it('expires after five minutes, to the millisecond it names', async () => {
    const bench = await startPortal();
    const links = [bench.portal.mintLink(), bench.portal.mintLink()];
    expect(Date.parse(links[0]?.expiresAt ?? '') - bench.wall.now()).toBe(5 * MINUTE);
    await bench.wall.advance(5 * MINUTE - 1);
    expect((await exchange(bench, links[0]?.url ?? '')).status).toBe(204);
    await bench.wall.advance(1);
    expect((await exchange(bench, links[1]?.url ?? '')).status).toBe(410);
    expect(bench.refused).toEqual(['expired']);
  });

  it('cannot be guessed', async () => {
    const bench = await startPortal();
    bench.portal.mintLink();
    expect((await exchange(bench, `${bench.url}/portal/login#key=guess`)).status).toBe(410);
    const headers = { ...OWN, ...JSON_TYPE };
    expect((await ask(bench, '/portal/session', headers, '{"token":7}')).status).toBe(410);
    expect(bench.refused).toEqual(['unknown']);
  });
});

describe('a session', () => {
  it('is needed for every page', async () => {
    const bench = await startPortal();
    for (const path of ['/portal/', '/portal/messages', '/portal/attempts', '/portal/endpoints/x'])
      expect((await ask(bench, path)).status).toBe(401);
    const headers = await signIn(bench);
    expect((await ask(bench, '/portal/', headers)).status).toBe(200);
    expect((await ask(bench, '/portal/endpoints/x', headers)).status).toBe(404);
  });

  it('ends when idle for 30 minutes, after 12 hours, and by signing out', async () => {
    const bench = await startPortal();
    const open = async (headers: Record<string, string>) =>
      (await ask(bench, '/portal/', headers)).status === 200;
    const idle = await signIn(bench);
    await bench.wall.advance(30 * MINUTE + 1);
    expect(await open(idle)).toBe(false);
    const busy = await signIn(bench);
    for (let minutes = 20; minutes < 12 * 60; minutes += 20) {
      await bench.wall.advance(20 * MINUTE);
      expect(await open(busy)).toBe(true);
    }
    await bench.wall.advance(20 * MINUTE);
    expect(await open(busy)).toBe(false);
    const left = await signIn(bench);
    await ask(bench, '/portal/sign-out', { ...left, ...OWN }, '');
    expect(await open(left)).toBe(false);
  });
});

describe('the server', () => {
  it('lets only its own pages change something', async () => {
    const bench = await startPortal();
    const session = await signIn(bench);
    const endpoint = bench.relay.createEndpoint({ url: bench.receiver.url });
    const path = `/portal/endpoints/${endpoint.id}/disable`;
    const post = async (headers: Record<string, string>) =>
      (await ask(bench, path, { ...session, ...headers }, '')).status;
    expect(await post({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await post({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await post({ origin: 'https://evil.example' })).toBe(403);
    expect(await post({ origin: 'null' })).toBe(403);
    expect(await post({})).toBe(403);
    expect(bench.relay.endpoint(endpoint.id).disabledReason).toBeNull();
    expect(await post({ origin: bench.url })).toBe(303);
    expect(bench.relay.endpoint(endpoint.id).disabledReason).not.toBeNull();
  });

  it('answers only to its own names', async () => {
    const bench = await startPortal();
    const { port } = new URL(bench.url);
    const status = async (host: string) => (await ask(bench, '/portal/login', { host })).status;
    expect(await status(`localhost:${port}`)).toBe(200);
    expect(await status(`[::1]:${port}`)).toBe(200);
    expect(await status(`rebound.example:${port}`)).toBe(421);
    expect(await status('127.0.0.1.nip.example')).toBe(421);
  });

  it('sends the headers that keep a page to itself', async () => {
    const { headers } = await ask(await startPortal(), '/portal/login');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    );
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
    });
  });

  it('shows hostile texts as texts', async () => {
    const bench = await startPortal();
    const hostile = '"><script>alert(1)</script>\u2028\'';
    const endpoint = bench.relay.createEndpoint({
      url: bench.receiver.url,
      description: hostile,
    });
    bench.receiver.respond = (response) => response.writeHead(500).end(hostile);
    bench.relay.publish('ping', { ping: hostile });
    await bench.relay.idle();
    const session = await signIn(bench);
    const message = bench.relay.messages().data[0]?.id;
    for (const path of [
      '/portal/',
      `/portal/endpoints/${endpoint.id}`,
      '/portal/attempts',
      `/portal/messages/${message}`,
      `/portal/messages?type=${encodeURIComponent(hostile)}&status=${encodeURIComponent(hostile)}`,
    ]) {
      const { status, body } = await ask(bench, path, session);
      expect(status).toBe(200);
      expect(body).not.toContain('<script>alert');
    }
  });
});
