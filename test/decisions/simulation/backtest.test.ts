import { beforeEach, describe, expect, it } from 'vitest';
import { createReview } from '../../../src/decisions/review/review.ts';
import {
  type Backtest,
  type BacktestOptions,
  backtest,
} from '../../../src/decisions/simulation/backtest.ts';
import { backtestJson, formatBacktest } from '../../../src/decisions/simulation/backtest-text.ts';
import { rulesOf } from '../../rules/support.ts';
import {
  ACCEPT_COVERED,
  ACCEPT_SMALL,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from '../support.ts';

/** ACCEPT_SMALL with another limit. */
const limit = (pieces: number): string => ACCEPT_SMALL.replaceAll('20', String(pieces));

const REJECT_LARGE = `${ACCEPT_SMALL.replace('> 20', '> 100')}
  - id: reject-large
    title: Too large
    action: reject
    mode: live
    when:
      - delivery.quantity > 20
    message: '{{delivery.quantity}} pieces are too many'
`;

let fixture: DeciderFixture;
beforeEach(async () => {
  fixture = await createDeciderFixture();
});

function run(options: BacktestOptions, period = {}): Promise<Backtest> {
  const all = { since: 0, until: fixture.clock.now() + 1, ...period };
  return backtest(fixture.store.db, all, options);
}

async function pack(id: number, pieces: number, more = {}): Promise<void> {
  await fixture.delivery({ id, lines: [['a', pieces]], more: { deliveryNo: `D-${id}`, ...more } });
}

const kinds = ({ changes }: Backtest) =>
  changes.map(({ from, to, deliveries }) => `${from} -> ${to} ${deliveries}`);

describe('a backtest', () => {
  it('finds nothing changed under the rules that decided, whatever is in stock', async () => {
    await fixture.stock({ a: 40 });
    for (const [id, pieces] of [
      [1, 30],
      [2, 20],
      [3, 5],
    ] as const)
      await pack(id, pieces);
    const covered = loadedRules(ACCEPT_COVERED);
    const decided = await fixture.decide({ rules: () => covered });
    expect(decided).toEqual(['1 accept', '2 hold', '3 hold']);
    await fixture.clock.advance(60_000);
    await fixture.stock({ a: 1 });
    const report = await run({ rules: rulesOf(ACCEPT_COVERED) });
    expect(report).toMatchObject({ deliveries: 3, decisions: 3, changes: [], against: null });
  });

  it('shows what would be decided otherwise, with amounts and examples', async () => {
    for (const [id, pieces] of [
      [1, 30],
      [2, 10],
      [3, 12],
      [4, 2],
    ] as const)
      await pack(id, pieces);
    await fixture.decide();
    const report = await run({ rules: rulesOf(limit(5)) });
    expect(report.changes).toEqual([
      {
        from: 'accept',
        to: 'hold',
        deliveries: 2,
        amounts: { DKK: 2_200_0000 },
        examples: ['D-2', 'D-3'],
      },
    ]);
    expect(formatBacktest(report)).toContain(
      'changed decisions\n   accept -> hold  2 deliveries  2200.00 DKK  e.g. D-2 D-3\n',
    );
  });

  it('lets a delivery end at the first facts on which it is accepted', async () => {
    await fixture.stock({ a: 1 });
    await pack(1, 2);
    const covered = loadedRules(ACCEPT_COVERED);
    await fixture.decide({ rules: () => covered });
    await fixture.clock.advance(900_000);
    await fixture.stock({ a: 9 });
    const decided = await fixture.decide({ rules: () => covered });
    expect(decided).toEqual(['1 accept']);
    const same = await run({ rules: rulesOf(ACCEPT_COVERED) });
    expect(same).toMatchObject({ deliveries: 1, decisions: 2, changes: [] });
    expect(same.agreement).toMatchObject([{ outcome: 'accept', deliveries: 1 }]);
    const early = await run({ rules: rulesOf(ACCEPT_COVERED) }, { until: fixture.clock.now() });
    expect(early.agreement).toMatchObject([{ outcome: 'hold', deliveries: 1 }]);
  });

  it('knows of the holds that had lasted their time, and then said accept', async () => {
    const timing = 'hold: { at_most: 3h, then: accept }\n    message:';
    const text = ACCEPT_SMALL.replace('message:', timing);
    const rules = loadedRules(text);
    await pack(1, 30);
    await fixture.decide({ rules: () => rules });
    await fixture.clock.advance(3 * 3_600_000);
    expect(await fixture.decide({ rules: () => rules })).toEqual(['1 accept']);
    const same = await run({ rules: rulesOf(text) });
    expect(same).toMatchObject({ deliveries: 1, decisions: 2, changes: [] });
    const other = await run({ rules: rulesOf(text.replace('3h', '4h')) });
    expect(kinds(other)).toEqual(['accept -> hold 1']);
  });

  it('counts the time of a decision by the calendar of the rules on trial', async () => {
    const text = ACCEPT_SMALL.replace('delivery.quantity > 20', 'clock.business_hours');
    const [open, closed] = ['monday', 'sunday'].map(
      (day) => `version: 1\ncalendar: { days: [${day}] }\n`,
    );
    await pack(1, 30);
    const rules = loadedRules(text, closed);
    expect(await fixture.decide({ rules: () => rules })).toEqual(['1 no_rule']);
    expect((await run({ rules: rulesOf(text, closed) })).changes).toEqual([]);
    expect(kinds(await run({ rules: rulesOf(text, open) }))).toEqual(['no_rule -> hold 1']);
    const against = rulesOf(text, closed);
    expect(kinds(await run({ rules: rulesOf(text, open), against }))).toEqual([
      'no_rule -> hold 1',
    ]);
  });

  it('compares with another set instead of the journal', async () => {
    await pack(1, 10);
    await fixture.decide();
    const report = await run({ rules: rulesOf(limit(20)), against: rulesOf(limit(5)) });
    expect(kinds(report)).toEqual(['hold -> accept 1']);
    expect(report.against).toBe(rulesOf(limit(5)).hash);
  });

  it('tells every would-be reject in full, as if the rule were armed', async () => {
    for (const [id, pieces] of [
      [1, 30],
      [2, 10],
    ] as const)
      await pack(id, pieces);
    await fixture.decide();
    const rules = rulesOf(REJECT_LARGE);
    const report = await run({ rules });
    expect(kinds(report)).toEqual(['hold -> reject 1']);
    expect(report).toMatchObject({ rejectCount: 1, newRejects: 1 });
    const text = formatBacktest(report);
    expect(text).toContain('would be rejected: 1, new 1\nat stake: 3000.00 DKK\n');
    expect(text).toContain('D-1 => REJECT (reject rule)  reject-large\n');
    expect(text).toContain('delivery.quantity = 30');
    const both = await run({ rules, against: rules });
    expect(both).toMatchObject({ rejectCount: 1, newRejects: 0, changes: [] });
  });

  it('lets a delivery end at the first facts on which it is rejected', async () => {
    for (const pieces of [30, 10]) {
      await pack(1, pieces);
      await fixture.decide();
      await fixture.clock.advance(1_000);
    }
    const since = fixture.clock.now() - 2_000;
    const report = await run({ rules: rulesOf(REJECT_LARGE) }, { since });
    expect(report).toMatchObject({ decisions: 2, rejectCount: 1 });
    expect(kinds(report)).toEqual(['accept -> reject 1']);
  });

  it('counts rules that only watch as live when asked to', async () => {
    await pack(1, 10);
    await fixture.decide();
    const rules = rulesOf(limit(5).replaceAll('mode: live', 'mode: shadow'));
    expect(kinds(await run({ rules }))).toEqual(['accept -> no_rule 1']);
    expect(kinds(await run({ rules, shadowAsLive: true }))).toEqual(['accept -> hold 1']);
  });

  it('is one of the rules that had a say in it, and of no others', async () => {
    await pack(1, 30);
    await fixture.decide();
    const judged = async (text: string, shadowAsLive = false) =>
      Object.keys((await run({ rules: rulesOf(text), shadowAsLive })).judged);
    const reject = (more: string) =>
      REJECT_LARGE.replace(/action: reject\n.*/, `action: reject\n${more}`);
    const others = ['accept-small', 'hold-large'];
    expect(await judged(reject('    mode: live'))).toEqual([...others, 'reject-large']);
    expect(await judged(reject('    mode: shadow'))).toEqual(others);
    expect(await judged(reject('    mode: shadow'), true)).toEqual([...others, 'reject-large']);
    expect(await judged(reject('    mode: off'), true)).toEqual(others);
    const later = '    mode: live\n    effective_from: 2099-01-01';
    expect(await judged(reject(later))).toEqual(others);
  });

  it('names the rules that matched, could not be evaluated, or never matched', async () => {
    await pack(1, 10);
    await fixture.decide();
    const rules = rulesOf(`${ACCEPT_SMALL}
  - id: hold-overdue
    title: Owes us money
    action: hold
    when: [ customer.credit.overdue_days > 14 ]
`);
    const report = await run({ rules });
    const none = { unknown: 0, notGathered: 0 };
    expect(report.uses).toEqual([
      { id: 'accept-small', action: 'accept', mode: 'live', fired: 1, ...none },
      { id: 'hold-large', action: 'hold', mode: 'live', fired: 0, ...none },
      { id: 'hold-overdue', action: 'hold', mode: 'shadow', fired: 0, ...none, unknown: 1 },
    ]);
    expect(formatBacktest(report)).toContain('never matched: hold-large\n');
  });

  it('names rules that always match together, if that was more than once', async () => {
    const rules = rulesOf(`${ACCEPT_SMALL}
  - { id: hold-many, title: Many, action: hold, when: [ delivery.quantity > 21 ] }
  - { id: hold-more, title: More, action: hold, when: [ delivery.quantity > 35 ] }
  - { id: hold-none, title: None, action: hold, when: [ delivery.quantity > 99 ] }
`);
    await pack(1, 30);
    await fixture.decide();
    const once = await run({ rules });
    expect(once.together).toEqual([]);
    expect(formatBacktest(once)).toContain('\nalways matched together: none\n');
    for (const [id, pieces] of [
      [2, 10],
      [3, 40],
    ] as const)
      await pack(id, pieces);
    await fixture.decide();
    const report = await run({ rules });
    expect(report.together).toEqual([['hold-large', 'hold-many']]);
    const line = '\nalways matched together: hold-large + hold-many\n';
    expect(formatBacktest(report)).toContain(line);
  });

  it('tells how many deliveries, and how much money, another limit would let pass', async () => {
    for (const id of [1, 2, 3]) await pack(id, 10 * id);
    await fixture.decide();
    const [accept = ''] = limit(15).split('  - id: hold-large');
    const twice = accept.replace('<= 15', '<= 15\n      - delivery.quantity <= 18');
    expect((await run({ rules: rulesOf(twice) })).moves).toEqual([]);
    const report = await run({ rules: rulesOf(accept) });
    const pass = (deliveries: number, amount: number, examples: readonly string[]) => {
      return { deliveries, amounts: { DKK: amount }, examples };
    };
    expect(report.moves).toEqual([
      {
        id: 'accept-small',
        line: 8,
        clause: 'delivery.quantity <= 15',
        steps: [
          {
            text: 'with a limit of 20 instead of 15',
            limit: 20,
            pass: pass(1, 2000_0000, ['D-2']),
          },
          {
            text: 'with a limit of 30 instead of 15',
            limit: 30,
            pass: pass(2, 5000_0000, ['D-2', 'D-3']),
          },
        ],
      },
    ]);
    expect(formatBacktest(report)).toContain(
      'another limit would let pass\n   accept-small  line 8 delivery.quantity <= 15\n' +
        '     with a limit of 20 instead of 15  1 delivery    2000.00 DKK  e.g. D-2',
    );
    expect(backtestJson(report).moves[0]?.steps[1]?.pass.amounts).toEqual({ DKK: 5000 });
  });

  it('reads a long journal page by page, each delivery once', async () => {
    await pack(1, 10);
    await fixture.decide();
    const { db } = fixture.store;
    const row = await db.selectFrom('decision').selectAll().executeTakeFirstOrThrow();
    const { decision_id: _id, hash: _hash, ...values } = row;
    const rows = Array.from({ length: 450 }, (_, index) => ({
      ...values,
      order_delivery_id: 1_000 - index,
      hash: String(index),
    }));
    await db
      .insertInto('decision')
      .values(rows.concat(rows.map((one) => ({ ...one, hash: `${one.hash}b` }))))
      .execute();
    const report = await run({ rules: rulesOf(limit(5)) });
    expect(report).toMatchObject({ deliveries: 451, decisions: 901 });
    expect(kinds(report)).toEqual(['accept -> hold 451']);
  });

  it('leaves held what was held whatever the rules said', async () => {
    await pack(1, 10);
    await fixture.store.db.updateTable('sales_order').set({ deleted_at: 1 }).execute();
    expect(await fixture.decide()).toEqual(['1 hold']);
    for (const more of [{}, { against: rulesOf(ACCEPT_SMALL) }]) {
      const report = await run({ rules: rulesOf(ACCEPT_SMALL), ...more });
      expect(report).toMatchObject({ deliveries: 1, changes: [] });
      expect(report.agreement).toMatchObject([{ outcome: 'hold', deliveries: 1 }]);
    }
  });

  it('asks the rules about what they decided themselves, not about what people did', async () => {
    await pack(1, 10);
    await fixture.decide();
    await fixture.store.db.deleteFrom('outbox').execute();
    await fixture.clock.advance(1_000);
    await pack(1, 10, { status: 'accepted' });
    await fixture.clock.advance(1_000);
    await pack(1, 10);
    expect(await fixture.decide()).toEqual([]);
    const last = (await fixture.decisions()).at(-1);
    expect(last).toMatchObject({ id: 1, trigger: 'external' });
    const report = await run({ rules: rulesOf(ACCEPT_SMALL) }, { since: fixture.clock.now() });
    expect(report).toMatchObject({ deliveries: 0, changes: [] });
  });

  it('sets what the rules say beside what became of the deliveries', async () => {
    for (const id of [1, 2, 3, 4]) await pack(id, 10);
    await fixture.decide();
    await fixture.store.db
      .updateTable('outbox')
      .set({ state: 'sending', attempts: 1 })
      .where('ordering_key', '=', 'delivery/1')
      .execute();
    for (const state of ['sent', 'confirmed'] as const) {
      await fixture.store.db
        .updateTable('outbox')
        .set({ state })
        .where('ordering_key', '=', 'delivery/1')
        .execute();
    }
    // Somebody was faster: the push found its status there, and was not sent.
    await fixture.store.db
      .updateTable('outbox')
      .set({ state: 'confirmed' })
      .where('ordering_key', '=', 'delivery/4')
      .execute();
    for (const id of [1, 2, 4]) await pack(id, 10, { status: 'accepted' });
    const { agreement } = await run({ rules: rulesOf(limit(5)) });
    const rows = agreement.map((row) => `${row.outcome} / ${row.actual} ${row.deliveries}`);
    expect(rows.sort()).toEqual([
      'hold / accepted by people 2',
      'hold / accepted by the rules 1',
      'hold / pending 1',
    ]);
  });

  it('credits the rules with what they did themselves, and with nothing else', async () => {
    const { db } = fixture.store;
    const sent = async (id: number): Promise<void> => {
      for (const state of ['sending', 'sent'] as const) {
        const change = { state, attempts: 1 };
        const ofOne = db
          .updateTable('outbox')
          .set(change)
          .where('ordering_key', '=', `delivery/${id}`);
        await ofOne.execute();
      }
    };
    for (const id of [1, 2, 3]) await pack(id, 10);
    await pack(4, 30);
    expect(await fixture.decide()).toHaveLength(4);
    const rules = () => loadedRules(ACCEPT_SMALL);
    const nothing = () => undefined;
    const parts = {
      store: fixture.store,
      clock: fixture.clock,
      onPush: nothing,
      onReviewed: nothing,
    };
    const who = { actor: 'ada', reason: 'agreed' };
    await createReview({ ...parts, rules }).act({ ...who, action: 'accept', delivery: 'D-4' });
    for (const id of [1, 2, 3, 4]) await sent(id);
    await pack(1, 10, { status: 'accepted' });
    await pack(2, 10, { status: 'rejected' });
    const gone = db.updateTable('delivery').set({ deleted_at: 1 });
    await gone.where('order_delivery_id', '=', 3).execute();
    await pack(4, 30, { status: 'accepted' });
    const { agreement } = await run({ rules: rulesOf(ACCEPT_SMALL) });
    expect(agreement.map((row) => `${row.outcome} / ${row.actual}`).sort()).toEqual([
      'accept / accepted by the rules',
      'accept / gone',
      'accept / rejected by people',
      'hold / accepted by people',
    ]);
  });

  it('sees the fields of the ERP that each of two sets declares', async () => {
    const vip = `
rules:
  - { id: vip, title: V, action: accept, mode: live, when: [ customer.extra.vip ] }
`;
    const settings = 'version: 1\ncustomer_fields: { vip: true/false }\n';
    const [declares, small] = [loadedRules(vip, settings), rulesOf(ACCEPT_SMALL)];
    await fixture.customer({ extra: { vip: true } });
    await fixture.order(1, { shippingAddress: { accountNo: 'C-1' } });
    await pack(1, 30);
    expect(await fixture.decide({ rules: () => declares })).toEqual(['1 accept']);
    const other = await run({ rules: declares.ruleSet, against: small });
    expect(kinds(other)).toEqual(['hold -> accept 1']);
    const back = await run({ rules: small, against: declares.ruleSet });
    expect(kinds(back)).toEqual(['accept -> hold 1']);
  });
});
