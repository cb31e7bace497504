/** A plan of a decision: what it reads, what it writes, and where it may be applied. */
import { expect, it } from 'vitest';
import { applyPlan, planDecision } from '../../src/decisions/plan/plan.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import { ACCEPT_SMALL, createDeciderFixture, type DeciderFixture, loadedRules } from './support.ts';

const RULES = loadedRules(ACCEPT_SMALL);

function planIn(tx: Tx, { clock }: DeciderFixture, id: number, depth: 'look' | 'act' = 'act') {
  const context = { rules: RULES, mode: 'live', freshness: {}, trigger: 'new' } as const;
  return planDecision(tx, { ...context, now: clock.now() }, id, depth);
}

const nothing = (): void => undefined;

it('is applied in the transaction that made it, and in no other', async () => {
  const fixture = await createDeciderFixture();
  const { store } = fixture;
  await fixture.delivery({ id: 1 });
  const early = await store.snapshot((tx) => planIn(tx, fixture, 1));
  const late = store.transaction((tx) => applyPlan(tx, early, nothing));
  await expect(late).rejects.toMatchObject({ code: 'bug.foreign_plan' });
  expect([await fixture.decisions(), await fixture.pushes()]).toEqual([[], []]);
  const decided = await store.transaction(async (tx) =>
    applyPlan(tx, await planIn(tx, fixture, 1), nothing),
  );
  expect(decided?.outcome.kind).toBe('accept');
  expect([await fixture.decisions(), await fixture.pushes()]).toHaveLength(2);
});

it('is made in the deciding transaction, whatever was found before that began', async () => {
  const fixture = await createDeciderFixture();
  const { store } = fixture;
  await fixture.delivery({ id: 1 });
  let isGrown = false;
  const grow = async (): Promise<void> => {
    if (isGrown) return;
    isGrown = true;
    await fixture.delivery({ id: 1, lines: [['a', 21]] });
  };
  const growing: Store = {
    db: store.db,
    path: store.path,
    snapshot: (read) => store.snapshot(read),
    async transaction(work) {
      await grow();
      return store.transaction(work);
    },
    close: () => store.close(),
  };
  expect(await fixture.decide({ store: growing, rules: () => RULES })).toEqual(['1 hold']);
  expect(await fixture.pushes()).toEqual([]);
});

it('writes nothing, also where much is to be written', async () => {
  const fixture = await createDeciderFixture();
  const { store } = fixture;
  for (const [id, pieces] of [
    [1, 2],
    [2, 21],
  ] as const) {
    await fixture.delivery({ id, lines: [['a', pieces]] });
    for (const depth of ['look', 'act'] as const) {
      const plan = await store.transaction((tx) => planIn(tx, fixture, id, depth));
      expect([plan.isChange, plan.effects.length > 0]).toEqual([true, true]);
    }
  }
  for (const table of ['decision', 'evaluation', 'hold', 'outbox', 'fact_snapshot'] as const) {
    expect(await store.db.selectFrom(table).selectAll().execute()).toEqual([]);
  }
});

it('looks at nothing in a status that nobody knows, which only a decision tells', async () => {
  const fixture = await createDeciderFixture();
  await fixture.delivery({ id: 1, status: 'odd' });
  const looked = await fixture.store.snapshot((tx) => planIn(tx, fixture, 1, 'look'));
  expect(looked).toMatchObject({ isChange: false, effects: [] });
  const decided = fixture.store.snapshot((tx) => planIn(tx, fixture, 1));
  await expect(decided).rejects.toThrow('unknown status "odd"');
});

it('changes nothing where a decision stands, or a push is on its way', async () => {
  const fixture = await createDeciderFixture();
  const { store } = fixture;
  await fixture.delivery({ id: 1 });
  await fixture.delivery({ id: 2, lines: [['a', 21]] });
  await fixture.decide();
  const accepted = await store.snapshot((tx) => planIn(tx, fixture, 1));
  expect(accepted).toMatchObject({ isChange: false, effects: [] });
  const held = await store.snapshot((tx) => planIn(tx, fixture, 2, 'look'));
  expect(held.isChange).toBe(false);
});

it('asks no limit about an accept that stands, though others have used it up since', async () => {
  const fixture = await createDeciderFixture();
  const rules = loadedRules(
    ACCEPT_SMALL,
    'version: 1\nsafeguards: { accept: { max_per_day: 1 } }\n',
  );
  const set = { rules: () => rules };
  await fixture.delivery({ id: 1 });
  expect(await fixture.decide(set)).toEqual(['1 accept']);
  await fixture.clock.advance(1_000);
  await fixture.endPush('refused', { answered: false });
  // The service has refused it: the accept is not made again.
  const { outbox_id } = await fixture.store.db
    .selectFrom('outbox')
    .select('outbox_id')
    .executeTakeFirstOrThrow();
  const times = { started_at: 0, ended_at: 0, max_order_id_before: null, count_before: null };
  await fixture.store.db
    .insertInto('outbox_attempt')
    .values({ outbox_id, attempt: 1, class: 'refused', ...times })
    .execute();
  await fixture.delivery({ id: 2 });
  expect(await fixture.decide(set)).toEqual(['2 accept']);
  expect(await fixture.decide(set)).toEqual([]);
  await fixture.delivery({ id: 3 });
  expect(await fixture.decide(set)).toEqual(['3 hold']);
});
