import { expect, it } from 'vitest';
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

const HOLD_SHORT = `
rules:
  - id: accept-small
    title: Small
    action: accept
    mode: live
    when:
      - delivery.quantity <= 20
  - id: hold-short
    title: Not in stock
    action: hold
    mode: MODE
    when:
      - delivery.lines.exists(line, line.stock_free < line.quantity)
`;

it('a delivery waits for the first stock only where a live rule on it could decide', async () => {
  const fixture = await createDeciderFixture();
  await fixture.delivery({ id: 7 });
  const first =
    'hold: safeguard freshness: waits for the first stock; see: selvedge sync show stock';
  expect(await fixture.decide(partsOf(ACCEPT_COVERED))).toEqual(['7 hold']);
  expect(await fixture.decide(partsOf(HOLD_SHORT.replace('MODE', 'live')))).toEqual([]);
  expect(await reasons(fixture)).toEqual([first]);
  expect(await fixture.decide(partsOf(HOLD_SHORT.replace('MODE', 'shadow')))).toEqual(['7 accept']);
});

it('rows of a stock that was never complete are no facts', async () => {
  const fixture = await createDeciderFixture();
  await fixture.stock({ a: 100 });
  await fixture.store.db.updateTable('stream_state').set({ complete_at: null }).execute();
  await fixture.delivery({ id: 7 });
  const parts = partsOf(HOLD_SHORT.replace('MODE', 'live'));
  expect(await fixture.decide(parts)).toEqual(['7 hold']);
  await fixture.stock({ a: 100 });
  expect(await fixture.decide(parts)).toEqual(['7 accept']);
});

it('a wait for a first pull is an incident after five minutes, with the number', async () => {
  const fixture = await createDeciderFixture();
  await fixture.delivery({ id: 7 });
  await fixture.delivery({ id: 8 });
  const watching = '{ id: watch, title: W, action: hold, when: [order.comment == "x"] }';
  const parts = partsOf(`${ACCEPT_COVERED}  - ${watching}\n`);
  expect(await fixture.decide(parts)).toEqual(['7 hold', '8 hold']);
  await fixture.clock.advance(4 * 60_000);
  // It is journaled again for the rule that only watches, and has waited as long as before.
  await fixture.order(1, { comment: 'x' });
  expect(await fixture.decide(parts)).toEqual(['7 hold', '8 hold']);
  expect(await openIncidents(fixture)).toEqual([]);
  await fixture.clock.advance(60_000);
  await fixture.decide(parts);
  const [incident] = await openIncidents(fixture);
  expect(JSON.parse(incident?.detail ?? '')).toEqual({
    says: expect.stringMatching(
      /^2 deliveries wait for the first complete pull of stock, .* since/,
    ),
    advice: 'selvedge sync show stock',
    rows: 2,
  });
  await fixture.stock({ a: 100 });
  expect(await fixture.decide(parts)).toEqual(['7 accept', '8 accept']);
  await fixture.decide(parts);
  expect(await openIncidents(fixture)).toEqual([]);
});

it('stock of a stream that is off accepts nothing until the rules give it an age', async () => {
  const fixture = await createDeciderFixture();
  await fixture.stock({ a: 100 });
  await fixture.clock.advance(HOUR_MS - 1_000);
  await fixture.delivery({ id: 6 });
  // What was read within the last hour is still so.
  expect(await fixture.decide({ ...partsOf(ACCEPT_COVERED), freshness: {} })).toEqual(['6 accept']);
  await fixture.clock.advance(239 * HOUR_MS);
  await fixture.delivery({ id: 7 });
  for (const text of [ACCEPT_COVERED, HOLD_SHORT.replace('MODE', 'live')]) {
    await fixture.decide({ ...partsOf(text), freshness: {} });
  }
  const said = new Set((await reasons(fixture)).slice(1));
  expect([...said]).toEqual([
    'hold: safeguard freshness: stock is switched off, and nothing says how old it may be; ' +
      'see: safeguards.accept.freshness.stock',
  ]);
  expect(await openIncidents(fixture)).toMatchObject([{ kind: 'accepts_wait', key: 'stock' }]);
  const settings = 'version: 1\nsafeguards: { accept: { freshness: { stock: 20d } } }\n';
  const aged = { ...partsOf(ACCEPT_COVERED, settings), freshness: {} };
  expect(await fixture.decide(aged)).toEqual(['6 accept', '7 accept']);
});

