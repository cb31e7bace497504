import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { HttpRequest } from '../../src/client/http/request.ts';
import { STRAIGHT } from '../../src/client/http/tunnel.ts';
import { createRelayApi } from '../../src/client/relay-api.ts';
import { checkCertificate } from '../../src/daemon/doctor/network.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { CERTIFICATE, KEY } from '../fixtures/certificate.ts';
import { impatient, rejection } from './support.ts';

describe('transport over TLS', () => {
  const server = createServer({ cert: CERTIFICATE, key: KEY }, (request, response) => {
    response.end(JSON.stringify({ path: request.url }));
  });
  let port = 0;
  let connections = 0;
  beforeAll(async () => {
    server.on('secureConnection', () => {
      connections += 1;
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const post = (host: string): HttpRequest => ({
    method: 'POST',
    url: `https://${host}:${port}/x`,
    priority: 'push',
    json: {},
  });

  it('sends nothing to a service whose certificate nobody vouches for', async () => {
    await using transport = impatient();
    const error = await rejection(transport.request(post('localhost')));
    expect(error).toMatchObject({ name: 'RetryLaterError', code: 'transport.not_sent' });
    expect(error).toMatchObject({ hint: expect.stringMatching(/service\.caFile.*root/) });
  });

  it('sends nothing there either where the environment tells Node to check nothing', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    await using transport = impatient();
    const error = await rejection(transport.request(post('localhost')));
    expect(error).toMatchObject({ code: 'transport.not_sent' });
    const token = new Secret('relay token', 'canary-token');
    const apiUrl = `https://localhost:${port}`;
    const named = { apiUrl, token, application: 'a', endpoint: 'b' };
    const relay = createRelayApi({ ...named, ...STRAIGHT }, systemClock());
    expect(await rejection(relay.sendExample('ping'))).toMatchObject({ code: 'relay.unreachable' });
  });

  it('trusts the CA that the configuration names, and only for its host names', async () => {
    await using transport = impatient({ caText: CERTIFICATE });
    expect((await transport.request(post('localhost'))).json).toEqual({ path: '/x' });
    const error = await rejection(transport.request(post('127.0.0.2')));
    expect(error).toMatchObject({ code: 'transport.not_sent' });
  });

  it('is told by doctor to have a certificate that has ended', async () => {
    const later = Date.UTC(2999, 0);
    expect(await checkCertificate(`https://localhost:${port}`, later, STRAIGHT)).toMatchObject([
      { grade: 'failed', text: expect.stringMatching(/^of localhost:\d+ ended \d+d.* ago$/) },
    ]);
  });

  it('keeps connections, those of writes apart from those of reads', async () => {
    await using transport = impatient({ caText: CERTIFICATE });
    const before = connections;
    for (let nth = 0; nth < 20; nth += 1) await transport.request(post('localhost'));
    const ofWrites = connections - before;
    expect(ofWrites).toBeLessThanOrEqual(2);
    const get: HttpRequest = { ...post('localhost'), method: 'GET', json: undefined };
    await transport.request(get);
    expect(connections - before).toBe(ofWrites + 1);
  });
});
