import { describe, expect, it } from 'vitest';
import { unseenMatches } from '../../../src/decisions/reject/matches.ts';
import { decisionsOf } from '../../../src/decisions/review/deliveries.ts';
import { createRejectFixture, DAY, type RejectFixture, settingsWith, UNLUCKY } from './support.ts';

const WHO = { actor: 'ada', reason: 'agreed' };
const NOT_ARMED = 'rule reject-unlucky may not reject any more';

/** Lists the status to be set, its state, why it ended, and why it is not sent again. */
async function pushes({ store }: RejectFixture) {
  const rows = await store.db
    .selectFrom('outbox')
    .select(['body', 'state', 'last_error'])
    .orderBy('ordering_key')
    .execute();
  return rows.map(({ body, state, last_error: error }) => {
    const { orderDeliveryId, status, cancelRequested = null } = JSON.parse(body);
    return [`${orderDeliveryId} ${status}`, state, error, cancelRequested];
  });
}

describe('arming a reject rule', () => {
  it('asks for tests, a backtest and matches that somebody saw, all at once', async () => {
    const untested = UNLUCKY.replace(/ {6}- name: wanted all the same[\s\S]*?expect: none\n/, '');
    const rejects = await createRejectFixture(untested);
    const arm = rejects.operations.arm('reject-unlucky', DAY, WHO);
    await expect(arm).rejects.toMatchObject({ code: 'rules.not_ready' });
    await expect(arm).rejects.toThrow(/no test shows that this matters: unless order\.comment/);
    await expect(arm).rejects.toThrow(/no backtest is kept in which this text had a say/);
    await expect(arm).rejects.toThrow(/0 of 1 matches looked at/);
  });

  it('takes no report about another text or about nothing, and no other rule', async () => {
    const rejects = await createRejectFixture(UNLUCKY, settingsWith({ matches_seen: 0 }));
    const { operations } = rejects;
    const period = { since: 0, until: 1, report: {}, ruleSetHash: 'x' };
    await operations.keepReport(
      { ...period, deliveries: 9, rules: { 'reject-unlucky': 'f0' } },
      WHO,
    );
    const [rule] = rejects.rules().ruleSet.rules;
    const hashes = { 'reject-unlucky': rule?.hash ?? '' };
    await operations.keepReport({ ...period, deliveries: 0, rules: hashes }, WHO);
    await expect(operations.arm('reject-unlucky', DAY, WHO)).rejects.toThrow(/no backtest/);
    await expect(operations.arm('accept-kept', DAY, WHO)).rejects.toMatchObject({
      code: 'rules.no_reject_rule',
    });
    await expect(operations.arm('reject-unluky', DAY, WHO)).rejects.toMatchObject({
      hint: 'did you mean reject-unlucky?',
    });
  });

  it('refuses a rule that would only watch, armed or not', async () => {
    const rejects = await createRejectFixture(UNLUCKY.replace('mode: live', 'mode: shadow'));
    await expect(rejects.arm()).rejects.toThrow(/only watch/);
    const set = JSON.stringify({ ...JSON.parse(settingsWith({})), mode: 'shadow' });
    await expect((await createRejectFixture(UNLUCKY, set)).arm()).rejects.toThrow(/only watch/);
  });

  it('refuses a rule whose tests fail', async () => {
    const wrong = UNLUCKY.replace('quantity: 12 }', 'quantity: 14 }');
    const rejects = await createRejectFixture(wrong, settingsWith({ matches_seen: 0 }));
    await expect(rejects.arm()).rejects.toThrow(/its test "twelve" fails/);
  });

  it('counts each delivery once, and no match of another text or rule', async () => {
    const rejects = await createRejectFixture(UNLUCKY, settingsWith({ matches_seen: 2 }));
    await rejects.unlucky(1, {}, 13);
    expect(await rejects.decide()).toEqual(['1 hold']);
    // A person held it in between: the same delivery is a match a second time.
    await rejects.review.act({ action: 'hold', delivery: '1', actor: 'bo', reason: 'wait' });
    await rejects.unlucky(1, {}, 14);
    expect(await rejects.decide()).toEqual(['1 hold']);
    await rejects.unlucky(2, { comment: 'keep' });
    expect(await rejects.decide()).toEqual(['2 accept']);
    const journal = rejects.store.db.selectFrom('decision').select('decision_id');
    const ids = (await journal.orderBy('decision_id').execute()).map((row) => row.decision_id);
    const [first = 0, , second = 0, kept = 0] = ids;
    const matches = [first, second];
    const seen = (decisions: readonly number[]) =>
      rejects.operations.seen('reject-unlucky', decisions, WHO);
    await expect(seen([kept])).rejects.toMatchObject({ code: 'rules.no_match' });
    expect(await seen(matches)).toBe(1);
    await expect(rejects.arm()).rejects.toThrow(/1 of 2 matches looked at/);
    rejects.useRules(UNLUCKY.replace('[13, 14]', '[12, 13, 14]'));
    await expect(rejects.arm()).rejects.toThrow(/0 of 2 matches looked at/);
  });

  it('counts only matches of exactly this text that somebody saw', async () => {
    const rejects = await createRejectFixture();
    await rejects.unlucky(1);
    await rejects.unlucky(2, {}, 12);
    await rejects.decide();
    const [rule] = rejects.rules().ruleSet.rules;
    const matches = await unseenMatches(rejects.store.db, rule?.hash ?? '', { limit: 10 });
    expect(matches.map((match) => match.orderDeliveryId)).toEqual([1]);
    const [first = 0] = matches.map(({ decisionId }) => decisionId);
    const other = first === 1 ? 2 : 1;
    const wrong = rejects.operations.seen('reject-unlucky', [first, other], WHO);
    await expect(wrong).rejects.toMatchObject({ code: 'rules.no_match' });
    expect(await rejects.operations.seen('reject-unlucky', [first], WHO)).toBe(1);
    expect(await unseenMatches(rejects.store.db, rule?.hash ?? '', { limit: 10 })).toEqual([]);
  });

  it('leaves who armed what, on which report, until when; anew in its place', async () => {
    const rejects = await createRejectFixture();
    await rejects.unlucky(1);
    await rejects.decide();
    const armed = await rejects.arm(30 * DAY);
    expect(armed).toMatchObject({ reportId: 1, expiresAt: rejects.clock.now() + 30 * DAY });
    await rejects.arm(DAY);
    const { armed: list } = await rejects.overview();
    expect(list).toMatchObject([{ ruleId: 'reject-unlucky', actor: 'ada', reason: 'agreed' }]);
    const audit = await rejects.store.db.selectFrom('audit').select('action').execute();
    const actions = audit.map(({ action }) => action);
    expect(actions.filter((action) => action === 'rules.arm')).toHaveLength(2);
    expect(actions.slice(0, 3)).toEqual(['rules.seen', 'rules.report', 'rules.arm']);
  });
});

