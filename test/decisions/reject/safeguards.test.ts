import { describe, expect, it } from 'vitest';
import { verifyDecisions } from '../../../src/decisions/simulation/replay.ts';
import {
  createRejectFixture,
  DAY,
  HOUR,
  type RejectFixture,
  settingsWith,
  UNLUCKY,
} from './support.ts';

/** Expects a stopped reject: nothing is pushed, and the hold has the safeguard's name. */
async function expectStopped(
  rejects: RejectFixture,
  safeguard: string,
  text: RegExp,
): Promise<void> {
  const latest = await rejects.latest();
  expect(latest).toMatchObject({ actor: 'daemon', outcome: 'hold', rules: '["reject-unlucky"]' });
  expect(latest.reason).toMatch(new RegExp(`^safeguard ${safeguard}: `));
  expect(latest.reason).toMatch(text);
  expect(await rejects.intendedPushes()).toEqual([]);
  const proof = await verifyDecisions(rejects.store.db, 100);
  expect(proof).toMatchObject({ chain: { brokenAt: undefined }, different: [] });
}

describe('a reject whose grace is over', () => {
  it('is meant for exactly what was read, and counted', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    expect(await rejects.decide()).toEqual([]);
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual([]);
    await rejects.afterGrace();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
    const { content_hash: contentHash } = await rejects.store.db
      .selectFrom('delivery')
      .select('content_hash')
      .executeTakeFirstOrThrow();
    const push = await rejects.store.db.selectFrom('outbox').selectAll().executeTakeFirstOrThrow();
    const sendBefore = rejects.clock.now() + 3 * 60_000;
    expect(JSON.parse(push.body)).toMatchObject({ contentHash, sendBefore });
    expect(push.expected_from).toBe('pending');
    expect(await rejects.latest()).toMatchObject({ outcome: 'reject', trigger: 'grace' });
    expect(await rejects.entry()).toMatchObject({
      ...{ state: 'pushing', intent_at: rejects.clock.now(), account_no: 'C-1' },
      ...{ amount: 1_300_0000, currency: 'DKK' },
    });
    await rejects.endPush('confirmed', { answered: true });
    await rejects.execute();
    expect(await rejects.entry()).toMatchObject({ state: 'rejected', ended_by: 'daemon' });
    expect((await verifyDecisions(rejects.store.db, 100)).different).toEqual([]);
  });

  it('is left alone by a decider that had found it due before', async () => {
    const rejects = await createRejectFixture();
    await rejects.unlucky(2);
    await rejects.decide();
    await rejects.arm();
    await rejects.decide();
    await rejects.clock.advance(DAY);
    await rejects.fresh();
    await rejects.unlucky(1, {}, 12);
    let executed: Promise<void> | undefined;
    const onDecided = (): void => {
      executed ??= rejects.execute();
    };
    await rejects.decide({ onDecided });
    await executed;
    expect(await rejects.intendedPushes()).toEqual(['2 rejected']);
    expect(await rejects.entry(2)).toMatchObject({ state: 'pushing' });
    const incidents = await rejects.store.db.selectFrom('incident').select('kind').execute();
    expect(incidents).toEqual([]);
  });
});

