/** A proxy that must be asked for a tunnel, and knows a name that no name server knows. */
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { HttpRequest } from '../../src/client/http/request.ts';
import type { OutgoingProxy } from '../../src/client/http/tunnel.ts';
import { checkCertificate } from '../../src/daemon/doctor/network.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { CERTIFICATE, KEY } from '../fixtures/certificate.ts';
import { impatient, rejection, startFaulty } from './support.ts';

const PASSWORD = 'canary-of-the-proxy';
const BASIC = `Basic ${Buffer.from(`erp:${PASSWORD}`).toString('base64')}`;

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

type Conduct = (request: IncomingMessage, socket: Socket, port: number) => void;

const passOn: Conduct = (_request, socket, port) => {
  const through = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    through.pipe(socket).pipe(through);
  });
  through.on('error', () => socket.destroy());
  socket.on('error', () => through.destroy()).on('close', () => through.destroy());
};

const answer =
  (head: string, body = ''): Conduct =>
  (_request, socket) => {
    socket.end(`HTTP/1.1 ${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  };

/** A service over TLS, and in front of it a proxy that conducts itself so. */
async function start(conduct: Conduct = passOn, secureProxy = false) {
  const served: string[] = [];
  const asked: string[] = [];
  const open = new Set<Socket>();
  const service = createTlsServer({ cert: CERTIFICATE, key: KEY }, (request, response) => {
    served.push(`${request.method} ${request.url}`);
    expect(request.headers).not.toHaveProperty('proxy-authorization');
    if (request.url === '/long') response.write('[');
    else response.end(JSON.stringify({ data: [{ url: request.url, responseStatusCode: 204 }] }));
  });
  const port = await listen(service);
  const tls = { cert: CERTIFICATE, key: KEY };
  const proxy = secureProxy ? createTlsServer(tls) : createServer();
  proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization'] ?? '-'}`);
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    conduct(request, socket, port);
  });
  const listening = await listen(proxy);
  const kill = () => {
    proxy.close();
    for (const socket of open) socket.destroy();
  };
  onTestFinished(() => {
    kill();
    service.closeAllConnections();
    service.close();
  });
  const url = secureProxy ? `https://localhost:${listening}` : `http://127.0.0.1:${listening}`;
  const way: OutgoingProxy = { url, credentials: undefined };
  const at = `service.example.test:${port}`;
  return { served, asked, open, kill, port, at, origin: `https://${at}`, way };
}

function post(origin: string, path = '/x'): HttpRequest {
  return { method: 'POST', url: `${origin}${path}`, priority: 'push', json: {} };
}

const get = (origin: string, path = '/x'): HttpRequest => ({
  method: 'GET',
  url: `${origin}${path}`,
  priority: 'pull',
});

it('asks the proxy for a tunnel to a name that is not looked up here', async () => {
  const { origin, at, asked, way } = await start();
  await using transport = impatient({ caText: CERTIFICATE, proxy: way });
  for (let nth = 0; nth < 3; nth += 1) await transport.request(post(origin));
  await transport.request(get(origin));
  expect(new Set(asked)).toEqual(new Set([`${at} -`]));
  expect(asked.length).toBeLessThanOrEqual(3);
});

it('shows who it is to the proxy, and to nobody else; the proxy may speak TLS itself', async () => {
  const { origin, at, asked, served, way } = await start(passOn, true);
  const credentials = { user: 'erp', password: new Secret('proxy', PASSWORD) };
  await using transport = impatient({ caText: CERTIFICATE, proxy: { ...way, credentials } });
  await transport.request(post(origin));
  expect(asked).toEqual([`${at} ${BASIC}`]);
  expect(served).toEqual(['POST /x']);
  await using distrustful = impatient({ proxy: { ...way, credentials } });
  const error = await rejection(distrustful.request(post(origin)));
  expect(error).toMatchObject({
    code: 'transport.not_sent',
    hint: expect.stringMatching(/certificate of the proxy: service\.caFile/),
  });
  expect(asked).toHaveLength(1);
});

it.each([
  ['403 Forbidden', 'people of the proxy'],
  ['407 Proxy Authentication Required', 'service.proxy.password'],
  ['502 Bad Gateway', 'people of the proxy'],
  ['302 Found\r\nlocation: /login', 'people of the proxy'],
])('takes %s of the proxy for no answer of the service', async (head, hint) => {
  const page = JSON.stringify({ status: 200, message: 'ok', data: [] });
  const { origin, served, way } = await start(answer(head, page));
  const credentials = { user: 'erp', password: new Secret('proxy', PASSWORD) };
  await using transport = impatient({ caText: CERTIFICATE, proxy: { ...way, credentials } });
  for (const request of [post(origin), get(origin)]) {
    const error = await rejection(transport.request(request));
    expect(error).toMatchObject({
      ...{ name: 'RetryLaterError', code: 'transport.not_sent' },
      message: expect.stringContaining(`the proxy ${way.url} (service.proxy) answers`),
      hint: expect.stringContaining(hint),
    });
    expect(JSON.stringify(error)).not.toContain(PASSWORD);
  }
  expect(served).toEqual([]);
});

