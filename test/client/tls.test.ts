import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { errorOfFailure } from '../../src/client/http/answer.ts';
import { ExchangeFailure } from '../../src/client/http/exchange.ts';
import type { HttpRequest } from '../../src/client/http/request.ts';
import { DIRECT } from '../../src/client/http/tunnel.ts';
import { checkCertificate } from '../../src/daemon/doctor/network.ts';
import { Secret } from '../../src/lib/secret.ts';
import { CERTIFICATE, KEY, OTHER_CERTIFICATE, OTHER_KEY } from '../fixtures/certificate.ts';
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
  });

  it('trusts the CA that the configuration names, and only for its host names', async () => {
    await using transport = impatient({ caText: CERTIFICATE });
    expect((await transport.request(post('localhost'))).json).toEqual({ path: '/x' });
    const error = await rejection(transport.request(post('127.0.0.2')));
    expect(error).toMatchObject({ code: 'transport.not_sent' });
  });

  it('is told by doctor to have a certificate that has ended', async () => {
    const later = Date.UTC(2999, 0);
    expect(await checkCertificate(`https://localhost:${port}`, later, DIRECT)).toMatchObject([
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

describe.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a service that wants to know us, by %s',
  (version) => {
    async function start() {
      const seen: string[] = [];
      const asking = { ca: CERTIFICATE, requestCert: true, rejectUnauthorized: true };
      const tls = { cert: CERTIFICATE, key: KEY, maxVersion: version, ...asking };
      const server = createServer(tls, (request, response) => {
        const { socket } = request;
        const name =
          socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : undefined;
        seen.push(`${request.method} ${name}`);
        response.end('{}');
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => {
        server.closeAllConnections();
        server.close();
      });
      const { port } = server.address() as AddressInfo;
      return { seen, url: `https://localhost:${port}` };
    }
    const post = (url: string): HttpRequest => ({
      ...{ method: 'POST', url: `${url}/x`, priority: 'push' },
      json: {},
    });
    const client = (certText: string, key: string) => ({ certText, key: new Secret('key', key) });

    it('is shown the certificate that the configuration names', async () => {
      const { seen, url } = await start();
      const ours = client(CERTIFICATE, KEY);
      await using transport = impatient({ caText: CERTIFICATE, client: ours });
      expect((await transport.request(post(url))).status).toBe(200);
      expect(seen).toEqual(['POST localhost']);
      const way = { caText: CERTIFICATE, proxy: undefined, client: ours };
      expect(await checkCertificate(url, Date.UTC(2030, 0), way)).toMatchObject([
        { grade: 'ok', text: expect.stringMatching(/^of CN=localhost ends in/) },
        { grade: 'ok', text: expect.stringMatching(/^of localhost:\d+ ends in/) },
      ]);
    });

    it.each([
      ['none', undefined],
      ['another', client(OTHER_CERTIFICATE, OTHER_KEY)],
    ])('takes nothing of who shows %s', async (_name, other) => {
      const { seen, url } = await start();
      await using transport = impatient({ caText: CERTIFICATE, client: other, retryWaitsMs: [] });
      const get: HttpRequest = { ...post(url), method: 'GET', json: undefined };
      expect(await rejection(transport.request(get))).toMatchObject({ name: 'RetryLaterError' });
      expect(seen).toEqual([]);
    });
  },
);

it('does not take the alert that our certificate is refused for a doubt', () => {
  const asked = { method: 'POST', url: 'https://service.example.test/x', safe: false };
  for (const code of [
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
    'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
    'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
  ]) {
    const cause = Object.assign(new Error('alert'), { code });
    const failure = new ExchangeFailure('broken_connection', true, cause);
    expect(errorOfFailure(asked, failure)).toMatchObject({
      ...{ code: 'transport.not_sent', hint: expect.stringContaining('service.clientCertificate') },
    });
  }
  const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
  const failure = new ExchangeFailure('broken_connection', true, reset);
  expect(errorOfFailure(asked, failure)).toMatchObject({ name: 'InDoubtError' });
});
