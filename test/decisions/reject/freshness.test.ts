/** How fresh must be what a reject rests on, where it is read from one row or many. */
import { describe, expect, it } from 'vitest';
import { watch } from '../support.ts';
import {
  createRejectFixture,
  DAY,
  HOUR,
  type RejectFixture,
  settingsWith,
  UNLUCKY,
} from './support.ts';

const MINUTE = 60_000;

/** With a field of the ERP's customers, and a list of them. */
function settingsOfErp(safeguards: object): string {
  const settings = JSON.parse(settingsWith({}, safeguards));
  const blocked = { from: 'erp_customer.account_no', where: 'blocked', sample: ['C-1'] };
  const lists = { ...settings.lists, blocked };
  return JSON.stringify({ ...settings, lists, customer_fields: { risk: 'whole number' } });
}

/** Delivery 1 waits, by a rule that asks this about its lines, too; its grace is over. */
async function afterGraceOf(
  clause: string,
  stock: (rejects: RejectFixture) => Promise<void>,
  safeguards: object = {},
  parts: Parameters<RejectFixture['execute']>[0] = {},
) {
  const [before, after] = UNLUCKY.split('      - order.country in');
  const text = `${before}      - '${clause}'\n      - order.country in${after}`;
  const rejects = await createRejectFixture(text, settingsOfErp(safeguards));
  const { clock, store } = rejects;
  const [rule] = rejects.rules().ruleSet.rules;
  const arming = { rule_id: rule?.id ?? '', rule_hash: rule?.hash ?? '', reason: '', actor: 'x' };
  const open = { ended_at: null, ended_by: null, end_reason: null, report_id: 1 };
  await store.db
    .insertInto('arming')
    .values({ ...arming, ...open, at: 0, expires_at: clock.now() + 9 * DAY })
    .execute();
  await stock(rejects);
  await rejects.unlucky(1);
  expect(await rejects.decide()).toEqual(['1 reject']);
  await clock.advance(DAY);
  await rejects.fresh();
  await rejects.execute(parts);
  return rejects;
}

describe('a reject that rests on the stock', () => {
  it.each([
    'delivery.lines.exists(line, line.stock_free == 0)',
    'delivery.lines.exists(line, line.missing > 0)',
  ])('waits for a pull of it: %s', async (clause) => {
    const rejects = await afterGraceOf(clause, (fixture) => fixture.stock({ a: 0 }));
    expect((await rejects.entry()).detail).toBe('the stock is 1d old, allowed are 60m');
    await rejects.stock({ a: 0 });
    await rejects.clock.advance(10 * MINUTE);
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });

  it.each(['60m', '26h'])('waits for one by a clock that is right, within %s', async (within) => {
    const clause = 'delivery.lines.exists(line, line.stock_free == 0)';
    const setBack = async ({ clock, stock }: RejectFixture) => {
      clock.step(30 * DAY);
      await stock({ a: 0 });
      clock.step(-30 * DAY);
    };
    const rejects = await afterGraceOf(clause, setBack, { freshness: { stock: within } });
    expect((await rejects.entry()).detail).toBe('the stock: its age is not known');
    // Nor is it known by a start that follows.
    await watch(rejects);
    await rejects.clock.advance(10 * MINUTE);
    await rejects.fresh();
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual([]);
  });
});

describe('a reject that rests on the list price', () => {
  const clause = 'delivery.lines.exists(line, line.list_price_diff_pct > 5)';
  const details = { styleNo: 'S-1', wspPrice: 80, currency: 'DKK' };
  const price = { a: { details } };

  it('waits for it to be as fresh as an accept needs it', async () => {
    const listed = (rejects: RejectFixture) => rejects.stock({ a: 99 }, price);
    const rejects = await afterGraceOf(clause, listed, {}, { freshness: { stock: HOUR } });
    expect(await rejects.entry()).toMatchObject({
      ...{ state: 'waiting', safeguard: 'freshness' },
      detail: 'waits for fresh stock; see: selvedge sync show stock',
    });
    await listed(rejects);
    await rejects.clock.advance(10 * MINUTE);
    await rejects.execute({ freshness: { stock: HOUR } });
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });

  it('waits while the stream is switched off and nothing says how old it may be', async () => {
    const listed = (rejects: RejectFixture) => rejects.stock({ a: 99 }, price);
    const rejects = await afterGraceOf(clause, listed, {}, { freshness: {} });
    expect((await rejects.entry()).detail).toMatch(/^stock is switched off/);
    expect(await rejects.intendedPushes()).toEqual([]);
  });
});

