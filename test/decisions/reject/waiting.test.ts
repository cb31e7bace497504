/** A waiting reject when people, rules or the delivery say otherwise. */
import { describe, expect, it } from 'vitest';
import { createRejectFixture, DAY, HOUR, settingsWith, UNLUCKY } from './support.ts';

const WHO = { actor: 'ada', reason: 'agreed' };

describe('a reject that waits', () => {
  it.each([
    ['of the delivery', UNLUCKY, 14],
    ['of the rule', UNLUCKY.replace('[13, 14]', '[13]'), 13],
  ])('has a new grace after another text %s', async (_, text, pieces) => {
    const rejects = await createRejectFixture(UNLUCKY, settingsWith({ matches_seen: 0 }));
    await rejects.waiting();
    await rejects.clock.advance(HOUR);
    rejects.useRules(text);
    await rejects.arm();
    await rejects.unlucky(1, {}, pieces);
    expect(await rejects.decide()).toEqual(['1 reject']);
    const due = rejects.clock.now() + DAY;
    const [rule] = rejects.rules().ruleSet.rules;
    expect(await rejects.entry()).toMatchObject({ due_at: due, rule_hash: rule?.hash });
  });

  it('has a new grace after a change that no rule sees', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.clock.advance(HOUR);
    const more = { deliveryNo: 'DN-1', packedBy: 'bo' };
    await rejects.delivery({ id: 1, lines: [['a', 13]], more });
    expect(await rejects.decide()).toEqual([]);
    expect(await rejects.entry()).toMatchObject({ due_at: rejects.clock.now() + DAY });
  });

  it('does not leave by the grace of another text, also where that is armed by now', async () => {
    const rejects = await createRejectFixture(UNLUCKY, settingsWith({ matches_seen: 0 }));
    await rejects.waiting();
    rejects.useRules(UNLUCKY.replace('[13, 14]', '[13]'));
    await rejects.arm();
    await rejects.afterGrace();
    expect(await rejects.intendedPushes()).toEqual([]);
    const detail = 'rule reject-unlucky has changed';
    expect(await rejects.entry()).toMatchObject({
      state: 'withdrawn',
      safeguard: 'arming',
      detail,
    });
  });

  it('is withdrawn where the text of its rule was another one for a moment', async () => {
    const rejects = await createRejectFixture();
    const { keeper, put } = await rejects.keeper();
    await rejects.waiting();
    await put(UNLUCKY.replace('[13, 14]', '[13]'));
    await put(UNLUCKY);
    expect(await rejects.decide({ rules: keeper.current })).toEqual(['1 hold']);
    expect(await rejects.overview()).toMatchObject({ armed: [], waiting: [] });
    await rejects.clock.advance(HOUR);
    await rejects.arm();
    expect(await rejects.decide({ rules: keeper.current })).toEqual(['1 reject']);
    expect(await rejects.entry()).toMatchObject({ due_at: rejects.clock.now() + DAY });
  });

  it('waits by a rule that matches, though one that does not has a longer grace', async () => {
    const rule = UNLUCKY.slice(UNLUCKY.indexOf('  - id'), UNLUCKY.indexOf('  - id: accept'));
    const longer = rule.replace('unlucky', 'large').replace('[13, 14]', '[15]');
    const rejects = await createRejectFixture(UNLUCKY + longer.replace('24h', '48h'));
    await rejects.waiting();
    expect(await rejects.entry()).toMatchObject({ rule_id: 'reject-unlucky' });
  });

  it('is withdrawn for an accept, also while a safeguard puts it off', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.afterGrace({ readDelivery: () => Promise.reject(new Error('no answer')) });
    expect(await rejects.entry()).toMatchObject({ state: 'waiting', safeguard: 're-read' });
    await rejects.order(1, { comment: 'keep' });
    expect(await rejects.decide()).toEqual(['1 accept']);
    expect(await rejects.entry()).toMatchObject({ state: 'withdrawn', safeguard: null });
  });

  it('is stopped when the lines are again those that a person has decided on', async () => {
    const rejects = await createRejectFixture();
    await rejects.unlucky(1, {}, 14);
    await rejects.decide();
    await rejects.arm();
    const said = { delivery: '1', actor: 'bo', reason: 'ask first' } as const;
    await rejects.review.act({ ...said, action: 'hold' });
    await rejects.unlucky(1);
    expect(await rejects.decide()).toEqual(['1 reject']);
    await rejects.unlucky(1, {}, 14);
    expect(await rejects.decide()).toEqual([]);
    expect(await rejects.entry()).toMatchObject({ state: 'stopped', ended_by: 'person' });
  });

  it.each([
    ['while that was asked', true],
    ['and nobody has looked who it was', false],
  ])('is left to a person who decided in the service %s', async (_, isFollowed) => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    const shown = (status: string) =>
      rejects.delivery({ id: 1, status, lines: [['a', 13]], more: { deliveryNo: 'DN-1' } });
    const readDelivery = async () => {
      await shown('accepted');
      if (isFollowed) await rejects.decide();
      return shown('pending').then(Object);
    };
    await rejects.afterGrace({ readDelivery });
    expect(await rejects.intendedPushes()).toEqual([]);
    expect(await rejects.entry()).toMatchObject({ state: 'stopped', ended_by: 'external' });
  });

  it.each([
    [['accepted'], 'it was made accepted in the service'],
    [['accepted', 'pending'], 'it was made pending in the service'],
    [['canceled'], 'it was made canceled in the service'],
  ])('is stopped once somebody made it %s in the service', async (statuses, detail) => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    for (const status of statuses) {
      await rejects.clock.advance(HOUR);
      await rejects.delivery({ id: 1, status, lines: [['a', 13]], more: { deliveryNo: 'DN-1' } });
    }
    await rejects.decide();
    expect(await rejects.entry()).toMatchObject({ state: 'stopped', ended_by: 'external', detail });
    expect(await rejects.overview()).toMatchObject({ waiting: [] });
  });

  it('of which what decides cannot be read is withdrawn, and keeps no other waiting', async () => {
    const rejects = await createRejectFixture();
    await rejects.unlucky(2);
    await rejects.waiting();
    await rejects.order(1, { status: 'mislaid' });
    await rejects.afterGrace();
    expect(await rejects.intendedPushes()).toEqual(['2 rejected']);
    expect(await rejects.entry()).toMatchObject({ state: 'withdrawn', safeguard: 're-evaluation' });
    await rejects.order(1);
    await rejects.decide();
    expect(await rejects.entry()).toMatchObject({ state: 'waiting', safeguard: null });
  });

  it('is as it was when the daemon stops while the service is asked', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    const before = await rejects.latest();
    await rejects.clock.advance(DAY);
    await rejects.fresh();
    const asked = Promise.withResolvers<void>();
    const end = rejects.begin({
      readDelivery: (_order, _delivery, signal) => {
        asked.resolve();
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      },
    });
    await asked.promise;
    await end().catch(() => undefined);
    expect(await rejects.latest()).toEqual(before);
    expect(await rejects.entry()).toMatchObject({ state: 'waiting', safeguard: null });
  });
});

