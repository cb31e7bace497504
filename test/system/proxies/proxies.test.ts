/** The blocks of docs/console.md and docs/connect.md for reverse proxies, in these proxies. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, createServer as createDoor, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../../src/lib/secret.ts';
import { auditOf, type ConsoleHouse, sharedEnd, startConsole } from '../../console/support.ts';
import { sign } from '../../inbox/support.ts';
import { until, WEBHOOK_SECRET } from '../../support/house.ts';
import {
  CONSOLE_NAME,
  EVENTS_NAME,
  freePorts,
  isThere,
  type Ports,
  type Program,
  startProxy,
} from './programs.ts';

const SECRET = 'a-secret-of-the-proxy-alone';
const FORM = 'application/x-www-form-urlencoded';
const PROGRAMS: readonly Program[] = ['nginx', 'apache', 'caddy', 'haproxy'];
const VERSIONS = [
  ['1.1', '1.1'],
  ['2', '2'],
] as const;

const { atEnd, end } = sharedEnd();
let house: ConsoleHouse;
let ports: Ports;
let origin: string;

beforeAll(async () => {
  const [proxy = 0, console = 0, local = 0, listener = 0] = await freePorts(4);
  ports = { proxy, console, local, listener };
  origin = `https://${CONSOLE_NAME}:${proxy}`;
  const set = (path: string, value: unknown) => ({ path, value });
  house = await startConsole({
    held: 0,
    atEnd,
    settings: [
      set('console.port', console),
      set('local.port', local),
      set('listener.port', listener),
      set('console.publicUrl', origin),
      set('console.operators', [{ name: 'anna@example.com', role: 'operator', sees: [] }]),
      set('console.proxy.userHeader', 'x-forwarded-email'),
      set('console.proxy.secret', new Secret('proxy', SECRET)),
    ],
  });
  const signIn = `http://127.0.0.1:${console}/sign-in`;
  await until('the console', () =>
    fetch(signIn).then(
      ({ ok }) => ok || undefined,
      () => undefined,
    ),
  );
});

afterAll(end);

describe.each(PROGRAMS)('%s with its block of the manual', (program) => {
  it.skipIf(!isThere(program)).each(VERSIONS)(
    'signs people in at a port of its own by HTTP/%s, and passes on where they are',
    async (version, over) => {
      const { ask } = await startProxy(program, ports);
      const link = new URL(await house.daemon.consoleLink('anna', 'operator'));
      expect(link.origin).toBe(origin);
      expect(await ask(link.href, { version })).toMatchObject({ status: 200, version: over });
      const forged = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-email': 'ben@example.com' };
      const entered = await ask(`${origin}/sign-in/link`, {
        version,
        headers: { ...forged, origin, 'content-type': FORM },
        body: `key=${link.searchParams.get('key')}`,
      });
      expect(entered.status).toBe(303);
      const [, cookie] = /^set-cookie: (__Host-selvedge=[^;]+)/im.exec(entered.headers) ?? [];
      // Twelve of other programs at the same name: 7.6 KB.
      const cookies = [
        cookie,
        ...Array.from({ length: 12 }, (_, at) => `c${at}=${'c'.repeat(600)}`),
      ];
      const headers = { cookie: cookies.join('; ') };
      const page = await ask(`${origin}/review?country=DK&q=a%2Fb`, { version, headers });
      expect([page.status, page.text.includes('anna')]).toEqual([200, true]);
      expect((await auditOf(house, 'console.sign_in')).at(-1)).toMatchObject({
        actor: 'anna',
        address: '127.0.0.2',
      });
    },
  );

  it.skipIf(!isThere(program)).each(VERSIONS)(
    'brings each byte of an event by HTTP/%s, and the answer for another path',
    async (version, over) => {
      const { ask } = await startProxy(program, ports);
      const hooks = `https://${EVENTS_NAME}:${ports.proxy}/webhooks`;
      const body = JSON.stringify({ type: 'other', data: { text: 'ø \\u0000 '.repeat(100_000) } });
      const headers = sign(body, { key: WEBHOOK_SECRET });
      const post = await ask(hooks, { version, headers, body });
      expect(post).toMatchObject({ status: 204, version: over });
      const forged = { ...headers, 'svix-id': 'msg_other' };
      expect((await ask(hooks, { version, headers: forged, body })).status).toBe(401);
      // An answer that says yes would lose the event.
      const elsewhere = await ask(`${hooks}/more`, { version, headers, body });
      expect([404, 405, 413]).toContain(elsewhere.status);
    },
  );
});

it.skipIf(!isThere('haproxy'))(
  'HAProxy finds the daemon ready, by HTTP/1.0 and no host',
  async () => {
    const { folder } = await startProxy('haproxy', ports);
    const checks = async (): Promise<string[]> => {
      const socket = connect(join(folder, 'stats'));
      socket.write('show stat\n');
      const lines = (await text(socket))
        .split('\n')
        .filter((line) => /^\w+,(?:console|events),/.test(line));
      return lines.map((line) => line.split(',')[36] ?? '');
    };
    const done = await until('the checks', async () => {
      const states = await checks();
      return states.every((state) => state !== '' && !/INI|\*/.test(state)) ? states : undefined;
    });
    expect(done).toEqual(['L7OK', 'L7OK']);
  },
);

