/** A delivery's page and what is asked before several are decided, without a daemon. */
import { expect, it } from 'vitest';
import { lacksPart } from '../../src/console/pages/deciding/bulk.ts';
import { deliveryPage } from '../../src/console/pages/delivery.ts';
import { deliveryView, stockLacks } from '../../src/console/read/delivery.ts';
import { html, renderHtml } from '../../src/lib/html.ts';
import { createDeciderFixture } from '../decisions/support.ts';

const READER = {
  role: 'operator',
  timeZone: 'UTC',
  now: 0,
  reasons: [],
  me: '',
  names: [],
  back: '',
};

function textOf(html: string): string {
  return html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

async function packedWorld() {
  const world = await createDeciderFixture();
  await world.stock({ a: 1 });
  const parcel = { trackAndTrace: { trackingNumbers: ['TT1'], trackingLinks: [] } };
  const lines = [
    ['a', 5],
    ['b', 2],
  ] as const;
  await world.delivery({ id: 1, order: 7, lines });
  await world.delivery({ id: 2, order: 7, lines, status: 'accepted', more: parcel });
  await world.delivery({ id: 3, order: 7, lines, status: 'rejected' });
  const { db } = world.store;
  const viewOf = (id: number) => deliveryView(db, `id:${id}`, world.clock.now());
  const pageOf = async (id: number) =>
    textOf(renderHtml(deliveryPage(await viewOf(id), READER as never, '')));
  return { db, viewOf, pageOf };
}

it('a page says what is missing on hand only while its delivery is open', async () => {
  const { viewOf, pageOf } = await packedWorld();
  const open = await pageOf(1);
  expect(open).toContain('packed / on hand / ordered');
  expect(open).toContain('4 of 5 missing');
  expect(open).toContain('2 / ? / ? not in the stock list');
  expect(open).toContain('On hand ?, not in the stock list: Neither the stock list nor a season');
  for (const id of [2, 3]) {
    const over = await pageOf(id);
    expect(over).toContain('packed / ordered');
    expect(over).not.toMatch(/missing|on hand|not in the stock list/);
    const { grid, card } = await viewOf(id);
    expect([...grid, ...card.lines].map(({ stock }) => stock)).toEqual(Array(4).fill(null));
  }
});

it('an accepted delivery with a tracking number is shipped wherever its state is', async () => {
  const { viewOf } = await packedWorld();
  expect((await viewOf(1)).siblings.map(({ state }) => state)).toEqual(['shipped', 'rejected']);
  const view = await viewOf(2);
  const shipment = { ...view.shipment, shippedAt: '2026-03-01T10:00:00Z' };
  const page = renderHtml(deliveryPage({ ...view, shipment }, READER as never, ''));
  expect(page).toContain('<b class="state s-shipped">shipped</b>');
  expect(page).toContain('<td>shipped, tracking number TT1</td>');
});

it('a page that asks before several are decided says what is missing in each', async () => {
  const { db } = await packedWorld();
  const of = { orderId: 7, deliveryNo: null };
  const lacks = await stockLacks(db, [
    { ...of, orderDeliveryId: 1, status: 'pending' },
    { ...of, orderDeliveryId: 2, status: 'accepted' },
  ]);
  const text = textOf(renderHtml(html`${lacksPart(lacks)}`));
  expect(text).toContain('1 4 of 7 missing; 2 not in the stock list');
});