const ACCEPT_UNBLOCKED = `
rules:
  - id: accept-unblocked
    title: Not blocked
    action: accept
    mode: live
    when:
      - customer.blocked == false
`;

it('customers that the ERP has not renewed for a week are no reason to accept', async () => {
  const fixture = await createDeciderFixture();
  await fixture.customer({ asOf: null });
  await fixture.order(1, { shippingAddress: { accountNo: 'C-1' } });
  await fixture.clock.advance(9 * 24 * HOUR_MS);
  await fixture.delivery({ id: 7 });
  const parts = partsOf(ACCEPT_UNBLOCKED);
  expect(await fixture.decide(parts)).toEqual(['7 hold']);
  await fixture.decide(parts);
  expect(await openIncidents(fixture)).toMatchObject([{ kind: 'accepts_wait', key: 'customers' }]);
  await fixture.customer({ accountNo: 'C-2' });
  expect(await fixture.decide(parts)).toEqual(['7 accept']);
  await fixture.decide(parts);
  expect(await openIncidents(fixture)).toEqual([]);
});

it('an accept by a rule that reads credit waits while the figures are old', async () => {
  const fixture = await createDeciderFixture();
  const shippingAddress = { accountNo: 'C-1' };
  await fixture.customer({ asOf: fixture.clock.now() - 27 * HOUR_MS });
  await fixture.order(1, { shippingAddress });
  await fixture.delivery({ id: 7 });
  const parts = partsOf(ACCEPT_CREDIT);
  expect(await fixture.decide(parts)).toEqual(['7 hold']);
  await fixture.decide(parts);
  expect(await openIncidents(fixture)).toMatchObject([{ kind: 'accepts_wait', key: 'credit' }]);
  await fixture.customer({ asOf: fixture.clock.now() - HOUR_MS });
  await fixture.clock.advance(HOUR_MS);
  expect(await fixture.decide(parts)).toEqual(['7 accept']);
});

const ACCEPT_PRICED = `
rules:
  - id: accept-priced
    title: Listed or not
    action: accept
    mode: live
    when: [ 'delivery.lines.all(line, !has(line.list_price) || line.list_price > 0)' ]
`;

it('an accept by prices waits for the list that they are of, and of a known age', async () => {
  const fixture = await createDeciderFixture();
  const rules = () => loadedRules(ACCEPT_PRICED);
  const parts = { rules, freshness: { stock: HOUR_MS, season: HOUR_MS, seasons: HOUR_MS } };
  await fixture.order(1, { SeasonName: 'AW27' });
  await fixture.complete('stock', 'season', 'seasons');
  await fixture.clock.advance(HOUR_MS + 1);
  await fixture.complete('stock');
  await fixture.delivery({ id: 7 });
  await fixture.delivery({ id: 8, order: 2 });
  // One is a pre-order, with prices of its season.
  expect(await fixture.decide(parts)).toEqual(['7 hold', '8 accept']);
  const fresh = 'hold: safeguard freshness: waits for fresh season; see: selvedge sync show season';
  expect(await reasons(fixture)).toContain(fresh);
  const ahead = { complete_at: fixture.clock.now() + 1 };
  await fixture.store.db.updateTable('stream_state').set(ahead).execute();
  expect(await fixture.decide(parts)).toEqual([]);
  await fixture.complete('season');
  expect(await fixture.decide(parts)).toEqual(['7 accept']);
});