it.each<[string, Conduct]>([
  ['hangs up', (_request, socket) => socket.destroy()],
  ['speaks no HTTP', (_request, socket) => socket.end('SSH-2.0\r\n\r\n')],
  ['opens a way to nobody', answer('200 OK', 'this is no TLS')],
  [
    'tears down the way that it opens',
    (_request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n', () => socket.resetAndDestroy());
    },
  ],
  [
    'shuts the way that it opens',
    (_request, socket) => {
      socket.end('HTTP/1.1 200 OK\r\n\r\n');
    },
  ],
])('sends nothing through a proxy that %s', async (_what, conduct) => {
  const { origin, served, way } = await start(conduct);
  await using transport = impatient({ caText: CERTIFICATE, proxy: way });
  const error = await rejection(transport.request(post(origin)));
  expect(error).toMatchObject({ name: 'RetryLaterError', code: 'transport.not_sent' });
  expect(error).toMatchObject({ message: expect.stringContaining('(service.proxy)') });
  expect(served).toEqual([]);
});

it('names a proxy that does not answer, and one that nobody is', async () => {
  const { origin, way, kill, asked } = await start(() => undefined);
  const clock = manualClock();
  await using transport = impatient({ caText: CERTIFICATE, proxy: way }, clock);
  const named = expect.stringContaining(`the proxy ${way.url} (service.proxy)`);
  const waiting = rejection(transport.request(post(origin)));
  await expect.poll(() => asked.length).toBe(1);
  await clock.advance(5_000);
  expect(await waiting).toMatchObject({ code: 'transport.not_sent', hint: named });
  kill();
  const absent = await rejection(transport.request(post(origin)));
  expect(absent).toMatchObject({
    ...{ code: 'transport.not_sent', message: named },
    hint: expect.stringContaining('service.proxy.url'),
  });
});

it('is in doubt about a write, not about a read, when the proxy goes in the middle', async () => {
  const { origin, served, open, kill, way } = await start();
  await using transport = impatient({ caText: CERTIFICATE, proxy: way, retryWaitsMs: [] });
  const stream = await transport.stream(get(origin, '/long'));
  const chunks = stream.body;
  expect((await chunks.next()).value?.toString()).toBe('[');
  const write = rejection(transport.request(post(origin, '/long')));
  await expect.poll(() => served.length).toBe(2);
  kill();
  expect(await rejection(chunks.next())).toMatchObject({ name: 'RetryLaterError' });
  expect(await write).toMatchObject({ name: 'InDoubtError' });
  await expect.poll(() => open.size).toBe(0);
});

it('trusts the service behind the proxy no more than one that is reached straight', async () => {
  const { origin, served, port, way, open } = await start();
  await using transport = impatient({ proxy: way });
  expect(await rejection(transport.request(post(origin)))).toMatchObject({
    code: 'transport.not_sent',
    hint: expect.stringContaining('service.caFile'),
  });
  await using other = impatient({ caText: CERTIFICATE, proxy: way });
  const error = await rejection(other.request(post(`https://other.example.test:${port}`)));
  expect(error).toMatchObject({
    code: 'transport.not_sent',
    hint: expect.stringContaining('another host name'),
  });
  expect(served).toEqual([]);
  await expect.poll(() => open.size).toBe(0);
});

it('goes straight to this machine, and knows nothing of proxies in the environment', async () => {
  const { port, asked, way } = await start();
  await using plain = await startFaulty((_request, response) => response.end('{}'));
  await using transport = impatient({ caText: CERTIFICATE, proxy: way });
  await transport.request(post(`https://localhost:${port}`));
  await transport.request(post(plain.url));
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY']) vi.stubEnv(name, way.url);
  vi.stubEnv('NODE_USE_ENV_PROXY', '1');
  onTestFinished(() => void vi.unstubAllEnvs());
  await using unset = impatient({ caText: CERTIFICATE, retryWaitsMs: [] });
  const error = await rejection(unset.request(post('https://service.example.test')));
  expect(error).toMatchObject({ code: 'transport.not_sent' });
  expect(asked).toEqual([]);
});

it('looks at the certificate through it', async () => {
  const { origin, at, asked, way } = await start();
  const how = { caText: CERTIFICATE, proxy: way };
  expect(await checkCertificate(origin, Date.UTC(2026, 0), how)).toMatchObject([
    { grade: 'ok', text: expect.stringContaining(at) },
  ]);
  expect(asked).toEqual([`${at} -`]);
});
