import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createHttpServer, holdAddress, listenOn } from '../../src/lib/http-server.ts';
import { createLogger, silentLogger } from '../../src/lib/log.ts';
import { createScrubber } from '../../src/lib/secret.ts';

it('an error of ours is in the log although its caller has hung up', async () => {
  const told = Promise.withResolvers<string>();
  const log = createLogger({
    ...{ level: 'error', format: 'json', scrubber: createScrubber() },
    write: (line) => told.resolve(line),
  });
  const app = createHttpServer(log);
  onTestFinished(() => app.close());
  const called = Promise.withResolvers<void>();
  app.get('/', async (_request, reply) => {
    called.resolve();
    await once(reply.raw, 'close');
    throw new Error('the disk is gone');
  });
  const { port } = await listenOn(app, '127.0.0.1', 0);
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await called.promise;
  socket.destroy();
  expect(await told.promise).toContain('the disk is gone');
});

it('a server takes no schema of a route, and loads nothing that compiles them', async () => {
  const app = createHttpServer(silentLogger());
  onTestFinished(() => app.close());
  const { cache } = createRequire(import.meta.url);
  const loaded = (name: string) =>
    Object.keys(cache).filter((path) => path.includes(`/node_modules/${name}/`));
  app.get('/', async () => 'here');
  await app.ready();
  expect(loaded('fastify').length).toBeGreaterThan(10);
  expect([...loaded('ajv'), ...loaded('@fastify/ajv-compiler')]).toEqual([]);
  const other = createHttpServer(silentLogger());
  onTestFinished(() => other.close());
  other.get('/', { schema: { querystring: { type: 'object' } } }, async () => 'here');
  await expect(other.ready()).rejects.toThrow('a route has a schema');
});

it('an address that is only held is let go of, whoever has come meanwhile', async () => {
  const held = await holdAddress('127.0.0.1', 0, 'listener.port');
  const at = held.address();
  if (at === null || typeof at === 'string') throw new Error('no port');
  const socket = connect(at.port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'close');
  await held[Symbol.asyncDispose]();
  expect(held.listening).toBe(false);
});

it('the headers of a request may be as large as the cookies of a proxy make them', async () => {
  const log = createLogger({
    ...{ level: 'error', format: 'json', scrubber: createScrubber() },
    write: () => undefined,
  });
  const app = createHttpServer(log);
  onTestFinished(() => app.close());
  app.get('/', async () => 'here');
  const { url } = await listenOn(app, '127.0.0.1', 0);
  const ask = async (bytes: number) =>
    (await fetch(url, { headers: { cookie: `_oauth2_proxy=${'c'.repeat(bytes)}` } })).status;
  expect(await ask(31_000)).toBe(200);
  expect(await ask(33_000)).toBe(431);
});
