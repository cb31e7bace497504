import { describe, expect, it } from 'vitest';
import { createTargetGuard } from '../../../src/reference/relay/delivery/target.ts';
import { startBench } from './support.ts';

const closed = createTargetGuard({ allowLoopback: false });
const open = createTargetGuard({ allowLoopback: true });

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