describe('a reject that rests on what the ERP says of the customer', () => {
  const silent = { creditLimit: null, balance: null, overdueDays: null };

  it.each(['customer.blocked', 'customer.extra.risk > 3', 'order.account_no in lists.blocked'])(
    'waits for a young row: %s',
    async (clause) => {
      const blocked = (rejects: RejectFixture) =>
        rejects.customer({
          ...silent,
          blocked: true,
          extra: { risk: 5 },
          asOf: rejects.clock.now(),
        });
      const rejects = await afterGraceOf(clause, async (fixture) => {
        await blocked(fixture);
        await fixture.clock.advance(3 * HOUR);
      });
      expect((await rejects.entry()).detail).toBe(
        'the ERP’s row of the customer (as_of) is 1d 3h old, allowed are 26h',
      );
      expect(await rejects.intendedPushes()).toEqual([]);
      await blocked(rejects);
      await rejects.clock.advance(10 * MINUTE);
      await rejects.execute();
      expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
    },
  );

  it('waits where the ERP does not know the customer: nobody can say since when', async () => {
    const rejects = await afterGraceOf('!has(customer.account_no)', async () => undefined);
    expect((await rejects.entry()).detail).toBe(
      'the ERP’s row of the customer (as_of): its age is not known',
    );
    expect(await rejects.intendedPushes()).toEqual([]);
  });
});

describe('arming a rule that reads the customer', () => {
  const BLOCKED = `
rules:
  - id: reject-blocked
    title: Nobody delivers to them
    action: reject
    mode: live
    when: [ customer.blocked ]
    tests:
      - { name: blocked, given: { customer: { blocked: true } }, expect: reject }
      - { name: not blocked, given: { customer: { blocked: false } }, expect: none }
`;

  it('tells for how many customers it cannot reject', async () => {
    const rejects = await createRejectFixture(BLOCKED, settingsWith({ matches_seen: 0 }));
    const warnings = async () => (await rejects.arm()).warnings;
    expect(await warnings()).toEqual([
      'the ERP has sent no customer yet: until then it rejects nothing',
    ]);
    await rejects.customer({ asOf: null });
    expect(await warnings()).toEqual([
      '1 of 1 customers of the ERP have no as_of: rejects for these wait, and are never sent',
    ]);
    await rejects.customer({ asOf: rejects.clock.now() });
    expect(await warnings()).toEqual([]);
  });

  it('tells nothing of them for a rule that does not', async () => {
    const rejects = await createRejectFixture();
    await rejects.unlucky(1);
    await rejects.decide();
    expect((await rejects.arm()).warnings).toEqual([]);
  });
});

describe('the mirror', () => {
  it('is as fresh as the last event, whatever came while the clock was ahead', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.clock.advance(DAY);
    const event = (event_id: string, received_at: number) =>
      rejects.store.db
        .insertInto('webhook_event')
        .values({
          ...{ event_id, received_at, sent_at: 0, type: null, order_id: null },
          ...{ body: Buffer.of(), secret_name: '', last_duplicate_at: null, outcome: 'stored' },
        })
        .execute();
    await event('ahead', rejects.clock.now() + HOUR);
    await event('old', rejects.clock.now() - 16 * MINUTE);
    await rejects.execute();
    expect((await rejects.entry()).detail).toBe('the mirror is 16m old, allowed are 15m');
    await event('new', rejects.clock.now());
    await rejects.clock.advance(5 * MINUTE);
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });

  it('is as old as the oldest order that is to be read', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.clock.advance(DAY);
    const asked = { due_at: 0, cause: 'event:1' };
    await rejects.store.db
      .insertInto('refresh')
      .values([
        { ...asked, order_id: 77, requested_at: rejects.clock.now() - 16 * MINUTE },
        { ...asked, order_id: 78, requested_at: rejects.clock.now() },
      ])
      .execute();
    await rejects.fresh();
    await rejects.execute();
    expect((await rejects.entry()).detail).toMatch(/^an order to be read is 16m old/);
    expect(await rejects.intendedPushes()).toEqual([]);
  });
});
