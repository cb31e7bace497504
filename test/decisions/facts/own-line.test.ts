/** Lines of one barcode at several prices: each packed line is compared with its own order line. */
import { expect, it } from 'vitest';
import { readSubject } from '../../../src/decisions/facts.ts';
import { completeFacts } from '../../../src/rules/facts/build.ts';
import { rulesOf } from '../../rules/support.ts';
import { ACCEPT_SMALL, createDeciderFixture } from '../support.ts';

const { settings } = rulesOf(ACCEPT_SMALL);

type Lines = readonly (readonly [string, number, number | null])[];

/** Packs lines of an order; gives the price differences of the delivery packed last. */
async function differences(ordered: Lines, ...deliveries: readonly Lines[]) {
  const fixture = await createDeciderFixture();
  await fixture.order(1, {
    orderLineItems: ordered.map(([barcode, quantity, price]) => ({ barcode, quantity, price })),
  });
  for (const [at, packed] of deliveries.entries()) {
    const fulfilledLineItems = packed.map(([barcode, fulfilledQuantity, price]) => {
      return { barcode, fulfilledQuantity, price };
    });
    await fixture.delivery({ id: at + 1, more: { fulfilledLineItems } });
  }
  const at = { now: fixture.clock.now(), settings };
  const subject = await fixture.store.transaction((tx) => readSubject(tx, deliveries.length, at));
  if (!subject) throw new Error('no delivery');
  return completeFacts(subject.facts).delivery.lines.map((line) => line.price_diff_pct);
}

const FREE: Lines = [
  ['a', 10, 40],
  ['a', 1, 0],
];

it('goods given free beside the same goods paid have no price difference', async () => {
  expect(await differences(FREE, FREE)).toEqual(['0', '0']);
  expect(await differences(FREE, FREE.toReversed())).toEqual(['0', '0']);
  expect(await differences([['a', 1, 0]], [['a', 1, 0]])).toEqual(['0']);
});

it('more pieces at a price than were ordered at it have no price of their own', async () => {
  expect(await differences(FREE, [['a', 11, 0]])).toEqual([null]);
  expect(await differences(FREE, [['a', 1, 0]], [['a', 1, 0]])).toEqual([null]);
  expect(await differences(FREE, [['a', 4, 40]], [['a', 6, 40]])).toEqual(['0']);
  const twice: Lines = [
    ['a', 1, 0],
    ['a', 1, 0],
  ];
  expect(await differences(FREE, twice)).toEqual([null, null]);
});

it('a staggered price is that of its step, and a price between the steps none', async () => {
  const steps: Lines = [
    ['a', 10, 40],
    ['a', 90, 36],
    ['b', 1, -5],
  ];
  expect(
    await differences(steps, [
      ['a', 90, 36],
      ['b', 1, -5],
    ]),
  ).toEqual(['0', '0']);
  expect(await differences(steps, [['a', 100, 36.4]])).toEqual([null]);
  expect(
    await differences(steps, [
      ['a', 5, 40],
      ['a', 1, null],
    ]),
  ).toEqual([null, null]);
});