describe('an armed reject rule', () => {
  it('has what waits decided again when it is armed, or disarmed', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    expect(await rejects.latest()).toMatchObject({ outcome: 'reject', trigger: 'facts' });
    await rejects.operations.disarm('reject-unlucky', WHO);
    await rejects.decide();
    expect(await rejects.latest()).toMatchObject({ outcome: 'hold', trigger: 'facts' });
  });

  it('is armed also in the journal of what somebody did in the service', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    for (const status of ['accepted', 'pending']) {
      await rejects.clock.advance(1_000);
      await rejects.delivery({ id: 1, status, lines: [['a', 13]], more: { deliveryNo: 'DN-1' } });
      await rejects.decide();
    }
    const [said] = await decisionsOf(rejects.store.db, 1);
    expect(said).toMatchObject({ actor: 'external', outcome: 'hold' });
    expect(said?.evaluation).toMatchObject({
      live: { kind: 'reject' },
      rules: [{ armed: true }, {}],
    });
  });

  it('does not arm its copy under another name', async () => {
    const rejects = await createRejectFixture();
    await rejects.unlucky(1);
    await rejects.decide();
    await rejects.arm();
    const off = UNLUCKY.replace('mode: live', 'mode: off');
    const copy = UNLUCKY.slice(UNLUCKY.indexOf('  - id'), UNLUCKY.indexOf('  - id: accept'));
    rejects.useRules(off + copy.replace('id: reject-unlucky', 'id: reject-copy'));
    await rejects.unlucky(2);
    expect(await rejects.decide()).not.toContain('2 reject');
    await rejects.afterGrace();
    expect(await rejects.intendedPushes()).toEqual([]);
  });
});

