import { isIP } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createSender } from '../../../src/reference/relay/delivery/sender.ts';
import { createTargetGuard } from '../../../src/reference/relay/delivery/target.ts';
import { startBench } from './support.ts';

const closed = createTargetGuard({ allowLoopback: false });
const open = createTargetGuard({ allowLoopback: true });

/** A guard whose resolver knows every name by these addresses. */
function guardWith(...addresses: string[]) {
  const answer = addresses.map((address) => ({ address, family: isIP(address) }));
  return createTargetGuard({
    allowLoopback: false,
    resolve: (_name, _options, done) => done(null, answer),
  });
}

function resolve(guard: typeof open, name: string): Promise<string> {
  return new Promise((done) => {
    guard.lookup(name, { all: true }, (error, addresses) => {
      done(error ? `refused: ${error.message}` : JSON.stringify(addresses));
    });
  });
}

describe('the guard of targets', () => {
  it('lets public addresses pass, on the ports of the web', () => {
    for (const url of ['https://erp.example.com/hook', 'http://8.8.8.8', 'https://[2606:4700::1]'])
      expect(closed.check(url).href).toContain(url);
  });

  it.each([
    'http://127.0.0.1/',
    'http://127.8.9.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://localhost/',
    'http://a.localhost/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://0.0.0.0/',
    'http://10.1.2.3/',
    'http://172.31.0.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://100.64.0.1/',
    'http://[::ffff:10.0.0.1]/',
    'http://[64:ff9b::a00:1]/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
    'http://[2002:a00:1::]/',
    'http://224.0.0.1/',
    'https://example.com:8443/',
    'https://user:secret@example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'no url',
    `https://example.com/${'x'.repeat(3_000)}`,
  ])('refuses %s', (url) => {
    expect(() => closed.check(url)).toThrow('cannot be an endpoint');
  });

  it('opens loopback when told so, on any port, and nothing else', () => {
    expect(open.check('http://127.0.0.1:8080/').port).toBe('8080');
    expect(open.check('http://[::1]:8080/').port).toBe('8080');
    expect(() => open.check('http://10.0.0.1/')).toThrow('not public');
    expect(() => open.check('http://[::ffff:10.0.0.1]/')).toThrow('not public');
  });

  it('refuses a name that leads to this machine', async () => {
    expect(await resolve(closed, 'localhost')).toMatch(/^refused: .*not public/);
    expect(await resolve(open, 'localhost')).toMatch(/127\.0\.0\.1|::1/);
  });

  it('refuses a name when any of its addresses is not public', async () => {
    expect(await resolve(guardWith('8.8.8.8', '2606:4700::1'), 'erp.example.com')).toMatch(/8.8.8/);
    for (const address of ['127.0.0.1', '10.0.0.1', '::1', '::ffff:192.168.0.1', 'fd00::1'])
      expect(await resolve(guardWith('8.8.8.8', address), 'erp.example.com')).toMatch(/^refused/);
    expect(await resolve(guardWith(), 'erp.example.com')).toMatch(/no address/);
  });

  it('stands between a public name and the connection', async () => {
    const sender = createSender(guardWith('127.0.0.1'), systemClock());
    const answer = await sender.send('http://erp.example.com/', {}, Buffer.from('{}'));
    expect(answer).toMatchObject({ status: 0, body: expect.stringMatching(/not public/) });
    await sender.close();
  });

  it('stands before every attempt, also when the endpoint was entered earlier', async () => {
    const { relay, receiver } = await startBench();
    const { id } = relay.createEndpoint({ url: receiver.url.replace('127.0.0.1', 'localhost') });
    relay.ping(id);
    await relay.idle();
    expect(receiver.requests).toHaveLength(1);
    await expect(
      startBench({ allowLoopback: false }).then((bench) =>
        bench.relay.createEndpoint({ url: receiver.url }),
      ),
    ).rejects.toThrow('points at the relay itself');
  });
});
