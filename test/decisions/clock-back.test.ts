/** Facts that the mirror got while the clock was ahead, after the clock was set back. */
import { expect, it } from 'vitest';
import { readSubject } from '../../src/decisions/facts.ts';
import {
  ACCEPT_COVERED,
  ACCEPT_SMALL,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
  watch,
} from './support.ts';

const HOUR = 3_600_000;
const C1 = { shippingAddress: { accountNo: 'C-1', countryCode: 'DK' } };

/** The clock is set back while the daemon runs, or while it does not. */
async function setBack(
  fixture: DeciderFixture,
  close: () => Promise<void>,
  restarts: boolean,
): Promise<void> {
  if (restarts) await close();
  fixture.clock.step(-24 * HOUR);
  if (restarts) await watch(fixture);
  await fixture.clock.advance(30_000);
}

const WHEN = [
  ['while the daemon runs', false],
  ['while it does not', true],
] as const;

it.each(WHEN)('the credit counts what is accepted after it, %s', async (_, restarts) => {
  const fixture = await createDeciderFixture();
  fixture.clock.step(24 * HOUR);
  const close = await watch(fixture);
  if (restarts) await fixture.stock({});
  await fixture.customer({ asOf: null });
  for (const id of [1, 2]) await fixture.order(id, C1);
  for (const id of [1, 2]) await fixture.delivery({ id, order: id, lines: [['a', 3]] });
  await fixture.clock.advance(60_000);
  await setBack(fixture, close, restarts);
  await fixture.delivery({ id: 1, order: 1, lines: [['a', 3]], status: 'accepted' });
  const at = { now: fixture.clock.now(), settings: loadedRules(ACCEPT_SMALL).ruleSet.settings };
  const subject = await fixture.store.transaction((tx) => readSubject(tx, 2, at));
  expect(subject?.facts.customer?.credit).toMatchObject({ reserved: 300_0000 });
});

it.each(WHEN)('what shipped before it counts until the stock is read, %s', async (_, restarts) => {
  const fixture = await createDeciderFixture();
  const rules = loadedRules(ACCEPT_COVERED);
  const decide = () => fixture.decide({ rules: () => rules });
  fixture.clock.step(24 * HOUR);
  const close = await watch(fixture);
  await fixture.stock({ a: 3 });
  await fixture.clock.advance(60_000);
  const more = { trackAndTrace: { trackingNumbers: ['T-1'], trackingLinks: [] } };
  await fixture.delivery({ id: 1, status: 'accepted', more });
  await setBack(fixture, close, restarts);
  await fixture.delivery({ id: 2 });
  expect(await decide()).toEqual(['2 hold']);
  await fixture.clock.advance(60_000);
  await fixture.stock({ a: 2 });
  expect(await decide()).toEqual(['2 accept']);
});
