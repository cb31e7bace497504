import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { drawOrder } from '../../../src/reference/life/arrivals.ts';
import { startTestReference, until } from '../../support/house.ts';
import { startCliHouse } from '../house.ts';

const REJECT = `
rules:
  - id: reject-all
    title: Everything
    action: reject
    mode: live
    when: [ delivery.quantity > 0 ]
    tests:
      - { name: some, given: { delivery: { quantity: 1 } }, expect: reject }
      - { name: none, given: { delivery: { quantity: 0 } }, expect: none }
`;
const SETTINGS = 'version: 1\nsafeguards: { reject: { matches_seen: 2 } }\n';

it('shows the matches one by one before a rule is armed, and counts those agreed to', async () => {
  const reference = await startTestReference({
    world: { styles: 4, orders: 0 },
    auth: { loginSpacing: 0 },
    rates: { perSecond: 0 },
    life: { ordersPerMinute: 0, packAfter: '10ms', shipAfter: '1h', cancelShare: 0 },
  });
  const { daemon, rulesFolder, call, typing } = await startCliHouse(reference, { rules: REJECT });
  writeFileSync(join(rulesFolder, 'settings.yaml'), SETTINGS);
  expect(await call('rules', 'reload')).toMatchObject({ code: 0 });
  for (const seed of [1, 2]) {
    const orderId = reference.world.book.orders.nextId();
    const order = drawOrder(reference.world, { seed, orderId, preOrderShare: 0 });
    reference.world.trade.place(order);
  }
  await until('two decisions', async () => {
    const rows = await daemon.store.db.selectFrom('decision').select('decision_id').execute();
    return rows.length >= 2 || undefined;
  });
  await call('rules', 'backtest', '--since', '1d', '--save');
  const arm = ['rules', 'arm', 'reject-all', '--reason', 'agreed'];
  // A script is asked nothing, and refused.
  const refused = await call(...arm);
  expect(refused.stdout).toBe('');
  expect(refused.stderr).toContain('0 of 2 matches looked at');
  const declined = await typing('n', ...arm);
  expect(declined.stderr).toContain('2 matches must be looked at first. Show them?');
  expect(declined.stderr).toContain('0 of 2 matches looked at');
  const armed = await typing('y', ...arm);
  expect(armed.stdout.match(/delivery\.quantity = \d+/g)).toHaveLength(2);
  expect(armed.stderr).toContain('you have looked at these 2: 2 in all');
  expect(armed.stdout).toContain('is armed until');
});
