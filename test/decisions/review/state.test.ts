/** Words for the state of a delivery: nothing is done before the service has confirmed it. */
import { expect, it } from 'vitest';
import { deliveryState } from '../../../src/decisions/review/state.ts';
import { OUTBOX_STATES } from '../../../src/store/tables.ts';

it.each<[string, string | null, string | null, string]>([
  ['pending', null, null, 'pending'],
  ['pending', 'no_rule', null, 'no rule applies'],
  ['pending', 'hold', null, 'held'],
  ['pending', 'release', null, 'released'],
  ['pending', 'accept', null, 'accept, not sent'],
  ['pending', 'reject', null, 'reject, not sent'],
  ['pending', 'accept', 'queued', 'accepted, being sent'],
  ['pending', 'accept', 'sending', 'accepted, being sent'],
  ['pending', 'accept', 'sent', 'accepted, being sent'],
  ['accepted', 'accept', 'sent', 'accepted, being sent'],
  ['pending', 'accept', 'in_doubt', 'accept, outcome unknown'],
  ['pending', 'accept', 'refused', 'accept, refused'],
  ['pending', 'accept', 'dead', 'accept, given up'],
  ['pending', 'accept', 'canceled', 'accept, not sent'],
  ['accepted', 'accept', 'confirmed', 'accepted'],
  ['accepted', 'accept', null, 'accepted'],
  ['pending', 'reject', 'queued', 'rejected, being sent'],
  ['rejected', 'reject', 'confirmed', 'rejected'],
  ['accepted', 'hold', 'queued', 'accepted, hold being sent'],
  ['accepted', 'hold', 'refused', 'accepted, hold, refused'],
  ['pending', 'hold', 'sent', 'held, being sent'],
  ['pending', 'hold', 'confirmed', 'held'],
  ['canceled', 'accept', 'refused', 'canceled, accept, refused'],
  ['canceled', 'hold', null, 'canceled'],
])('says of %s, %s and push %s: %s', (status, outcome, push, words) => {
  expect(deliveryState({ status, shipped: false, outcome, push })).toBe(words);
});

it.each<[string, string | null, string]>([
  ['accepted', 'confirmed', 'shipped'],
  ['accepted', null, 'shipped'],
  // A parcel that was made ready and taken back: its number proves nothing.
  ['pending', null, 'accept, not sent'],
  ['canceled', 'confirmed', 'canceled'],
])('says of %s with a tracking number and push %s: %s', (status, push, words) => {
  expect(deliveryState({ status, shipped: true, outcome: 'accept', push })).toBe(words);
});

it('is the word for something done in no state of a push but "confirmed"', () => {
  const done = ['accepted', 'rejected', 'held', 'released'];
  for (const status of ['pending', 'accepted', 'rejected', 'canceled']) {
    for (const outcome of ['accept', 'reject', 'hold', 'release']) {
      const unconfirmed = OUTBOX_STATES.filter((push) => push !== 'confirmed');
      const words = unconfirmed.map((push) =>
        deliveryState({ status, shipped: false, outcome, push }),
      );
      expect(words.filter((word) => done.includes(word))).toEqual([]);
    }
  }
});
