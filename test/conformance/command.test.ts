import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../src/reference/reference.ts';
import { repositoryRoot } from '../support/source.ts';

function command(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const script = join(repositoryRoot, 'test/conformance/run.ts');
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [script, ...args], (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, out, err }),
    );
  });
}

describe('npm run conformance', () => {
  let reference: Reference;
  beforeAll(async () => {
    reference = await startReference({
      host: '127.0.0.1',
      ports: { service: 0, relay: 0, control: 0 },
      knobs: parseKnobs({
        world: { brands: 2, styles: 10, orders: 60, accounts: 3 },
        paging: { orders: 20 },
      }),
      clock: systemClock(),
      log: silentLogger(),
    });
  });
  afterAll(() => reference.close());

  it('reads an account, reports what differs and exits by it', async () => {
    const { clientId, clientSecret } = reference.credentials.plain ?? {};
    const args = ['--v1', `${reference.v1Url}/`, '--key', `${clientId}:${clientSecret}`];
    const { code, out } = await command(...args);
    expect(out).toContain('DIFFERS  v1-orders-page (chosen): a page has 50 orders');
    expect(out).toContain('paging:\n  orders: 20');
    expect(out).toContain('not tried  v2-style: no --v2 was given');
    expect(out).not.toContain(clientSecret);
    expect(code).toBe(0);
    expect(reference.edge.journal.list({ method: 'POST' })).toHaveLength(1);
  });

  it('says how it is used when something is missing', async () => {
    const { code, err } = await command('--v1', 'http://127.0.0.1:1');
    expect([code, err]).toEqual([2, expect.stringContaining('usage: npm run conformance')]);
  });
});
