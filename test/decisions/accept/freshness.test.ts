import { expect, it } from 'vitest';
import { silentLogger } from '../../../src/lib/log.ts';
import { ACCEPT_COVERED, ACCEPT_SMALL, createDeciderFixture, loadedRules } from '../support.ts';

const HOUR_MS = 3_600_000;

const ACCEPT_CREDIT = `
rules:
  - id: accept-credit
    title: Within the credit
    action: accept
    mode: live
    when:
      - customer.credit.currency == "DKK"
      - customer.credit.headroom > 0
`;

function partsOf(text: string, settings?: string) {
  const rules = loadedRules(text, settings);
  return { rules: () => rules, freshness: { stock: HOUR_MS } };
}

async function reasons({ store }: Awaited<ReturnType<typeof createDeciderFixture>>) {
  const rows = await store.db
    .selectFrom('decision')
    .select(['outcome', 'reason'])
    .orderBy('decision_id')
    .execute();
  return rows.map(({ outcome, reason }) => `${outcome}: ${reason}`);
}

function openIncidents({ store }: Awaited<ReturnType<typeof createDeciderFixture>>) {
  return store.db
    .selectFrom('incident')
    .select(['kind', 'key', 'detail'])
    .where('resolved_at', 'is', null)
    .execute();
}

it('an accept by a rule that reads stock waits while the stock is old, then goes', async () => {
  const fixture = await createDeciderFixture();
  await fixture.stock({ a: 100 });
  await fixture.clock.advance(2 * HOUR_MS);
  await fixture.delivery({ id: 7 });
  const parts = partsOf(ACCEPT_COVERED);
  expect(await fixture.decide(parts)).toEqual(['7 hold']);
  expect(await openIncidents(fixture)).toMatchObject([
    {
      kind: 'accepts_wait',
      key: 'stock',
      detail: expect.stringContaining('selvedge sync show stock'),
    },
  ]);
  await fixture.clock.advance(HOUR_MS);
  expect(await fixture.decide(parts)).toEqual([]);
  expect(await reasons(fixture)).toEqual([
    'hold: safeguard freshness: waits for fresh stock; see: selvedge sync show stock',
  ]);
  await fixture.stock({ a: 100 });
  expect(await fixture.decide(parts)).toEqual(['7 accept']);
  expect(await openIncidents(fixture)).toEqual([]);
});

it('an accept by a rule that reads no stock goes on while the stock is old', async () => {
  const fixture = await createDeciderFixture();
  await fixture.stock({ a: 100 });
  await fixture.clock.advance(2 * HOUR_MS);
  await fixture.delivery({ id: 7 });
  expect(await fixture.decide(partsOf(ACCEPT_SMALL))).toEqual(['7 accept']);
  expect(await openIncidents(fixture)).toEqual([]);
});

it('the rules may set another age of the stock than its target', async () => {
  const fixture = await createDeciderFixture();
  await fixture.stock({ a: 100 });
  await fixture.clock.advance(2 * HOUR_MS);
  await fixture.delivery({ id: 7 });
  const settings = 'version: 1\nsafeguards: { accept: { freshness: { stock: 3h } } }\n';
  expect(await fixture.decide(partsOf(ACCEPT_COVERED, settings))).toEqual(['7 accept']);
});

it('nothing is decided until the streams that the rules read were complete once', async () => {
  const fixture = await createDeciderFixture();
  await fixture.delivery({ id: 7 });
  const lines: string[] = [];
  const info = (text: unknown) => void lines.push(String(text));
  const parts = partsOf(ACCEPT_COVERED);
  expect(await fixture.decide({ ...parts, log: { ...silentLogger(), info } })).toEqual([]);
  expect(await fixture.decisions()).toEqual([]);
  expect(lines).toEqual(['waits for the first stock']);
  await fixture.stock({ a: 100 });
  expect(await fixture.decide(parts)).toEqual(['7 accept']);
});

it('an accept by a rule that reads credit waits while the figures are old', async () => {
  const fixture = await createDeciderFixture();
  const shippingAddress = { accountNo: 'C-1' };
  await fixture.customer({ asOf: fixture.clock.now() - 27 * HOUR_MS });
  await fixture.order(1, { shippingAddress });
  await fixture.delivery({ id: 7 });
  const parts = partsOf(ACCEPT_CREDIT);
  expect(await fixture.decide(parts)).toEqual(['7 hold']);
  await fixture.customer({ asOf: fixture.clock.now() - HOUR_MS });
  await fixture.clock.advance(HOUR_MS);
  expect(await fixture.decide(parts)).toEqual(['7 accept']);
});
