import { isIP } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createSender } from '../../../src/reference/relay/delivery/sender.ts';
import { createTargetGuard } from '../../../src/reference/relay/delivery/target.ts';
import { startBench } from './support.ts';

const guard = createTargetGuard();

/** A guard whose resolver knows every name by these addresses. */
function guardWith(...addresses: string[]) {
  const answer = addresses.map((address) => ({ address, family: isIP(address) }));
  return createTargetGuard((_name, _options, done) => done(null, answer));
}

function resolve(by: typeof guard, name: string): Promise<string> {
  return new Promise((done) => {
    by.lookup(name, { all: true }, (error, addresses) => {
      done(error ? `refused: ${error.message}` : JSON.stringify(addresses));
    });
  });
}

describe('the guard of targets', () => {
  it('lets public addresses pass, on the ports of the web', () => {
    for (const url of ['https://erp.example.com/hook', 'http://8.8.8.8', 'https://[2606:4700::1]'])
      expect(guard.check(url).href).toContain(url);
  });

  it.each([
    'http://0.0.0.0/',
    'http://10.1.2.3/',
    'http://172.31.0.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://100.64.0.1/',
    'http://[::ffff:10.0.0.1]/',
    'http://[64:ff9b::a00:1]/',
    'http://[::ffff:0:a00:1]/',
    'http://[fec0::1]/',
    'http://192.88.99.1/',
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
    expect(() => guard.check(url)).toThrow('cannot be an endpoint');
  });

  it.each(['127.0.0.1', '127.8.9.1', '0x7f.1', '[::1]', 'localhost', 'a.localhost'])(
    'lets %s pass on any port: it is this machine',
    (host) => {
      expect(guard.check(`http://${host}:8080/`).port).toBe('8080');
    },
  );

  it('resolves the name of this machine', async () => {
    expect(await resolve(guard, 'localhost')).toMatch(/127\.0\.0\.1|::1/);
  });

  it('refuses a name when any of its addresses is not public', async () => {
    expect(await resolve(guardWith('8.8.8.8', '2606:4700::1'), 'erp.example.com')).toMatch(/8.8.8/);
    for (const address of ['10.0.0.1', '::ffff:192.168.0.1', 'fd00::1'])
      expect(await resolve(guardWith('8.8.8.8', address), 'erp.example.com')).toMatch(/^refused/);
    expect(await resolve(guardWith(), 'erp.example.com')).toMatch(/no address/);
  });

  it('stands between a public name and the connection', async () => {
    const sender = createSender(guardWith('10.0.0.1'), systemClock());
    const answer = await sender.send('http://erp.example.com/', {}, Buffer.from('{}'));
    expect(answer).toMatchObject({ status: 0, body: expect.stringMatching(/not public/) });
    await sender.close();
  });

  it('lets a message to a name of this machine arrive', async () => {
    const { relay, receiver } = await startBench();
    relay.createEndpoint({ url: receiver.url.replace('127.0.0.1', 'localhost') });
    relay.publish('ping', { ping: 1 });
    await relay.idle();
    expect(receiver.requests).toHaveLength(1);
  });
});
