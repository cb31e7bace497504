import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type EventStore, parseEvent } from '../../src/inbox/event-store.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { deliveryCreated, eventually, type Inbox, sign, startInbox, talk } from './support.ts';

/** Rounds of fifty streams of noise each; a campaign asks for more. */
const ROUNDS = Number(process.env.SELVEDGE_NOISE_ROUNDS ?? 20);

/** A signed request as it goes over the wire. */
function wire(body: string | Buffer, extra: readonly string[] = []): Buffer {
  const headers = Object.entries(sign(body)).map(([name, value]) => `${name}: ${value}`);
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const head = ['POST /events HTTP/1.1', 'Host: a', ...headers, length, ...extra, '', ''];
  return Buffer.concat([Buffer.from(head.join('\r\n')), Buffer.from(body)]);
}

/** Asks again where a test has made the limits so short that a busy machine may not keep them. */
async function alive(inbox: Inbox): Promise<void> {
  await eventually(async () => {
    expect((await inbox.post(deliveryCreated(1))).status).toBe(204);
  });
}

/** Connections that say nothing; gives how many of them the server has kept. */
async function openSilent(
  port: number,
  count: number,
  bytes: string | Buffer = '',
): Promise<() => number> {
  const open = new Set<Socket>();
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1', () => open.add(socket));
    if (bytes.length > 0) socket.write(bytes);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    return socket;
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await eventually(() => expect(sockets.every((socket) => !socket.connecting)).toBe(true));
  return () => open.size;
}

it('closes an idle connection at once when it is to stay open for no time', async () => {
  const inbox = await startInbox({ limits: { keepAliveMs: 0 } });
  expect(await talk(inbox.port, wire(deliveryCreated(1)))).toMatch(/^HTTP\/1\.1 204 /);
}, 10_000);

describe('size', () => {
  it('of a body is limited with and without a declared length (L4)', async () => {
    const inbox = await startInbox({ limits: { bodyBytesMax: 1_000 } });
    const fits = JSON.stringify('x'.repeat(998));
    const over = JSON.stringify('x'.repeat(999));
    expect((await inbox.post(fits)).status).toBe(204);
    expect((await inbox.post(over)).status).toBe(413);
    const headers = Object.entries(sign(over)).map(([name, value]) => `${name}: ${value}`);
    const chunked = [
      ...['POST /events HTTP/1.1', 'Host: a', ...headers, 'Transfer-Encoding: chunked', ''],
      ...[Buffer.byteLength(over).toString(16), over, '0', '', ''],
    ].join('\r\n');
    expect(await talk(inbox.port, chunked)).toMatch(/^HTTP\/1\.1 413 /);
    await alive(inbox);
  });

  it('of a body is agreed on first with a sender that asks', async () => {
    const inbox = await startInbox();
    const answer = await talk(
      inbox.port,
      wire('{}', ['Expect: 100-continue', 'Connection: close']),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 100 .*HTTP\/1\.1 204 /s);
  });

  it('of all bodies together is limited, and given back (L6)', async () => {
    const inbox = await startInbox({ limits: { inFlightBytesMax: 1_500, bodyBytesMax: 1_000 } });
    const body = JSON.stringify('x'.repeat(900));
    const bytes = wire(body, ['Connection: close']);
    const slow = connect(inbox.port, '127.0.0.1');
    slow.write(bytes.subarray(0, bytes.length - 10));
    await eventually(async () => {
      const answer = await inbox.post(body);
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('30');
    });
    const answered = new Promise((resolve) => slow.once('data', (data) => resolve(String(data))));
    slow.write(bytes.subarray(bytes.length - 10));
    expect(await answered).toMatch(/^HTTP\/1\.1 204 /);
    await eventually(async () => expect((await inbox.post(body)).status).toBe(204));
  });

  it('of an event is enough for a delivery of 5,000 lines, as the intake takes (L4)', async () => {
    const inbox = await startInbox();
    const fulfilledLineItems = Array.from({ length: 5_000 }, (_, at) => ({
      ...{ barcode: String(5_700_000_000_000 + at), fulfilledQuantity: 12, price: 1249.95 },
      ...{ fulfilledSizeQuantity: 144, season: 'Autumn/Winter 2027', delivery: '1st delivery' },
    }));
    const salesOrderDelivery = { orderDeliveryId: 1, orderId: 2, fulfilledLineItems };
    const type = 'sales_order.delivery_created';
    const body = JSON.stringify({ type, data: { salesOrderDelivery } });
    expect(body.length).toBeGreaterThan(700_000);
    expect((await inbox.post(body)).status).toBe(204);
  });

  it('of large bodies that were only announced shuts no event out (L6)', async () => {
    const inbox = await startInbox();
    const body = 'x'.repeat(2_000_000);
    const head = wire(body).subarray(0, -body.length + 1);
    await openSilent(inbox.port, 100, head);
    expect((await inbox.post(deliveryCreated(1))).status).toBe(204);
  });

  it('of what has arrived of large bodies is limited, and given back (L6)', async () => {
    const inbox = await startInbox({ limits: { inFlightBytesMax: 1_500_000 } });
    const body = JSON.stringify('x'.repeat(1_000_000));
    const bytes = wire(body, ['Connection: close']);
    const slow = connect(inbox.port, '127.0.0.1');
    slow.write(bytes.subarray(0, -10));
    await eventually(async () => expect((await inbox.post(body)).status).toBe(503));
    const answered = new Promise((resolve) => slow.once('data', (data) => resolve(String(data))));
    slow.write(bytes.subarray(-10));
    expect(await answered).toMatch(/^HTTP\/1\.1 204 /);
    await eventually(async () => expect((await inbox.post(body)).status).toBe(204));
  });

  it('of a body that tells none counts as the largest (L6)', async () => {
    const inbox = await startInbox({ limits: { inFlightBytesMax: 1_500, bodyBytesMax: 1_000 } });
    const headers = Object.entries(sign('{}')).map(([name, value]) => `${name}: ${value}`);
    const lines = ['POST /events HTTP/1.1', 'Host: a', ...headers, 'Transfer-Encoding: chunked'];
    const slow = connect(inbox.port, '127.0.0.1');
    slow.write([...lines, '', '1', '{', ''].join('\r\n'));
    const body = JSON.stringify('x'.repeat(600));
    await eventually(async () => expect((await inbox.post(body)).status).toBe(503));
    slow.destroy();
    await eventually(async () => expect((await inbox.post(body)).status).toBe(204));
  });

  it('of a body that never ends is given back when the sender goes away', async () => {
    const inbox = await startInbox({ limits: { inFlightBytesMax: 1_500, bodyBytesMax: 1_000 } });
    const body = JSON.stringify('x'.repeat(900));
    const slow = connect(inbox.port, '127.0.0.1');
    slow.write(wire(body).subarray(0, 500));
    await eventually(async () => expect((await inbox.post(body)).status).toBe(503));
    slow.destroy();
    await eventually(async () => expect((await inbox.post(body)).status).toBe(204));
  });
});

