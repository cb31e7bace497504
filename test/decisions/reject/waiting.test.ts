/** What becomes of a reject that waits when people, rules or the delivery say otherwise. */
import { describe, expect, it } from 'vitest';
import { createCourt, DAY, HOUR, settingsWith, UNLUCKY } from './support.ts';

const WHO = { actor: 'ada', reason: 'agreed' };

describe('a reject that waits', () => {
  it.each([
    ['of the delivery', UNLUCKY, 14],
    ['of the rule', UNLUCKY.replace('[13, 14]', '[13]'), 13],
  ])('has a new grace after another text %s', async (_, text, pieces) => {
    const court = await createCourt(UNLUCKY, settingsWith({ matches_seen: 0 }));
    await court.waiting();
    await court.clock.advance(HOUR);
    court.useRules(text);
    await court.arm();
    await court.unlucky(1, {}, pieces);
    expect(await court.decide()).toEqual(['1 reject']);
    const due = court.clock.now() + DAY;
    const [rule] = court.rules().ruleSet.rules;
    expect(await court.entry()).toMatchObject({ due_at: due, rule_hash: rule?.hash });
  });

  it('has a new grace after a change that no rule sees', async () => {
    const court = await createCourt();
    await court.waiting();
    await court.clock.advance(HOUR);
    const more = { deliveryNo: 'DN-1', packedBy: 'bo' };
    await court.delivery({ id: 1, lines: [['a', 13]], more });
    expect(await court.decide()).toEqual([]);
    expect(await court.entry()).toMatchObject({ due_at: court.clock.now() + DAY });
  });

  it('does not leave by the grace of another text, also where that is armed by now', async () => {
    const court = await createCourt(UNLUCKY, settingsWith({ matches_seen: 0 }));
    await court.waiting();
    court.useRules(UNLUCKY.replace('[13, 14]', '[13]'));
    await court.arm();
    await court.afterGrace();
    expect(await court.meant()).toEqual([]);
    const detail = 'rule reject-unlucky has changed';
    expect(await court.entry()).toMatchObject({ state: 'withdrawn', safeguard: 'arming', detail });
  });

  it('is withdrawn where the text of its rule was another one for a moment', async () => {
    const court = await createCourt();
    const { keeper, put } = await court.keeper();
    await court.waiting();
    await put(UNLUCKY.replace('[13, 14]', '[13]'));
    await put(UNLUCKY);
    expect(await court.decide({ rules: keeper.current })).toEqual(['1 no_rule']);
    expect(await court.overview()).toMatchObject({ armed: [], waiting: [] });
    await court.clock.advance(HOUR);
    await court.arm();
    expect(await court.decide({ rules: keeper.current })).toEqual(['1 reject']);
    expect(await court.entry()).toMatchObject({ due_at: court.clock.now() + DAY });
  });

  it('waits by a rule that matches, though one that does not has a longer grace', async () => {
    const rule = UNLUCKY.slice(UNLUCKY.indexOf('  - id'), UNLUCKY.indexOf('  - id: accept'));
    const longer = rule.replace('unlucky', 'large').replace('[13, 14]', '[15]');
    const court = await createCourt(UNLUCKY + longer.replace('24h', '48h'));
    await court.waiting();
    expect(await court.entry()).toMatchObject({ rule_id: 'reject-unlucky' });
  });

  it('is withdrawn for an accept, also while a safeguard puts it off', async () => {
    const court = await createCourt();
    await court.waiting();
    await court.afterGrace({ readDelivery: () => Promise.reject(new Error('no answer')) });
    expect(await court.entry()).toMatchObject({ state: 'waiting', safeguard: 're-read' });
    await court.order(1, { comment: 'keep' });
    expect(await court.decide()).toEqual(['1 accept']);
    expect(await court.entry()).toMatchObject({ state: 'withdrawn', safeguard: null });
  });

  it('is stopped when the lines are again those that a person has decided on', async () => {
    const court = await createCourt();
    await court.unlucky(1, {}, 14);
    await court.decide();
    await court.arm();
    const said = { delivery: '1', actor: 'bo', reason: 'ask first' } as const;
    await court.review.act({ ...said, action: 'hold' });
    await court.unlucky(1);
    expect(await court.decide()).toEqual(['1 reject']);
    await court.unlucky(1, {}, 14);
    expect(await court.decide()).toEqual([]);
    expect(await court.entry()).toMatchObject({ state: 'stopped', ended_by: 'person' });
  });

  it.each([
    ['while that was asked', true],
    ['and nobody has looked who it was', false],
  ])('is left to a person who decided in the service %s', async (_, isFollowed) => {
    const court = await createCourt();
    await court.waiting();
    const shown = (status: string) =>
      court.delivery({ id: 1, status, lines: [['a', 13]], more: { deliveryNo: 'DN-1' } });
    const readDelivery = async () => {
      await shown('accepted');
      if (isFollowed) await court.decide();
      return shown('pending').then(Object);
    };
    await court.afterGrace({ readDelivery });
    expect(await court.meant()).toEqual([]);
    expect(await court.entry()).toMatchObject({ state: 'stopped', ended_by: 'external' });
  });

  it.each([
    [['accepted'], 'it was made accepted in the service'],
    [['accepted', 'pending'], 'it was made pending in the service'],
    [['canceled'], 'it was made canceled in the service'],
  ])('is stopped once somebody made it %s in the service', async (statuses, detail) => {
    const court = await createCourt();
    await court.waiting();
    for (const status of statuses) {
      await court.clock.advance(HOUR);
      await court.delivery({ id: 1, status, lines: [['a', 13]], more: { deliveryNo: 'DN-1' } });
    }
    await court.decide();
    expect(await court.entry()).toMatchObject({ state: 'stopped', ended_by: 'external', detail });
    expect(await court.overview()).toMatchObject({ waiting: [] });
  });

  it('of which what decides cannot be read is withdrawn, and keeps no other waiting', async () => {
    const court = await createCourt();
    await court.unlucky(2);
    await court.waiting();
    await court.order(1, { status: 'mislaid' });
    await court.afterGrace();
    expect(await court.meant()).toEqual(['2 rejected']);
    expect(await court.entry()).toMatchObject({ state: 'withdrawn', safeguard: 're-evaluation' });
    await court.order(1);
    await court.decide();
    expect(await court.entry()).toMatchObject({ state: 'waiting', safeguard: null });
  });

  it('is as it was when the daemon stops while the service is asked', async () => {
    const court = await createCourt();
    await court.waiting();
    const before = await court.latest();
    await court.clock.advance(DAY);
    await court.fresh();
    const asked = Promise.withResolvers<void>();
    const end = court.begin({
      readDelivery: (_order, _delivery, signal) => {
        asked.resolve();
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      },
    });
    await asked.promise;
    await end().catch(() => undefined);
    expect(await court.latest()).toEqual(before);
    expect(await court.entry()).toMatchObject({ state: 'waiting', safeguard: null });
  });
});

