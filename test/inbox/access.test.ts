import { describe, expect, it } from 'vitest';
import { createAccess } from '../../src/inbox/access.ts';
import { Secret } from '../../src/lib/secret.ts';
import { deliveryCreated, type Inbox, type InboxOptions, sign, startInbox } from './support.ts';

const TOKEN = 'canary-token-0123456789';

function start(access: InboxOptions['access']): Promise<Inbox> {
  return startInbox(access ? { access } : {});
}

async function status(inbox: Inbox, extra: Record<string, string> = {}): Promise<number> {
  const body = deliveryCreated(1);
  const answer = await inbox.post(body, { ...sign(body), ...extra });
  const text = await answer.text();
  expect(text).not.toContain(TOKEN);
  return answer.status;
}

describe('a token in the path (L9)', () => {
  it('makes every other path unknown, the bare one included', async () => {
    const inbox = await start({ pathToken: new Secret('path', TOKEN) });
    expect(await status(inbox)).toBe(404);
    const post = (suffix: string): Promise<Response> => {
      const body = deliveryCreated(1);
      return fetch(inbox.url + suffix, { method: 'POST', body, headers: sign(body) });
    };
    expect((await post(`/${TOKEN}`)).status).toBe(204);
    for (const suffix of ['/', '/x', `/${TOKEN}x`, `/${TOKEN}/`, `/${TOKEN}?a`]) {
      expect((await post(suffix)).status, suffix).toBe(404);
    }
  });
});

it('a token follows the bare path without a second slash (L9)', () => {
  const { path } = createAccess({ path: '/', pathToken: new Secret('path', TOKEN) });
  expect(path).toBe(`/${TOKEN}`);
});

describe('a token in a header (L9)', () => {
  it('is asked for before anything is verified', async () => {
    const headerToken = new Secret('header', TOKEN);
    const inbox = await start({ header: 'x-selvedge-token', headerToken });
    expect(await status(inbox)).toBe(401);
    expect(await status(inbox, { 'X-Selvedge-Token': 'no' })).toBe(401);
    expect(await status(inbox, { 'X-Selvedge-Token': TOKEN })).toBe(204);
    expect(inbox.meter.stats().refused).toMatchObject({ 'header token': 2, forged: 0 });
  });
});

describe('a list of addresses (L9)', () => {
  it.each([
    [['10.0.0.0/8', '::1'], 403],
    [['127.0.0.1'], 204],
    [['127.0.0.0/30'], 204],
    [['10.0.0.0/8', '::ffff:127.0.0.1'], 204],
  ])('of %j answers %i to a sender on this machine', async (addresses, expected) => {
    expect(await status(await start({ addresses }))).toBe(expected);
  });

  it.each([
    ['2001:db8::9', 204],
    ['2001:db8::8', 403],
    ['192.0.2.9', 204],
    ['192.0.2.8', 403],
  ])('takes a single address for that one alone: %s', async (address, expected) => {
    const proxy = { proxies: ['127.0.0.1'], proxyHeader: 'x-forwarded-for' };
    const inbox = await start({ addresses: ['2001:db8::9', '192.0.2.9'], ...proxy });
    expect(await status(inbox, { 'X-Forwarded-For': address })).toBe(expected);
  });

  it('replaces no signature', async () => {
    const inbox = await start({ addresses: ['127.0.0.1'] });
    expect((await inbox.post('{}', { 'content-type': 'application/json' })).status).toBe(400);
  });
});

describe('a reverse proxy (L6, L9)', () => {
  const addresses = ['203.0.113.0/24', '2001:db8::/32'];
  const from = (chain: string) => ({ 'X-Forwarded-For': chain });

  it('is believed only when the configuration names it', async () => {
    const stranger = await start({ addresses, proxyHeader: 'x-forwarded-for' });
    expect(await status(stranger, from('203.0.113.9'))).toBe(403);
    const proxies = ['127.0.0.1'];
    const known = await start({ addresses, proxies, proxyHeader: 'x-forwarded-for' });
    expect(await status(known, from('203.0.113.9'))).toBe(204);
    expect(await status(known, from('198.51.100.1'))).toBe(403);
    expect(await status(known)).toBe(403);
  });

  it('vouches for its own neighbour only: what stands before that is hearsay', async () => {
    const proxies = ['127.0.0.1', '10.0.0.0/8'];
    const inbox = await start({ addresses, proxies, proxyHeader: 'x-forwarded-for' });
    expect(await status(inbox, from('203.0.113.9, 198.51.100.1'))).toBe(403);
    expect(await status(inbox, from('198.51.100.1, 203.0.113.9, 10.1.2.3'))).toBe(204);
    expect(await status(inbox, from('[2001:db8::7]:443'))).toBe(204);
    expect(await status(inbox, from('203.0.113.9:8080'))).toBe(204);
    expect(await status(inbox, from('::ffff:203.0.113.9'))).toBe(204);
    for (const nonsense of ['unknown', '203.0.113.9, junk', '', '203.0.113.9, ']) {
      expect(await status(inbox, from(nonsense)), nonsense).toBe(403);
    }
  });
});
