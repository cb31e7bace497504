import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { errorOfFailure } from '../../src/client/http/answer.ts';
import { ExchangeFailure } from '../../src/client/http/exchange.ts';
import type { HttpRequest } from '../../src/client/http/request.ts';
import { DIRECT } from '../../src/client/http/tunnel.ts';
import { createCertificates } from '../../src/daemon/certificates.ts';
import { checkCertificate } from '../../src/daemon/doctor/network.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { ConfigError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { Secret } from '../../src/lib/secret.ts';
import { configOf } from '../config/config-of.ts';
import { CERTIFICATE, KEY, OTHER_CERTIFICATE, OTHER_KEY } from '../fixtures/certificate.ts';
import { temporaryFolder } from '../support/store.ts';
import { impatient, rejection } from './support.ts';

const ACCOUNT = [
  { path: 'service.v1.baseUrl', value: 'https://service.example.test' },
  { path: 'service.v1.apiKey', value: new Secret('key', 'canary-key-canary') },
];

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

describe('certificates whose files are renewed', () => {
  async function startRenewing() {
    const server = createServer({ cert: CERTIFICATE, key: KEY }, (_request, response) => {
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const file = join(temporaryFolder(), 'ca.pem');
    const get: HttpRequest = {
      method: 'GET',
      url: `https://localhost:${port}/x`,
      priority: 'read',
    };
    return { file, get };
  }
  const configWith = (file: string) => {
    writeFileSync(file, OTHER_CERTIFICATE);
    return configOf([...ACCOUNT, { path: 'service.caFile', value: file }]);
  };

  it('are used for new connections within a minute, and at once by a reload', async () => {
    const { file, get } = await startRenewing();
    const config = configWith(file);
    await using transport = impatient({ caText: OTHER_CERTIFICATE, retryWaitsMs: [] });
    expect(await rejection(transport.request(get))).toMatchObject({ name: 'RetryLaterError' });
    const clock = manualClock();
    const deps = { clock, log: silentLogger(), transport, readConfig: () => config };
    const certificates = createCertificates(config, deps);
    const stop = new AbortController();
    const running = certificates.run(stop.signal);
    writeFileSync(file, CERTIFICATE);
    await clock.advance(60_000);
    expect((await transport.request(get)).status).toBe(200);
    writeFileSync(file, OTHER_CERTIFICATE);
    await certificates.take(config);
    expect(await rejection(transport.request(get))).toMatchObject({ name: 'RetryLaterError' });
    stop.abort();
    await running;
  });

  it('stay the former ones while the configuration finds fault with the new ones', async () => {
    const { file, get } = await startRenewing();
    const config = configWith(file);
    writeFileSync(file, CERTIFICATE);
    await using transport = impatient({ caText: CERTIFICATE, retryWaitsMs: [] });
    const clock = manualClock();
    const readConfig = () => {
      throw new ConfigError('config.invalid', 'the key is not that of the certificate');
    };
    const certificates = createCertificates(config, {
      ...{ clock, log: silentLogger(), transport, readConfig },
    });
    const stop = new AbortController();
    const running = certificates.run(stop.signal);
    writeFileSync(file, 'half of a certificate');
    await clock.advance(120_000);
    expect((await transport.request(get)).status).toBe(200);
    stop.abort();
    await running;
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