describe('what a limit stopped', () => {
  /** Of deliveries 1 and 2 the second one is held; the breaker is reset. */
  async function stopped(before: (court: Awaited<ReturnType<typeof createCourt>>) => unknown) {
    const court = await createCourt(UNLUCKY, settingsWith({ max_per_hour: 1 }));
    for (const id of [1, 2]) await court.unlucky(id);
    await court.decide();
    await court.arm();
    await before(court);
    await court.decide();
    await court.afterGrace();
    expect(await court.entry(2)).toMatchObject({ state: 'held', safeguard: 'cap' });
    await court.operations.resetBreaker(WHO);
    await court.clock.advance(2 * HOUR);
    return court;
  }

  it('is for the rules again once it has changed', async () => {
    const court = await stopped(() => undefined);
    await court.unlucky(2, {}, 14);
    expect(await court.decide()).toContain('2 reject');
  });

  it('stays held though a person had left it to the rules before', async () => {
    const court = await stopped(async ({ review, decide }) => {
      const request = { delivery: '2', actor: 'bo', reason: 'seen', why: 'checked' } as const;
      await review.act({ ...request, action: 'hold' });
      // The grace of the other one begins first.
      await decide();
      await review.act({ ...request, action: 'release', toRules: true });
    });
    expect(await court.decide()).not.toContain('2 reject');
    expect(await court.entry(2)).toMatchObject({ state: 'held' });
  });
});

describe('the breaker', () => {
  it('holds at once what still has its grace', async () => {
    const court = await createCourt(UNLUCKY, settingsWith({ max_per_hour: 1 }));
    for (const id of [1, 2]) await court.unlucky(id);
    await court.decide();
    await court.arm();
    await court.decide();
    await court.clock.advance(DAY / 2);
    await court.unlucky(3);
    expect(await court.decide()).toEqual(['3 reject']);
    await court.clock.advance(DAY / 2);
    await court.fresh();
    await court.execute();
    expect(await court.entry(3)).toMatchObject({ state: 'held', safeguard: 'breaker' });
    expect(await court.decide()).toContain('3 hold');
  });

  it('counts a push that failed although a person was faster than who counts', async () => {
    const court = await createCourt();
    await court.waiting();
    await court.afterGrace();
    await court.endPush('refused', { answered: false });
    await court.review.act({ ...WHO, action: 'hold', delivery: '1' });
    await court.execute();
    expect(await court.entry()).toMatchObject({ state: 'failed', safeguard: 'push' });
  });

  it('trips over a push that fails while the next reject is looked up', async () => {
    const court = await createCourt(UNLUCKY, settingsWith({ write_failures: 1 }));
    for (const id of [1, 2]) await court.unlucky(id);
    await court.decide();
    await court.arm();
    await court.decide();
    await court.afterGrace({
      async readDelivery(_order, id) {
        if (id === 1) return {};
        await court.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
        await court.endPush('refused', { answered: false });
        return {};
      },
    });
    expect(await court.meant()).toEqual(['1 rejected']);
    expect((await court.overview()).breaker).toMatchObject({ safeguard: 'failures' });
  });
});
