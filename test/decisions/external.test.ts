/** Authors of status changes, where ours and somebody else's come close together. */
import { describe, expect, it } from 'vitest';
import { createStatusNotes } from '../../src/decisions/external.ts';
import { lastChange } from '../../src/store/bulk.ts';
import { readState } from '../../src/store/state.ts';
import { createDeciderFixture, type DeciderFixture, journal } from './support.ts';

/** An accept of ours was sent, and nobody has heard of it yet. */
async function sending(): Promise<DeciderFixture> {
  const fixture = await createDeciderFixture();
  await fixture.delivery({ id: 1 });
  expect(await fixture.decide()).toEqual(['1 accept']);
  await fixture.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
  await fixture.clock.advance(1_000);
  return fixture;
}

async function seen(fixture: DeciderFixture, status: string, pieces = 2): Promise<void> {
  await fixture.delivery({ id: 1, status, lines: [['a', pieces]] });
  await fixture.clock.advance(1_000);
}

describe('while an accept of ours is on its way', () => {
  it('a delivery that is accepted was so by us', async () => {
    const fixture = await sending();
    await seen(fixture, 'accepted');
    await fixture.decide();
    expect(await journal(fixture)).toEqual(['daemon accept']);
  });

  it('one that is rejected was so by somebody else', async () => {
    const fixture = await sending();
    await seen(fixture, 'rejected');
    await fixture.decide();
    expect(await journal(fixture)).toEqual(['daemon accept', 'external reject']);
  });
});

describe('once an accept of ours has ended', () => {
  it('a delivery that somebody put back and accepted was so by them', async () => {
    const fixture = await sending();
    await seen(fixture, 'accepted');
    await fixture.endPush('confirmed', { answered: true });
    await fixture.decide();
    for (const status of ['pending', 'accepted']) {
      await fixture.clock.advance(1_000);
      await seen(fixture, status);
      await fixture.decide();
    }
    expect(await journal(fixture)).toEqual(['daemon accept', 'external hold', 'external accept']);
  });

  it('one that is put back once more, with other lines, is left alone once more', async () => {
    const fixture = await sending();
    await seen(fixture, 'accepted');
    await fixture.endPush('confirmed', { answered: true });
    await seen(fixture, 'pending');
    expect(await fixture.decide()).toEqual([]);
    await seen(fixture, 'pending', 3);
    expect(await fixture.decide()).toEqual(['1 accept']);
    await fixture.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
    await seen(fixture, 'accepted', 3);
    await fixture.endPush('confirmed', { answered: true });
    await fixture.clock.advance(1_000);
    await seen(fixture, 'pending', 3);
    expect(await fixture.decide()).toEqual([]);
    await fixture.order(1, { comment: 'please hurry' });
    expect(await fixture.decide()).toEqual([]);
    expect(await fixture.pushes()).toHaveLength(2);
    expect((await journal(fixture)).slice(2)).toEqual(['daemon accept', 'external hold']);
  });
});

/** The end of a push, as the outbox confirms it, and the changes that are left to be noted. */
async function confirmed(fixture: DeciderFixture) {
  const { store } = fixture;
  await fixture.endPush('confirmed', { answered: true });
  await store.transaction((tx, onCommit) => fixture.decider().noteAccepted(tx, 1, onCommit));
  const row = store.db.selectFrom('evaluation').select('feed_seq');
  return (await row.executeTakeFirst())?.feed_seq ?? 0;
}

describe('a confirmed accept', () => {
  it('is noted as ours in the transaction that confirms it', async () => {
    const fixture = await sending();
    await seen(fixture, 'accepted');
    expect(await confirmed(fixture)).toBe(await lastChange(fixture.store.db));
    await fixture.decide();
    expect(await journal(fixture)).toEqual(['daemon accept']);
  });

  it('that somebody else made is left to the next round, which tells of them', async () => {
    const fixture = await sending();
    await fixture.store.db.updateTable('outbox').set({ attempts: 0 }).execute();
    await seen(fixture, 'accepted');
    expect(await confirmed(fixture)).toBe(0);
    await fixture.decide();
    expect(await journal(fixture)).toEqual(['daemon accept', 'external accept']);
  });

  it('costs the rounds after it no transaction', async () => {
    const fixture = await sending();
    const { store } = fixture;
    const notes = createStatusNotes(store, () => {
      throw new Error('the rules were asked');
    });
    await seen(fixture, 'accepted');
    await fixture.endPush('confirmed', { answered: true });
    const now = fixture.clock.now();
    await store.transaction((tx, onCommit) => notes.noteOwn(tx, { id: 1, now }, onCommit));
    expect(await notes.noteAll()).toBe(true);
    expect(await readState(store.db, 'decisions_feed_seq')).toBeUndefined();
  });
});

it.each([
  ['pending', 'external hold'],
  ['rejected', 'external reject'],
])('is told of one made %s although the status of its order is not understood', async (...of) => {
  const [status, told] = of;
  const fixture = await sending();
  await seen(fixture, 'accepted');
  await fixture.endPush('confirmed', { answered: true });
  await fixture.decide();
  await fixture.order(1, { status: 'mislaid' });
  await fixture.clock.advance(1_000);
  await seen(fixture, status);
  await fixture.decide();
  expect(await journal(fixture)).toEqual(['daemon accept', told]);
  await fixture.order(1, { comment: 'found again' });
  expect(await fixture.decide()).toEqual([]);
  expect(await fixture.pushes()).toHaveLength(1);
});

describe('a delivery whose status was not understood at first', () => {
  it('is decided by the rules once its word is known to mean pending', async () => {
    const fixture = await createDeciderFixture();
    await seen(fixture, 'awaiting_acceptance');
    expect(await fixture.decide()).toEqual([]);
    await seen(fixture, 'pending');
    expect(await fixture.decide()).toEqual(['1 accept']);
    expect(await journal(fixture)).toEqual(['daemon accept']);
  });

  it.each(['accepted', 'pending'])('is left to people if it was %s before that', async (before) => {
    const fixture = await createDeciderFixture();
    await seen(fixture, before);
    await seen(fixture, 'mislaid');
    await seen(fixture, 'pending');
    expect(await fixture.decide()).toEqual([]);
    expect(await journal(fixture)).toEqual(['external hold']);
  });
});