describe('disarming a reject rule', () => {
  it('by another text is told for as long as it is a reject rule', async () => {
    const rejects = await createRejectFixture();
    const { put } = await rejects.keeper();
    await rejects.waiting();
    await put(UNLUCKY.replace('[13, 14]', '[13]'));
    const disarmed = [{ ruleId: 'reject-unlucky', at: rejects.clock.now() }];
    expect(await rejects.overview()).toMatchObject({ armed: [], disarmed });
    await put(UNLUCKY.replace('action: reject', 'action: hold').replace(/ {4}reject:.*\n/, ''));
    expect(await rejects.overview()).toMatchObject({ disarmed: [] });
  });

  it('is done by other times of the rule, too', async () => {
    const until = (day: string) =>
      UNLUCKY.replace('    mode: live', `    mode: live\n    effective_until: ${day}`);
    const rejects = await createRejectFixture(until('2026-01-20'));
    await rejects.waiting();
    expect(await rejects.overview()).toMatchObject({ waiting: [{ ruleId: 'reject-unlucky' }] });
    rejects.useRules(until('2027-01-20'));
    await rejects.afterGrace();
    expect(await rejects.entry()).toMatchObject({ state: 'withdrawn', safeguard: 'arming' });
    expect(await rejects.decide()).toEqual(['1 hold']);
    expect(await rejects.intendedPushes()).toEqual([]);
  });

  it('withdraws what waits for it', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    expect(await rejects.overview()).toMatchObject({ waiting: [{ ruleId: 'reject-unlucky' }] });
    expect(await rejects.operations.disarm('reject-unlucky', WHO)).toEqual({
      ...{ withdrawn: 1, canceled: 0 },
    });
    expect(await rejects.entry()).toMatchObject({ state: 'withdrawn', ended_by: 'ada' });
    expect(await rejects.decide()).toEqual(['1 hold']);
    await rejects.afterGrace();
    expect(await rejects.intendedPushes()).toEqual([]);
    await expect(rejects.operations.disarm('reject-unlucky', WHO)).rejects.toMatchObject({
      code: 'rules.not_armed',
    });
    await expect(rejects.operations.disarm('reject-unlukky', WHO)).rejects.toMatchObject({
      ...{ code: 'rules.no_reject_rule', hint: 'did you mean reject-unlucky?' },
    });
  });

  it('leaves other rules armed, and what waits for them', async () => {
    const rule = UNLUCKY.slice(UNLUCKY.indexOf('  - id'), UNLUCKY.indexOf('  - id: accept'));
    const fifteen = rule.replace('unlucky', 'large').replace('[13, 14]', '[15]');
    const other = fifteen.replaceAll('quantity: 13', 'quantity: 15');
    const rejects = await createRejectFixture(UNLUCKY + other, settingsWith({ matches_seen: 0 }));
    await rejects.unlucky(1);
    await rejects.unlucky(2, {}, 15);
    await rejects.decide();
    for (const id of ['reject-unlucky', 'reject-large']) await rejects.arm(90 * DAY, id);
    expect(await rejects.decide()).toEqual(['1 reject', '2 reject']);
    await rejects.operations.disarm('reject-unlucky', WHO);
    const overview = await rejects.overview();
    expect(overview.armed).toMatchObject([{ ruleId: 'reject-large' }]);
    expect(overview.waiting).toMatchObject([{ ruleId: 'reject-large' }]);
    const last = rejects.store.db.selectFrom('audit').selectAll().orderBy('id', 'desc');
    expect(await last.executeTakeFirst()).toMatchObject({
      ...{ ...WHO, action: 'rules.disarm', subject: 'rule:reject-unlucky' },
      detail: '{"withdrawn":1,"canceled":0}',
    });
  });

  it('calls off what was not sent yet, and does not send again what was', async () => {
    const rejects = await createRejectFixture();
    await rejects.unlucky(2);
    await rejects.waiting();
    await rejects.afterGrace();
    await rejects.store.db
      .updateTable('outbox')
      .set({ state: 'in_doubt' })
      .where('ordering_key', 'like', '%2')
      .execute();
    const ended = { withdrawn: 0, canceled: 1 };
    expect(await rejects.operations.disarm('reject-unlucky', WHO)).toEqual(ended);
    expect(await pushes(rejects)).toEqual([
      ['1 rejected', 'canceled', NOT_ARMED, null],
      ['2 rejected', 'in_doubt', null, NOT_ARMED],
    ]);
    expect(await rejects.decide()).toEqual(['1 hold']);
    expect(await rejects.latest()).toMatchObject({
      reason: `safeguard push: the push is canceled: ${NOT_ARMED}`,
    });
  });

  it.each([
    ['by another text', UNLUCKY.replace('[13, 14]', '[13]'), 'live'],
    ['by the mode of the rule', UNLUCKY.replace('mode: live', 'mode: shadow'), 'live'],
    ['by the mode of the set', UNLUCKY, 'shadow'],
  ])('calls off what was not sent yet: %s', async (_what, text, mode) => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.afterGrace();
    rejects.useRules(text, JSON.stringify({ ...JSON.parse(settingsWith({})), mode }));
    await rejects.execute();
    expect(await pushes(rejects)).toEqual([['1 rejected', 'canceled', NOT_ARMED, null]]);
  });
});