describe('what a limit stopped', () => {
  /** Has the second of two deliveries held, and the breaker reset. */
  async function stopped(
    before: (rejects: Awaited<ReturnType<typeof createRejectFixture>>) => unknown,
  ) {
    const rejects = await createRejectFixture(UNLUCKY, settingsWith({ max_per_hour: 1 }));
    for (const id of [1, 2]) await rejects.unlucky(id);
    await rejects.decide();
    await rejects.arm();
    await before(rejects);
    await rejects.decide();
    await rejects.afterGrace();
    expect(await rejects.entry(2)).toMatchObject({ state: 'held', safeguard: 'cap' });
    await rejects.operations.resetBreaker(WHO);
    await rejects.clock.advance(2 * HOUR);
    return rejects;
  }

  it('is for the rules again once it has changed', async () => {
    const rejects = await stopped(() => undefined);
    await rejects.unlucky(2, {}, 14);
    expect(await rejects.decide()).toContain('2 reject');
  });

  it('stays held though a person had left it to the rules before', async () => {
    const rejects = await stopped(async ({ review, decide }) => {
      const request = { delivery: '2', actor: 'bo', reason: 'seen', why: 'checked' } as const;
      await review.act({ ...request, action: 'hold' });
      // The grace of the other one begins first.
      await decide();
      await review.act({ ...request, action: 'release', toRules: true });
    });
    expect(await rejects.decide()).not.toContain('2 reject');
    expect(await rejects.entry(2)).toMatchObject({ state: 'held' });
  });
});

describe('the breaker', () => {
  it('holds at once what still has its grace', async () => {
    const rejects = await createRejectFixture(UNLUCKY, settingsWith({ max_per_hour: 1 }));
    for (const id of [1, 2]) await rejects.unlucky(id);
    await rejects.decide();
    await rejects.arm();
    await rejects.decide();
    await rejects.clock.advance(DAY / 2);
    await rejects.unlucky(3);
    expect(await rejects.decide()).toEqual(['3 reject']);
    await rejects.clock.advance(DAY / 2);
    await rejects.fresh();
    await rejects.execute();
    expect(await rejects.entry(3)).toMatchObject({ state: 'held', safeguard: 'breaker' });
    expect(await rejects.decide()).toContain('3 hold');
  });

  it('counts a push that failed although a person was faster than who counts', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.afterGrace();
    await rejects.endPush('refused', { answered: false });
    await rejects.review.act({ ...WHO, action: 'hold', delivery: '1' });
    await rejects.execute();
    expect(await rejects.entry()).toMatchObject({ state: 'failed', safeguard: 'push' });
  });

  it('trips over a push that fails while the next reject is looked up', async () => {
    const rejects = await createRejectFixture(UNLUCKY, settingsWith({ write_failures: 1 }));
    for (const id of [1, 2]) await rejects.unlucky(id);
    await rejects.decide();
    await rejects.arm();
    await rejects.decide();
    await rejects.afterGrace({
      async readDelivery(_order, id) {
        if (id === 1) return {};
        await rejects.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
        await rejects.endPush('refused', { answered: false });
        return {};
      },
    });
    expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
    expect((await rejects.overview()).breaker).toMatchObject({ safeguard: 'failures' });
  });
});
