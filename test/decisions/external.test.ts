/** Whose change of a status it was, where ours and somebody else's come close together. */
import { describe, expect, it } from 'vitest';
import { createHouse, type House, journal } from './support.ts';

/** An accept of ours was sent, and nobody has heard of it yet. */
async function sending(): Promise<House> {
  const house = await createHouse();
  await house.delivery({ id: 1 });
  expect(await house.decide()).toEqual(['1 accept']);
  await house.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
  await house.clock.advance(1_000);
  return house;
}

async function seen(house: House, status: string, pieces = 2): Promise<void> {
  await house.delivery({ id: 1, status, lines: [['a', pieces]] });
  await house.clock.advance(1_000);
}

describe('while an accept of ours is on its way', () => {
  it('a delivery that is accepted was so by us', async () => {
    const house = await sending();
    await seen(house, 'accepted');
    await house.decide();
    expect(await journal(house)).toEqual(['daemon accept']);
  });

  it('one that is rejected was so by somebody else', async () => {
    const house = await sending();
    await seen(house, 'rejected');
    await house.decide();
    expect(await journal(house)).toEqual(['daemon accept', 'external reject']);
  });
});

describe('once an accept of ours has ended', () => {
  it('a delivery that somebody put back and accepted was so by them', async () => {
    const house = await sending();
    await seen(house, 'accepted');
    await house.endPush('confirmed', { answered: true });
    await house.decide();
    for (const status of ['pending', 'accepted']) {
      await house.clock.advance(1_000);
      await seen(house, status);
      await house.decide();
    }
    expect(await journal(house)).toEqual(['daemon accept', 'external hold', 'external accept']);
  });

  it('one that is put back once more, with other lines, is left alone once more', async () => {
    const house = await sending();
    await seen(house, 'accepted');
    await house.endPush('confirmed', { answered: true });
    await seen(house, 'pending');
    expect(await house.decide()).toEqual([]);
    await seen(house, 'pending', 3);
    expect(await house.decide()).toEqual(['1 accept']);
    await house.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
    await seen(house, 'accepted', 3);
    await house.endPush('confirmed', { answered: true });
    await house.clock.advance(1_000);
    await seen(house, 'pending', 3);
    expect(await house.decide()).toEqual([]);
    await house.order(1, { comment: 'please hurry' });
    expect(await house.decide()).toEqual([]);
    expect(await house.pushes()).toHaveLength(2);
    expect((await journal(house)).slice(2)).toEqual(['daemon accept', 'external hold']);
  });
});

it.each([
  ['pending', 'external hold'],
  ['rejected', 'external reject'],
])('is told of one made %s although the status of its order is not understood', async (...of) => {
  const [status, told] = of;
  const house = await sending();
  await seen(house, 'accepted');
  await house.endPush('confirmed', { answered: true });
  await house.decide();
  await house.order(1, { status: 'mislaid' });
  await house.clock.advance(1_000);
  await seen(house, status);
  await house.decide();
  expect(await journal(house)).toEqual(['daemon accept', told]);
  await house.order(1, { comment: 'found again' });
  expect(await house.decide()).toEqual([]);
  expect(await house.pushes()).toHaveLength(1);
});
