import { describe, expect, it } from 'vitest';
import { paceAccept } from '../../../src/decisions/accept/pace.ts';
import { notePlans } from '../../support/plans.ts';
import { ACCEPT_SMALL, createHouse, type House, loadedRules } from '../support.ts';

const HOUR = 3_600_000;

async function createPace(accept: object) {
  const house = await createHouse();
  const settings = JSON.stringify({ version: 1, rails: { accept } });
  const rules = loadedRules(ACCEPT_SMALL, settings);
  const decide: House['decide'] = (parts) => house.decide({ rules: () => rules, ...parts });
  const incidents = () =>
    house.store.db
      .selectFrom('incident')
      .select(['detail', 'resolved_at'])
      .where('kind', '=', 'accepts_paused')
      .execute();
  return { ...house, decide, incidents };
}

describe('accepting pauses', () => {
  it('when more than expected are accepted in an hour, tells people, and goes on', async () => {
    const house = await createPace({ max_per_hour: 2, pause: '90m' });
    for (const id of [1, 2, 3]) await house.delivery({ id });
    expect(await house.decide()).toEqual(['1 accept', '2 accept', '3 hold']);
    expect(await house.pushes()).toHaveLength(2);
    const [incident] = await house.incidents();
    expect(incident).toMatchObject({ resolved_at: null });
    expect(incident?.detail).toContain('2 accepts in this hour are the limit');
    await house.clock.advance(HOUR);
    // Looked at in between, as by a rule that reads an age, it is journaled once all the same.
    await house.store.db.updateTable('evaluation').set({ due_at: house.clock.now() }).execute();
    expect(await house.decide()).toEqual([]);
    await house.clock.advance(HOUR / 2);
    expect(await house.decide()).toEqual(['3 accept']);
    expect((await house.incidents())[0]?.resolved_at).toBe(house.clock.now());
  });

  it('when the service took none of the last pushes', async () => {
    const house = await createPace({ refused_in_a_row: 2, pause: '1h' });
    for (const id of [1, 2]) await house.delivery({ id });
    await house.decide();
    await house.endPush('refused', { answered: true });
    await house.delivery({ id: 3 });
    expect(await house.decide()).toContain('3 hold');
    const latest = await house.store.db
      .selectFrom('decision')
      .select('reason')
      .orderBy('decision_id', 'desc')
      .executeTakeFirst();
    expect(latest?.reason).toMatch(/^rail accepts: the service did not take the last 2 pushes/);
    await house.clock.advance(HOUR);
    expect(await house.decide()).toContain('3 accept');
  });

  it('not while the rules only observe', async () => {
    const house = await createPace({ max_per_hour: 1 });
    for (const id of [1, 2]) await house.delivery({ id });
    expect(await house.decide({ mode: 'observe' })).toEqual(['1 accept', '2 accept']);
    expect(await house.decide()).toEqual(['1 accept', '2 hold']);
  });

  it('when the service may have done none of the last pushes, which were given up', async () => {
    const house = await createPace({ refused_in_a_row: 2 });
    for (const id of [1, 2]) await house.delivery({ id });
    await house.decide();
    const ended = { state: 'dead', ended_at: house.clock.now() } as const;
    await house.store.db.updateTable('outbox').set(ended).execute();
    await house.delivery({ id: 3 });
    expect(await house.decide()).toContain('3 hold');
  });

  it('not for what the service refused of documents', async () => {
    const house = await createPace({ refused_in_a_row: 2 });
    for (const id of [1, 2]) await house.delivery({ id });
    await house.decide();
    await house.store.db.updateTable('outbox').set({ kind: 'order' }).execute();
    await house.endPush('refused', { answered: true });
    await house.delivery({ id: 3 });
    expect(await house.decide()).toContain('3 accept');
  });

  it('not for pushes that were tried and then overtaken, and never refused', async () => {
    const house = await createPace({ refused_in_a_row: 2 });
    for (const id of [1, 2]) await house.delivery({ id });
    await house.decide();
    await house.store.db.updateTable('outbox').set({ attempts: 3 }).execute();
    await house.endPush('refused', { answered: false });
    await house.delivery({ id: 3 });
    expect(await house.decide()).toContain('3 accept');
  });

  it('not for what was counted, was not sent in time, and is decided again', async () => {
    const house = await createPace({ max_per_hour: 2 });
    for (const id of [1, 2]) await house.delivery({ id });
    await house.decide();
    await house.clock.advance(HOUR / 4);
    await house.endPush('refused', { answered: false });
    await house.clock.advance(1);
    // On other facts, too: it is the same accept.
    await house.delivery({ id: 2, lines: [['a', 3]] });
    expect((await house.decide()).sort()).toEqual(['1 accept', '2 accept']);
    expect(await house.incidents()).toEqual([]);
    await house.delivery({ id: 3 });
    expect(await house.decide()).toEqual(['3 hold']);
  });

  it.each([
    ['decisions were paused for a while', { mode: 'paused' as const }],
    ['its rule was switched off', { rules: () => loadedRules('rules: []') }],
  ])('not for what was counted and canceled because %s', async (_, parts) => {
    const house = await createPace({ max_per_hour: 2 });
    for (const id of [1, 2]) await house.delivery({ id });
    await house.decide();
    if ('mode' in parts) {
      const canceled = { state: 'canceled', ended_at: house.clock.now() } as const;
      await house.store.db.updateTable('outbox').set(canceled).execute();
    }
    await house.decide(parts);
    expect(await house.decide()).toEqual(['1 accept', '2 accept']);
    expect(await house.incidents()).toEqual([]);
    await house.delivery({ id: 3 });
    expect(await house.decide()).toEqual(['3 hold']);
  });

  it('for what was counted in another hour and canceled', async () => {
    const house = await createPace({ max_per_hour: 1 });
    await house.delivery({ id: 1 });
    await house.decide();
    await house.decide({ rules: () => loadedRules('rules: []') });
    await house.clock.advance(HOUR);
    await house.delivery({ id: 2 });
    expect(await house.decide()).toEqual(['2 accept', '1 hold']);
  });

  it('no longer than it may, also when the clock is set back meanwhile', async () => {
    const house = await createPace({ max_per_hour: 1, pause: '1h' });
    house.clock.step(300 * 24 * HOUR);
    for (const id of [1, 2]) await house.delivery({ id });
    expect(await house.decide()).toEqual(['1 accept', '2 hold']);
    house.clock.step(-300 * 24 * HOUR);
    expect(await house.decide()).toEqual(['2 accept']);
  });
});

it('counts the last pushes without going through all that were ever sent', async () => {
  const { store, clock } = await createHouse();
  const planned = notePlans(store);
  const { ruleSet } = loadedRules(ACCEPT_SMALL);
  const accept = {
    kind: 'accept',
    code: 'accept_rule',
    reason: '',
    rules: [],
    missing: [],
  } as const;
  const meant = { accept, isCounted: false };
  await planned.store.transaction((tx) => paceAccept(tx, meant, ruleSet.settings, clock.now()));
  const steps = await planned.steps(/"ended_at" is not null/);
  expect(steps).toContain('SEARCH outbox USING INTEGER PRIMARY KEY (rowid>?)');
  expect(steps.filter((step) => step.includes('(kind=?'))).toEqual([]);
});