describe('the safeguard', () => {
  it.each(['observe', 'shadow', 'paused'] as const)('mode: waits while it is %s', async (mode) => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.afterGrace({ mode: () => mode });
    await expectStopped(rejects, 'mode', new RegExp(mode));
    await rejects.clock.advance(HOUR);
    await rejects.fresh();
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });

  it('no grace ends while no daemon runs, or by a clock that was set ahead meanwhile', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.begin()();
    rejects.clock.step(DAY);
    const end = rejects.begin();
    await rejects.clock.advance(HOUR);
    const { due_at: due, ...entry } = await rejects.entry();
    expect(entry).toMatchObject({ state: 'waiting', safeguard: null });
    expect(due - rejects.clock.now()).toBe(23 * HOUR);
    await end();
  });

  it('re-read: what changed while it waited is decided again', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.afterGrace({ readDelivery: () => rejects.unlucky(1, {}, 14).then(() => ({})) });
    await expectStopped(rejects, 're-read', /has changed/);
    expect(await rejects.entry()).toMatchObject({ state: 'withdrawn' });
    expect(await rejects.decide()).toEqual(['1 reject']);
    expect(await rejects.entry()).toMatchObject({ due_at: rejects.clock.now() + DAY });
  });

  it('re-read: a service that cannot be asked puts it off', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    const silent = () => Promise.reject(new Error('no answer'));
    await rejects.afterGrace({ readDelivery: silent });
    await expectStopped(rejects, 're-read', /cannot be asked: no answer/);
    expect(await rejects.entry()).toMatchObject({ due_at: rejects.clock.now() + 300_000 });
    expect(await rejects.decide()).toEqual([]);
    await rejects.clock.advance(HOUR);
    await rejects.fresh();
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });

  it('re-read: what the service does not know any more is decided again', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.afterGrace({ readDelivery: () => Promise.reject(new Error('no answer')) });
    await rejects.clock.advance(10 * 60_000);
    await rejects.fresh();
    await rejects.execute({ readDelivery: async () => undefined });
    await expectStopped(rejects, 're-read', /does not know it any more/);
    expect(await rejects.decide()).toEqual(['1 reject']);
    expect(await rejects.entry()).toMatchObject({ due_at: rejects.clock.now() + DAY });
  });

  it('person: who holds a delivery stops its reject', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    const asked = { action: 'hold', delivery: 'DN-1', actor: 'bo', reason: 'ask' } as const;
    const request = { ...asked, ifRejectWaits: true };
    await rejects.review.act(request);
    await rejects.afterGrace();
    expect(await rejects.intendedPushes()).toEqual([]);
    expect(await rejects.latest()).toMatchObject({ actor: 'person:bo', outcome: 'hold' });
    expect(await rejects.entry()).toMatchObject({
      state: 'stopped',
      ended_by: 'bo',
      detail: 'ask',
    });
  });

  it('person: who is faster by a moment is heard, even while the service is asked', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    const request = { action: 'accept', delivery: 'DN-1', actor: 'bo', reason: 'sold' } as const;
    await rejects.afterGrace({ readDelivery: () => rejects.review.act(request) });
    expect(await rejects.intendedPushes()).toEqual(['1 accepted']);
    expect(await rejects.entry()).toMatchObject({ state: 'stopped', ended_by: 'bo' });
    // Another one behind it would keep the accept from leaving.
    expect(await rejects.latest()).toMatchObject({ actor: 'person:bo', outcome: 'accept' });
  });

  it('arming: an arming that runs out at the last moment rejects nothing', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting(DAY + HOUR);
    await rejects.afterGrace({ readDelivery: () => rejects.clock.advance(HOUR).then(Object) });
    await expectStopped(rejects, 'arming', /not armed any more/);
    await rejects.decide();
    expect((await rejects.latest()).reason).toMatch(/would reject this but may not now/);
  });

  it('arming: editing a list that the rule reads disarms it', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    const settings = settingsWith({}).replace('"SE"', '"SE","NO"');
    rejects.useRules(UNLUCKY, settings);
    await rejects.afterGrace();
    await expectStopped(rejects, 'arming', /has changed/);
    expect(await rejects.decide()).toEqual(['1 hold']);
    const rule = rejects.rules().ruleSet.rules[0];
    expect((await rejects.overview()).armed[0]?.ruleHash).not.toBe(rule?.hash);
  });

  it('re-evaluation: what the rules want otherwise by then is decided again', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.afterGrace({
      readDelivery: () => rejects.order(1, { comment: 'keep' }).then(Object),
    });
    await expectStopped(rejects, 're-evaluation', /accept by accept-kept/);
    expect(await rejects.decide()).toEqual(['1 accept']);
  });

  it('re-evaluation: another rule that rejects it by then has a grace of its own', async () => {
    const other = `    reject: { grace: 48h }
    tests:
      - { name: kept, given: { order: { comment: keep } }, expect: reject }
      - { name: not kept, given: { order: { comment: "" } }, expect: none }
`;
    const text = UNLUCKY.replace('accept-kept', 'reject-kept').replace('accept', 'reject') + other;
    const rejects = await createRejectFixture(text, settingsWith({ matches_seen: 0 }));
    await rejects.waiting();
    await rejects.arm(90 * DAY, 'reject-kept');
    await rejects.afterGrace({
      readDelivery: () => rejects.order(1, { comment: 'keep' }).then(Object),
    });
    await expectStopped(rejects, 're-evaluation', /reject by reject-kept/);
    expect(await rejects.decide()).toEqual(['1 reject']);
    const due = rejects.clock.now() + 2 * DAY;
    expect(await rejects.entry()).toMatchObject({ rule_id: 'reject-kept', due_at: due });
  });

  it('freshness: a mirror that lags, stock or credit that is old put it off', async () => {
    const rejects = await createRejectFixture(
      UNLUCKY.replace(
        '      - order.country in',
        '      - delivery.lines.exists(line, line.stock_free == 0)\n' +
          '      - customer.credit.overdue_days > 3\n      - order.country in',
      ).replaceAll('thirteen to Denmark', 'x'),
    );
    await rejects.stock({ a: 0 });
    await rejects.customer({ overdueDays: 5 });
    await rejects.unlucky(1);
    await rejects.decide();
    const { store, clock } = rejects;
    const [rule] = rejects.rules().ruleSet.rules;
    const arming = { rule_id: rule?.id ?? '', rule_hash: rule?.hash ?? '', reason: '', actor: 'x' };
    const open = { ended_at: null, ended_by: null, end_reason: null };
    await store.db
      .insertInto('arming')
      .values({ ...arming, ...open, at: 0, report_id: 1, expires_at: clock.now() + 9 * DAY })
      .execute();
    await clock.advance(HOUR);
    expect(await rejects.decide()).toEqual(['1 reject']);
    await clock.advance(DAY);
    await rejects.execute();
    await expectStopped(rejects, 'freshness', /the mirror is 1d 1h old, allowed are 15m/);
    await rejects.fresh();
    await clock.advance(10 * 60_000);
    await rejects.execute();
    expect((await rejects.entry()).detail).toMatch(/the stock is .* old, allowed are 60m/);
    await rejects.stock({ a: 0 });
    await clock.advance(2 * HOUR);
    await rejects.fresh();
    await rejects.stock({ a: 0 });
    await rejects.execute();
    expect((await rejects.entry()).detail).toMatch(
      /row of the customer \(as_of\) is 1d 3h old, allowed are 26h/,
    );
    await rejects.customer({ overdueDays: 6 });
    await clock.advance(10 * 60_000);
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });

  it('freshness: an order that an event told of and that is not read yet puts it off', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    const asked = {
      requested_at: rejects.clock.now(),
      due_at: rejects.clock.now(),
      cause: 'event:1',
    };
    await rejects.store.db
      .insertInto('refresh')
      .values({ order_id: 77, ...asked })
      .execute();
    await rejects.afterGrace();
    await expectStopped(rejects, 'freshness', /an order to be read is 1d old, allowed are 15m/);
    await rejects.store.db.deleteFrom('refresh').execute();
    await rejects.clock.advance(10 * 60_000);
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });

  it('freshness: what was heard while the clock went ahead says nothing', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    rejects.clock.step(30 * DAY);
    await rejects.fresh();
    rejects.clock.step(-30 * DAY);
    await rejects.clock.advance(DAY);
    await rejects.execute();
    await expectStopped(rejects, 'freshness', /the mirror: its age is not known/);
    await rejects.fresh();
    await rejects.clock.advance(10 * 60_000);
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });

  it.each([24, -4])(
    'has its whole grace though the clock is moved by %i h meanwhile',
    async (h) => {
      // The clock is looked at every few seconds of the grace.
      const rejects = await createRejectFixture(UNLUCKY.replace('grace: 24h', 'grace: 6h'));
      await rejects.waiting();
      const end = rejects.begin();
      const { due_at: before } = await rejects.entry();
      await rejects.clock.advance(2 * HOUR);
      rejects.clock.step(h * HOUR);
      await rejects.clock.advance(3 * HOUR);
      expect(await rejects.entry()).toMatchObject({ state: 'waiting', due_at: before + h * HOUR });
      await rejects.fresh();
      await rejects.clock.advance(2 * HOUR);
      await rejects.fresh();
      await rejects.clock.advance(HOUR);
      expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
      await end();
    },
  );

  it.each([1, -1])('has its whole grace though the clock is moved by -2 and by %i h', async (h) => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    const end = rejects.begin();
    const { due_at: before } = await rejects.entry();
    await rejects.clock.advance(HOUR);
    for (const step of [-2, h]) {
      rejects.clock.step(step * HOUR);
      await rejects.clock.advance(60_000);
    }
    expect(await rejects.entry()).toMatchObject({
      state: 'waiting',
      due_at: before + (h - 2) * HOUR,
    });
    await end();
  });

  it('has its whole grace also where it was queued since the clock was set back', async () => {
    const rejects = await createRejectFixture();
    const end = rejects.begin();
    await rejects.clock.advance(HOUR);
    rejects.clock.step(-20 * HOUR);
    await rejects.clock.advance(5_000);
    await rejects.waiting();
    const { due_at: due } = await rejects.entry();
    await rejects.clock.advance(HOUR);
    expect(await rejects.entry()).toMatchObject({ state: 'waiting', due_at: due });
    await end();
  });

  it('has no more than its grace where the daemon began by a wrong clock', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    rejects.clock.step(-20_000 * 24 * HOUR);
    const end = rejects.begin();
    await rejects.clock.advance(HOUR);
    rejects.clock.step(20_000 * 24 * HOUR);
    await rejects.clock.advance(HOUR);
    const { due_at: due } = await rejects.entry();
    expect(due - rejects.clock.now()).toBeLessThanOrEqual(24 * HOUR);
    await end();
  });

  it('hours: at night it waits for the next opening', async () => {
    const rejects = await createRejectFixture();
    await rejects.clock.advance(10 * HOUR);
    await rejects.waiting();
    await rejects.afterGrace();
    await expectStopped(rejects, 'hours', /nobody is at work/);
    expect(new Date((await rejects.entry()).due_at).toISOString()).toBe('2026-01-07T08:00:00.000Z');
    await rejects.clock.advance(13 * HOUR);
    expect(await rejects.decide()).toEqual([]);
    await rejects.clock.advance(HOUR);
    await rejects.fresh();
    await rejects.execute();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });

  it('hours: at night it is rejected where the settings say so', async () => {
    const rejects = await createRejectFixture(
      UNLUCKY,
      settingsWith({ business_hours_only: false }),
    );
    await rejects.clock.advance(10 * HOUR);
    await rejects.waiting();
    await rejects.afterGrace();
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  });
});

