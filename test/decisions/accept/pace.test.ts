import { describe, expect, it } from 'vitest';
import { cancelUnsent } from '../../../src/decisions/unsent.ts';
import { notePlans } from '../../support/plans.ts';
import {
  ACCEPT_SMALL,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from '../support.ts';

const HOUR = 3_600_000;

async function createPace(accept: object) {
  const fixture = await createDeciderFixture();
  const settings = JSON.stringify({ version: 1, safeguards: { accept } });
  const rules = loadedRules(ACCEPT_SMALL, settings);
  const decide: DeciderFixture['decide'] = (parts) =>
    fixture.decide({ rules: () => rules, ...parts });
  const incidents = () =>
    fixture.store.db
      .selectFrom('incident')
      .select(['detail', 'resolved_at'])
      .where('kind', '=', 'accepts_paused')
      .execute();
  return { ...fixture, decide, incidents };
}

describe('accepting pauses', () => {
  it('when more than expected are accepted in an hour, tells people, and goes on', async () => {
    const fixture = await createPace({ max_per_hour: 2, pause: '90m' });
    for (const id of [1, 2, 3]) await fixture.delivery({ id });
    expect(await fixture.decide()).toEqual(['1 accept', '2 accept', '3 hold']);
    expect(await fixture.pushes()).toHaveLength(2);
    const [incident] = await fixture.incidents();
    expect(incident).toMatchObject({ resolved_at: null });
    expect(incident?.detail).toContain('2 accepts in this hour are the limit');
    await fixture.clock.advance(HOUR);
    // Looked at in between, as by a rule that reads an age, it is journaled once all the same.
    await fixture.store.db.updateTable('evaluation').set({ due_at: fixture.clock.now() }).execute();
    expect(await fixture.decide()).toEqual([]);
    await fixture.clock.advance(HOUR / 2);
    expect(await fixture.decide()).toEqual(['3 accept']);
    expect((await fixture.incidents())[0]?.resolved_at).toBe(fixture.clock.now());
  });

  it('and its incident ends with the pause, though nothing is accepted any more', async () => {
    const fixture = await createPace({ max_per_hour: 2, pause: '90m' });
    for (const id of [1, 2, 3]) await fixture.delivery({ id });
    await fixture.decide();
    await fixture.clock.advance(HOUR);
    await fixture.decide({ mode: 'observe' });
    expect(await fixture.incidents()).toMatchObject([{ resolved_at: null }]);
    await fixture.clock.advance(HOUR / 2);
    await fixture.decide({ mode: 'observe' });
    expect(await fixture.incidents()).toMatchObject([{ resolved_at: fixture.clock.now() }]);
  });

  it('when the service took none of the last pushes', async () => {
    const fixture = await createPace({ refused_in_a_row: 2, pause: '1h' });
    for (const id of [1, 2]) await fixture.delivery({ id });
    await fixture.decide();
    await fixture.endPush('refused', { answered: true });
    await fixture.delivery({ id: 3 });
    expect(await fixture.decide()).toContain('3 hold');
    const latest = await fixture.store.db
      .selectFrom('decision')
      .select('reason')
      .where('order_delivery_id', '=', 3)
      .orderBy('decision_id', 'desc')
      .executeTakeFirst();
    expect(latest?.reason).toMatch(
      /^safeguard accepts: the service did not take the last 2 pushes/,
    );
    await fixture.clock.advance(HOUR);
    expect(await fixture.decide()).toContain('3 accept');
  });

  it('not while the rules only observe', async () => {
    const fixture = await createPace({ max_per_hour: 1 });
    for (const id of [1, 2]) await fixture.delivery({ id });
    expect(await fixture.decide({ mode: 'observe' })).toEqual(['1 accept', '2 accept']);
    expect(await fixture.decide()).toEqual(['1 accept', '2 hold']);
  });

  it('when the service may have done none of the last pushes, which were given up', async () => {
    const fixture = await createPace({ refused_in_a_row: 2 });
    for (const id of [1, 2]) await fixture.delivery({ id });
    await fixture.decide();
    const ended = { state: 'dead', ended_at: fixture.clock.now() } as const;
    await fixture.store.db.updateTable('outbox').set(ended).execute();
    await fixture.delivery({ id: 3 });
    expect(await fixture.decide()).toContain('3 hold');
  });

  it('not for what the service refused of documents', async () => {
    const fixture = await createPace({ refused_in_a_row: 2 });
    for (const id of [1, 2]) await fixture.delivery({ id });
    await fixture.decide();
    await fixture.store.db.updateTable('outbox').set({ kind: 'order' }).execute();
    await fixture.endPush('refused', { answered: true });
    await fixture.delivery({ id: 3 });
    expect(await fixture.decide()).toContain('3 accept');
  });

  it('not for pushes that were tried and then overtaken, and never refused', async () => {
    const fixture = await createPace({ refused_in_a_row: 2 });
    for (const id of [1, 2]) await fixture.delivery({ id });
    await fixture.decide();
    await fixture.store.db.updateTable('outbox').set({ attempts: 3 }).execute();
    await fixture.endPush('refused', { answered: false });
    await fixture.delivery({ id: 3 });
    expect(await fixture.decide()).toContain('3 accept');
  });

  it('not for what was counted, was not sent in time, and is decided again', async () => {
    const fixture = await createPace({ max_per_hour: 2 });
    for (const id of [1, 2]) await fixture.delivery({ id });
    await fixture.decide();
    await fixture.clock.advance(HOUR / 4);
    await fixture.endPush('refused', { answered: false });
    await fixture.clock.advance(1);
    // On other facts, too: it is the same accept.
    await fixture.delivery({ id: 2, lines: [['a', 3]] });
    expect((await fixture.decide()).sort()).toEqual(['1 accept', '2 accept']);
    expect(await fixture.incidents()).toEqual([]);
    await fixture.delivery({ id: 3 });
    expect(await fixture.decide()).toEqual(['3 hold']);
  });

  it.each([
    ['decisions were paused for a while', { mode: 'paused' as const }],
    ['its rule was switched off', { rules: () => loadedRules('rules: []') }],
  ])('not for what was counted and canceled because %s', async (_, parts) => {
    const fixture = await createPace({ max_per_hour: 2 });
    for (const id of [1, 2]) await fixture.delivery({ id });
    await fixture.decide();
    if ('mode' in parts) {
      await fixture.store.transaction((tx) => cancelUnsent(tx, 'paused', fixture.clock.now()));
    }
    await fixture.decide(parts);
    expect(await fixture.decide()).toEqual(['1 accept', '2 accept']);
    expect(await fixture.incidents()).toEqual([]);
    await fixture.delivery({ id: 3 });
    expect(await fixture.decide()).toEqual(['3 hold']);
  });

  it('for what was counted in another hour and canceled', async () => {
    const fixture = await createPace({ max_per_hour: 1 });
    await fixture.delivery({ id: 1 });
    await fixture.decide();
    await fixture.decide({ rules: () => loadedRules('rules: []') });
    await fixture.clock.advance(HOUR);
    await fixture.delivery({ id: 2 });
    expect(await fixture.decide()).toEqual(['2 accept', '1 hold']);
  });

  it('no longer than it may, also when the clock is set back meanwhile', async () => {
    const fixture = await createPace({ max_per_hour: 1, pause: '1h' });
    fixture.clock.step(300 * 24 * HOUR);
    for (const id of [1, 2]) await fixture.delivery({ id });
    expect(await fixture.decide()).toEqual(['1 accept', '2 hold']);
    fixture.clock.step(-300 * 24 * HOUR);
    expect(await fixture.decide()).toEqual(['2 accept']);
  });
});

it('counts the last pushes without going through all that were ever sent', async () => {
  const fixture = await createDeciderFixture();
  const planned = notePlans(fixture.store);
  await fixture.delivery({ id: 1 });
  expect(await fixture.decide({ store: planned.store })).toEqual(['1 accept']);
  const steps = await planned.steps(/\+kind = 'delivery_status'/);
  expect(steps).toContain('SEARCH outbox USING INTEGER PRIMARY KEY (rowid>?)');
  expect(steps.filter((step) => step.includes('(kind=?'))).toEqual([]);
});
