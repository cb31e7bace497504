import { expect, it } from 'vitest';
import { createRejectFixture, UNLUCKY } from './support.ts';

const HOLD = `
  - id: hold-all
    title: Stop everything
    action: hold
    mode: live
    when: [ 'delivery.quantity > 0' ]
`;

it('a reject that was not sent is canceled once the rules in force hold its delivery', async () => {
  const rejects = await createRejectFixture();
  await rejects.waiting();
  await rejects.afterGrace();
  const pushes = rejects.store.db.selectFrom('outbox').select('state');
  expect(await pushes.execute()).toEqual([{ state: 'queued' }]);
  rejects.useRules(UNLUCKY + HOLD);
  await rejects.decider({ rules: rejects.rules }).recall();
  expect(await pushes.execute()).toEqual([{ state: 'canceled' }]);
});
