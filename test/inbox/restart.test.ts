/** A stop answers what is on its way; restart.slow.test.ts kills and restarts processes. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { deliveryCreated, eventually, sign, startInbox } from './support.ts';

describe('a stop', () => {
  async function open(port: number): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => {
      socket.destroy();
    });
    await once(socket, 'connect');
    return socket;
  }

  function request(at: number): string {
    const body = deliveryCreated(1);
    const headers = Object.entries(sign(body, { at })).map(([name, value]) => `${name}: ${value}`);
    const lines = ['POST /events HTTP/1.1', 'Host: a', ...headers];
    return [...lines, `Content-Length: ${body.length}`, '', body].join('\r\n');
  }

  const answerOf = (socket: Socket): Promise<string> =>
    new Promise((resolve) => socket.once('data', (data) => resolve(String(data))));

  it('answers what is on its way, also on connections that have not spoken yet (R11)', async () => {
    const time = manualClock(systemClock().now());
    const inbox = await startInbox({ clock: time });
    const silent = await open(inbox.port);
    const half = await open(inbox.port);
    const idle = await open(inbox.port);
    const bytes = request(time.now());
    idle.write(bytes);
    expect(await answerOf(idle)).toMatch(/ 204 .*keep-alive/s);
    half.write(bytes.slice(0, -20));
    // All have been accepted once a later connection is served.
    expect((await inbox.post(deliveryCreated(2))).status).toBe(204);

    const closed = inbox.listener.close(10_000);
    await expect(open(inbox.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    half.write(bytes.slice(-20));
    expect(await answerOf(half)).toMatch(/ 204 .*Connection: close/is);
    silent.write(bytes);
    expect(await answerOf(silent)).toMatch(/ 204 .*Connection: close/is);
    const idleEnded = once(idle, 'close');
    await time.advance(1_000);
    await idleEnded;
    await closed;
  });

  it('waits for a body no longer than its deadline', async () => {
    const time = manualClock(systemClock().now());
    const inbox = await startInbox({ clock: time });
    const half = await open(inbox.port);
    half.write(request(time.now()).slice(0, -20));
    await eventually(async () => {
      expect((await inbox.post(deliveryCreated(2))).status).toBe(204);
    });
    const closed = inbox.listener.close(10_000);
    const ended = once(half, 'close');
    await time.advance(10_000);
    await ended;
    await closed;
  });
});