describe('time', () => {
  it.each([
    ['headers', 'POST /events HTTP/1.1\r\nHost: a\r\nX-'],
    ['a body', wire('x'.repeat(100)).subarray(0, -50)],
    ['anything at all', ''],
  ])('for %s is limited (L5)', async (_what, bytes) => {
    const inbox = await startInbox({ limits: { headersMs: 200, requestMs: 400 } });
    expect(await talk(inbox.port, bytes)).toMatch(/^HTTP\/1\.1 408 /);
    await alive(inbox);
  });
});

describe('connections', () => {
  it('beyond the limit end the one that was silent for longest (L6)', async () => {
    const inbox = await startInbox({ limits: { connectionsMax: 16 } });
    const first = await openSilent(inbox.port, 8);
    const later = await openSilent(inbox.port, 16);
    await eventually(() => expect([first(), later()]).toEqual([0, 16]));
  });

  it.each([
    ['say nothing', ''],
    ['never end their headers', 'POST /events HTTP/1.1\r\nHost: a\r\nX-'],
    ['never end a body', wire('x'.repeat(100)).subarray(0, -50)],
  ])('of 300 senders that %s shut no event out (L6)', async (_what, bytes) => {
    const inbox = await startInbox();
    const open = await openSilent(inbox.port, 300, bytes);
    expect((await inbox.post(deliveryCreated(1))).status).toBe(204);
    expect(open()).toBeGreaterThan(200);
  });

  it('whose requests wait for an answer stay, and the newest one ends (L6)', async () => {
    let waiting = 0;
    const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
    const accept: EventStore['accept'] = async ({ body }) => {
      waiting += 1;
      await committed;
      return parseEvent(body);
    };
    const inbox = await startInbox({ eventStore: { accept }, limits: { connectionsMax: 4 } });
    const answered = Array.from({ length: 4 }, () => inbox.post(deliveryCreated(1)));
    await eventually(() => expect(waiting).toBe(4));
    const newest = connect(inbox.port, '127.0.0.1');
    newest.on('error', () => undefined);
    await new Promise((resolve) => newest.once('close', resolve));
    commit();
    for (const { status } of await Promise.all(answered)) expect(status).toBe(204);
  });

  it('are told to end after their share of requests (L6)', async () => {
    const inbox = await startInbox({ limits: { requestsPerSocketMax: 3 } });
    const socket = connect(inbox.port, '127.0.0.1');
    onTestFinished(() => {
      socket.destroy();
    });
    for (const answered of [/ 204 .*keep-alive/s, / 204 .*keep-alive/s, / 204 .*close/s, / 503 /]) {
      const answer = new Promise((resolve) => socket.once('data', resolve));
      socket.write(wire('{}'));
      expect(String(await answer)).toMatch(answered);
    }
  });

  it('without a request on them end after a while', async () => {
    const inbox = await startInbox({ limits: { keepAliveMs: 100 } });
    expect(await talk(inbox.port, wire('{}'))).toMatch(/^HTTP\/1\.1 204 /);
  });
});

describe('noise', () => {
  it(
    'of any kind ends no process and holds no connection (L7)',
    async () => {
      const inbox = await startInbox({ limits: { headersMs: 500, requestMs: 1_000 } });
      const random = seededRandom(7);
      const good = wire(deliveryCreated(1));
      const noise = (): Buffer => {
        if (random.chance(0.3)) return random.bytes(random.int(1, 400));
        const bytes = Buffer.from(good);
        for (let flips = random.int(1, 20); flips > 0; flips -= 1) {
          bytes[random.int(0, bytes.length - 1)] = random.int(0, 255);
        }
        return bytes.subarray(0, random.int(1, bytes.length));
      };
      for (let round = 0; round < ROUNDS; round += 1) {
        await Promise.all(
          Array.from({ length: 50 }, () => talk(inbox.port, noise(), { end: true })),
        );
      }
      await alive(inbox);
      expect(Object.keys(inbox.meter.stats().refused)).toContain('no http');
      if (process.env.SELVEDGE_NOISE_ROUNDS === undefined) return;
      const heap = Math.round(process.memoryUsage().heapUsed / 1_048_576);
      process.stderr.write(`${ROUNDS * 50} streams of noise, ${heap} MiB of heap\n`);
    },
    300_000 + ROUNDS * 1_000,
  );
});
