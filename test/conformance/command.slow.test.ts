/** The suite as a command: account, header and secrets are those of the configuration. */
import { describe, expect, it } from 'vitest';
import { selvedge } from '../cli/support.ts';
import { type Knobs, startAccount, writeAccount } from '../probe/support.ts';

async function conformance(knobs: Knobs, more = '', ...args: readonly string[]) {
  const reference = await startAccount(knobs);
  const { file, clientSecret } = writeAccount(reference, more);
  const run = await selvedge(['conformance', '--config', file, ...args]);
  return { reference, run, clientSecret };
}

describe('selvedge conformance', () => {
  it('reads an account, reports what differs and exits by it', async () => {
    const knobs = { world: { orders: 60 }, paging: { orders: 20 } };
    const { reference, run, clientSecret } = await conformance(knobs);
    expect(run.stdout).toContain('DIFFERS  v1-orders-page (chosen): a page has 50 orders');
    expect(run.stdout).toContain('paging:\n  orders: 20');
    expect(run.stdout).toContain('not tried  v2-style: service.v2 is not enabled');
    expect(run.stdout + run.stderr).not.toContain(clientSecret);
    expect(run.code).toBe(0);
    const posts = reference.edge.journal.list({ method: 'POST' });
    expect(posts.map(({ path }) => path)).toEqual(['/api/v1/auth/login']);
  });

  it('enters as the configuration says, and names what is not the usual way', async () => {
    const knobs = { deviations: { tokenHeader: 'x-own-token' }, dialect: { bearer: true } };
    const way = '    tokenHeader: X-Own-Token\n    tokenScheme: bearer';
    const { run } = await conformance(knobs, way, '--json');
    const { results } = JSON.parse(run.stdout);
    const differing = results.filter(({ outcome }: { outcome: string }) => outcome === 'differs');
    expect(differing).toEqual([
      expect.objectContaining({
        id: 'v1-token-header',
        observed: 'it goes in X-Own-Token, as Bearer',
      }),
    ]);
    expect(run.code).toBe(0);
  });

  it.each([
    ['one style and no order', { styles: 1, colors: 1, sizes: 1, orders: 0, brands: 1 }],
    ['a handful of everything', { styles: 3, colors: 1, sizes: 2, orders: 4, brands: 2 }],
  ])('finds no fault with a small world: %s', async (_what, world) => {
    const { run } = await conformance({ world, life: { ordersPerMinute: 0 } });
    expect(run.stdout).not.toContain('DIFFERS');
    expect(run.code).toBe(0);
  });

  it('says what is missing in the configuration', async () => {
    const { code, stderr } = await selvedge(['conformance', '--config', '/none.yaml']);
    expect(code).toBe(78);
    expect(stderr).toContain('/none.yaml');
  });
});
