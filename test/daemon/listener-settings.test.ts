/** The listener of a daemon does what its section of the configuration says. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { KEY, sign } from '../inbox/support.ts';
import { startTestDaemon, startTestReference, testConfig } from '../support/house.ts';

const MINUTE = 60_000;
const ENDED = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;
const LATER = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;

it('its secrets with their ends, its tokens, its proxies, its limits', async () => {
  const now = systemClock().now();
  const settings = {
    secrets: [
      { secret: new Secret('one', KEY) },
      { secret: new Secret('ended', ENDED), notAfter: new Date(now - MINUTE).toISOString() },
      { secret: new Secret('later', LATER), notAfter: new Date(now + 60 * MINUTE).toISOString() },
    ],
    bodyMax: '1KiB',
    'access.pathToken': new Secret('path', 'a-token-in-the-path-0123'),
    'access.headerToken': new Secret('header', 'a-token-in-the-header-01'),
    'access.addresses': ['203.0.113.9'],
    'access.proxies': ['127.0.0.1'],
    'access.proxyHeader': 'X-Real-IP',
  };
  const reference = await startTestReference();
  const overrides = [
    ...Object.entries(settings).map(([name, value]) => ({ path: `listener.${name}`, value })),
    // Pulls rest; events do not.
    { path: 'store.space.pullFloor', value: '1000000GiB' },
  ];
  const daemon = await startTestDaemon(reference, testConfig(reference, { overrides }));
  const url = (await daemon.listenerUrl) ?? '';
  const send = async (change: {
    readonly key?: string;
    readonly ago?: number;
    readonly headers?: Record<string, string>;
    readonly body?: string;
    readonly to?: string;
  }): Promise<number> => {
    const { key = KEY, ago = 0, body = '{"type":"ping"}', headers, to = url } = change;
    const given = {
      ...sign(body, { key, at: now - ago * MINUTE }),
      ...{ 'x-selvedge-token': 'a-token-in-the-header-01', 'x-real-ip': '203.0.113.9' },
      ...headers,
    };
    return (await fetch(to, { method: 'POST', body, headers: given })).status;
  };
  expect(await send({})).toBe(204);
  expect(await send({ key: LATER })).toBe(204);
  expect(await send({ key: ENDED })).toBe(401);
  expect(await send({ ago: 4 })).toBe(204);
  expect(await send({ ago: 6 })).toBe(401);
  expect(await send({ body: `"${'x'.repeat(1_022)}"` })).toBe(204);
  expect(await send({ body: `"${'x'.repeat(1_023)}"` })).toBe(413);
  expect(await send({ headers: { 'x-selvedge-token': 'another' } })).toBe(401);
  expect(await send({ headers: { 'x-real-ip': '203.0.113.10' } })).toBe(403);
  expect(await send({ to: url.slice(0, url.lastIndexOf('/')) })).toBe(404);
});
