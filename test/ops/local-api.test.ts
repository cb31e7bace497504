import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { request } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { createLocalApi } from '../../src/local-api/api.ts';
import { localFile } from '../../src/local-api/ask.ts';
import { temporaryFolder } from '../support/store.ts';

const local = z.object({ url: z.string(), token: z.string() });

/** A local API with one path, which gives the body back or fails; and what it logged. */
async function startApi(host = '127.0.0.1') {
  const dataDir = temporaryFolder();
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  const log = createLogger({ level: 'error', format: 'json', scrubber: createScrubber(), write });
  const listens = Promise.withResolvers<void>();
  const api = createLocalApi(
    {
      ...{ log, random: seededRandom(1), onListening: () => listens.resolve() },
      groups: [
        {
          access: 'open',
          underOtherNames: ['/metrics'],
          install(app) {
            app.get('/metrics', async () => 'numbers');
            app.post('/metrics', async () => 'changed');
            app.get('/metrics/more', async () => 'more');
          },
        },
        {
          access: 'operator',
          install: (app) =>
            app.post('/api/echo', async ({ body }) => {
              if (body === null) throw Object.assign(new Error('a secret'), { statusCode: 404 });
              return body;
            }),
        },
      ],
    },
    { host, port: 0, dataDir, hostNames: ['Metrics.example.com'] },
  );
  const stop = new AbortController();
  const done = api.run(stop.signal);
  onTestFinished(() => {
    stop.abort();
    return done;
  });
  await listens.promise;
  const { url, token } = local.parse(JSON.parse(readFileSync(localFile(dataDir), 'utf8')));
  const post = async (body: string, type = 'application/json') => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': type };
    const answer = await fetch(`${url}/api/echo`, { method: 'POST', headers, body });
    return { status: answer.status, body: await answer.json() };
  };
  /** Status of a path, by default a missing one, asked for by this name. */
  const statusAt = async (
    name: string,
    path = '/nothing',
    method: 'GET' | 'HEAD' | 'POST' = 'GET',
  ): Promise<number> =>
    (await request(`${url}${path}`, { method, headers: { host: name } })).statusCode;
  return { address: new URL(url), lines, post, statusAt };
}

it.each([
  ['is no JSON', 400, '{"reason": "it\'s', undefined],
  ['is empty', 400, '', undefined],
  ['is of another type', 415, 'a: 1', 'application/yaml'],
  ['is too large', 413, JSON.stringify('x'.repeat(2_000_000)), undefined],
] as const)('says so where a body %s, and logs nothing', async (_, status, body, type) => {
  const { post, lines } = await startApi();
  expect(await post('{"a":1}')).toEqual({ status: 200, body: { a: 1 } });
  const message = expect.not.stringContaining('reason');
  expect(await post(body, type)).toEqual({
    status,
    body: expect.objectContaining({ code: 'request.invalid', status, message }),
  });
  expect(lines).toEqual([]);
});

it('answers at each address that only this machine can reach, and to no other name', async () => {
  const { post, statusAt } = await startApi('127.0.0.2');
  expect(await post('{"a":1}')).toMatchObject({ status: 200 });
  const names = ['127.1.2.3', 'LocalHost:8791', '[::1]:8791', '[::ffff:7f00:1]:8791'];
  for (const name of names) expect([name, await statusAt(name)]).toEqual([name, 404]);
  const others = ['128.0.0.1', '127.0.0.1.nip.example', 'localhost.example', '[::ffff:a00:1]', 'x'];
  for (const name of others) expect([name, await statusAt(name)]).toEqual([name, 421]);
});

it('tells nobody but the log of a mistake of its own', async () => {
  const { post, lines } = await startApi();
  expect(await post('null')).toMatchObject({ status: 500, body: { code: 'local.failed' } });
  expect(lines.join()).toContain('a secret');
});

it('answers a further name only where it tells no business, and only reads', async () => {
  const { statusAt } = await startApi();
  for (const name of ['metrics.example.com', 'METRICS.example.com:9100']) {
    expect(await statusAt(name, '/metrics')).toBe(200);
    expect(await statusAt(name, '/metrics?x=1')).toBe(200);
    expect(await statusAt(name, '/metrics', 'HEAD')).toBe(200);
    expect(await statusAt(name, '/metrics', 'POST')).toBe(421);
    for (const path of ['/metrics/more', '/metrics/../api/echo', '/nothing', '/api/echo']) {
      expect([path, await statusAt(name, path)]).toEqual([path, 421]);
    }
    expect(await statusAt(name, '/api/echo', 'POST')).toBe(421);
  }
  expect(await statusAt('other.example.com', '/metrics')).toBe(421);
  expect(await statusAt('metrics.example.com.evil.example', '/metrics')).toBe(421);
});

it('answers a check of HTTP/1.0 without a host only where it tells no business', async () => {
  const { address } = await startApi();
  const ask = async (line: string, ...headers: string[]): Promise<string> => {
    const socket = connect(Number(address.port), address.hostname);
    socket.end(`${[`${line} HTTP/1.0`, ...headers].join('\r\n')}\r\n\r\n`);
    return (await text(socket)).slice(0, 'HTTP/1.1 200'.length);
  };
  expect(await ask('GET /metrics')).toBe('HTTP/1.1 200');
  expect(await ask('HEAD /metrics', 'Host:')).toBe('HTTP/1.1 200');
  expect(await ask('GET /nothing')).toBe('HTTP/1.1 421');
  expect(await ask('POST /metrics')).toBe('HTTP/1.1 421');
  expect(await ask('GET /metrics', 'Host: evil.example')).toBe('HTTP/1.1 421');
});
