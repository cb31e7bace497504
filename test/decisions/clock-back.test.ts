/** What the mirror was told while the clock was ahead, after the clock was set back. */
import { expect, it } from 'vitest';
import { readSubject } from '../../src/decisions/facts.ts';
import {
  ACCEPT_COVERED,
  ACCEPT_SMALL,
  createHouse,
  type House,
  loadedRules,
  watch,
} from './support.ts';

const HOUR = 3_600_000;
const C1 = { shippingAddress: { accountNo: 'C-1', countryCode: 'DK' } };

/** The clock is set back while the daemon runs, or while it does not. */
async function setBack(house: House, close: () => Promise<void>, restarts: boolean): Promise<void> {
  if (restarts) await close();
  house.clock.step(-24 * HOUR);
  if (restarts) await watch(house);
  await house.clock.advance(30_000);
}

const WHEN = [
  ['while the daemon runs', false],
  ['while it does not', true],
] as const;

it.each(WHEN)('the credit counts what is accepted after it, %s', async (_, restarts) => {
  const house = await createHouse();
  house.clock.step(24 * HOUR);
  const close = await watch(house);
  if (restarts) await house.stock({});
  await house.customer({ asOf: null });
  for (const id of [1, 2]) await house.order(id, C1);
  for (const id of [1, 2]) await house.delivery({ id, order: id, lines: [['a', 3]] });
  await house.clock.advance(60_000);
  await setBack(house, close, restarts);
  await house.delivery({ id: 1, order: 1, lines: [['a', 3]], status: 'accepted' });
  const at = { now: house.clock.now(), settings: loadedRules(ACCEPT_SMALL).ruleSet.settings };
  const subject = await house.store.transaction((tx) => readSubject(tx, 2, at));
  expect(subject?.facts.customer?.credit).toMatchObject({ reserved: 300_0000 });
});

it.each(WHEN)('what shipped before it counts until the stock is read, %s', async (_, restarts) => {
  const house = await createHouse();
  const rules = loadedRules(ACCEPT_COVERED);
  const decide = () => house.decide({ rules: () => rules });
  house.clock.step(24 * HOUR);
  const close = await watch(house);
  await house.stock({ a: 3 });
  await house.clock.advance(60_000);
  const more = { trackAndTrace: { trackingNumbers: ['T-1'], trackingLinks: [] } };
  await house.delivery({ id: 1, status: 'accepted', more });
  await setBack(house, close, restarts);
  await house.delivery({ id: 2 });
  expect(await decide()).toEqual(['2 hold']);
  await house.clock.advance(60_000);
  await house.stock({ a: 2 });
  expect(await decide()).toEqual(['2 accept']);
});