it.skipIf(!isThere('nginx'))(
  'nginx with a program that signs people in takes 7.6 KB of its cookies, both ways',
  async () => {
    // Stands in for oauth2-proxy, which Debian does not have.
    const cookies = [1, 2].map((at) => `_oauth2_proxy_${at}=${'c'.repeat(3_800)}`);
    const signIn = createServer((request, response) => {
      const isKnown = cookies.every((cookie) => request.headers.cookie?.includes(cookie));
      if (request.url === '/oauth2/auth' && isKnown) {
        response.writeHead(202, { 'x-auth-request-email': 'anna@example.com' }).end();
      } else if (request.url === '/oauth2/auth') response.writeHead(401).end();
      else response.writeHead(302, { 'set-cookie': cookies, location: '/' }).end();
    });
    const [signInPort = 0] = await freePorts(1);
    await once(signIn.listen(signInPort, '127.0.0.1'), 'listening');
    onTestFinished(() => void signIn.close());
    const secret = `proxy_set_header X-Selvedge-Proxy-Secret "${SECRET}";\n`;
    const { ask } = await startProxy(
      'nginx',
      { ...ports, signIn: signInPort },
      { signsIn: true, files: { 'selvedge-secret.conf': secret } },
    );
    const away = await ask(`${origin}/review?country=DK`, { version: '2' });
    expect([away.status, away.headers]).toEqual([
      302,
      expect.stringMatching(/^location: \/oauth2\/sign_in\?rd=\/review\?country=DK\r?$/m),
    ]);
    const back = await ask(`${origin}/oauth2/callback`, { version: '2' });
    expect([back.status, back.headers.match(/^set-cookie: _oauth2/gm)?.length]).toEqual([302, 2]);
    for (const version of ['1.1', '2']) {
      const headers = { cookie: cookies.join('; '), 'x-forwarded-email': 'ben@example.com' };
      const page = await ask(`${origin}/review`, { version, headers });
      expect([page.status, page.text.includes('anna@example.com')]).toEqual([200, true]);
    }
    expect((await auditOf(house, 'console.sign_in')).at(-1)).toMatchObject({
      actor: 'anna@example.com',
      session: expect.stringMatching(/^proxy:/),
      address: '127.0.0.2',
    });
  },
);

/** A door to the listener, which a machine has open while it holds the lease. */
async function door(to: number): Promise<{ port: number; open(): Promise<void>; shut(): void }> {
  const [port = 0] = await freePorts(1);
  const through = new Set<Socket>();
  const server = createDoor((from) => {
    const onwards = connect(to, '127.0.0.1');
    for (const one of [from, onwards]) {
      through.add(one);
      one.on('error', () => undefined);
      one.on('close', () => through.delete(one));
    }
    from.pipe(onwards).pipe(from);
  });
  const shut = (): void => {
    server.close();
    for (const one of through) one.destroy();
  };
  onTestFinished(shut);
  return {
    port,
    shut,
    open: async () => void (await once(server.listen(port, '127.0.0.1'), 'listening')),
  };
}

it.skipIf(!isThere('nginx'))(
  'nginx brings events to the one of two machines that takes them',
  async () => {
    const [here, there] = [await door(ports.listener), await door(ports.listener)];
    await here.open();
    const { ask } = await startProxy('nginx', {
      ...ports,
      listener: here.port,
      second: there.port,
    });
    const hooks = `https://${EVENTS_NAME}:${ports.proxy}/webhooks`;
    let sent = 0;
    const send = async (): Promise<number> => {
      sent += 1;
      const body = JSON.stringify({ type: 'other', data: { at: sent } });
      const headers = sign(body, { key: WEBHOOK_SECRET, id: `msg_two_${sent}` });
      return (await ask(hooks, { headers, body })).status;
    };
    expect(await send()).toBe(204);
    // The first event after a take-over finds the other machine at once.
    here.shut();
    await there.open();
    expect(await send()).toBe(204);
    there.shut();
    expect(await send()).toBe(502);
    await here.open();
    await until('the way back', async () => (await send()) === 204 || undefined);
  },
);