it('a reject does not begin to wait while the rules only observe', async () => {
  const rejects = await createRejectFixture();
  await rejects.unlucky(1);
  await rejects.decide();
  await rejects.arm();
  expect(await rejects.decide({ mode: 'observe' })).toEqual(['1 reject']);
  expect(await rejects.overview()).toMatchObject({ waiting: [] });
  await rejects.clock.advance(HOUR);
  expect(await rejects.decide()).toEqual(['1 reject']);
  expect(await rejects.entry()).toMatchObject({ due_at: rejects.clock.now() + DAY });
});

describe('two reject rules that match the same delivery', () => {
  const LATER = UNLUCKY.replace('reject-unlucky', 'reject-later').replace('24h', '48h');
  const [head = '', ...rest] = LATER.split('  - id: ');
  const [sooner = ''] = UNLUCKY.split('  - id: ').slice(1);

  it.each([
    ['before', [head, ...rest, sooner]],
    ['behind', [head, sooner, ...rest]],
  ])('make it wait for the longer grace, which stands %s the shorter one', async (_, parts) => {
    const rejects = await createRejectFixture(parts.join('  - id: '));
    await rejects.unlucky(1);
    await rejects.decide();
    for (const { id, action } of rejects.rules().ruleSet.rules) {
      if (action === 'reject') await rejects.arm(90 * DAY, id);
    }
    expect(await rejects.decide()).toEqual(['1 reject']);
    const { rule_id: rule, queued_at: from, due_at: to } = await rejects.entry();
    expect([rule, to - from]).toEqual(['reject-later', 48 * HOUR]);
  });
});
