/** Following what happens costs the same however much has happened before. */
import { expect, it } from 'vitest';
import { createFollower } from '../../../src/decisions/watch/follow.ts';
import { notePlans } from '../../support/plans.ts';
import { ACCEPT_COVERED, createHouse, loadedRules } from '../support.ts';

const RULES = loadedRules(ACCEPT_COVERED);

it('asks whose change of a status it was by the pushes of that delivery', async () => {
  const house = await createHouse();
  await house.stock({ a: 5 });
  await house.delivery({ id: 1, lines: [['a', 2]] });
  expect(await house.decide({ rules: () => RULES })).toEqual(['1 accept']);
  await house.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
  await house.clock.advance(1_000);
  await house.delivery({ id: 1, lines: [['a', 2]], status: 'accepted' });
  await house.endPush('confirmed', { answered: true });
  const planned = notePlans(house.store);
  const context = () => ({ rules: RULES, mode: 'live', now: house.clock.now() }) as const;
  await createFollower(planned.store, context).follow();
  const journal = house.store.db.selectFrom('decision').select('actor').execute();
  expect(await journal).toEqual([{ actor: 'daemon' }]);
  const steps = await planned.steps(/"created_at" <= /);
  expect(steps.filter((step) => / (n|outbox)\b/.test(step))).toEqual([
    'SEARCH outbox USING INDEX outbox_delivery (order_delivery_id=?)',
  ]);
});

it('looks for accepted deliveries by the orders that changed, however many there are', async () => {
  const rules = loadedRules(`
rules:
  - { id: h, title: H, action: hold, applies_to: [accepted], when: [ delivery.quantity > 99 ] }
`);
  const house = await createHouse();
  await house.delivery({ id: 1, status: 'accepted' });
  const context = () => ({ rules, mode: 'live', now: house.clock.now() }) as const;
  const planned = notePlans(house.store);
  await createFollower(planned.store, context).follow();
  const steps = await planned.steps(/^update evaluation set due_at/);
  expect(steps).toContain('SEARCH d USING INDEX delivery_order (order_id=?)');
  expect(steps).not.toContain('SEARCH d USING INDEX delivery_status (status=?)');
});
