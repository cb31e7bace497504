import { expect, it } from 'vitest';
import {
  noteSeasonShown,
  noteSeasonUnseen,
  seasonsShown,
} from '../../../src/outbox/evidence/seasons.ts';
import { temporaryStore } from '../../support/store.ts';

it('whether pre-orders are shown is learned anew when the account begins or ends it', async () => {
  const store = await temporaryStore();
  let now = 0;
  const note = async (what: typeof noteSeasonShown) => {
    now += 1;
    await store.transaction((tx) => what(tx, now));
    return seasonsShown(store.db);
  };
  expect(await note(noteSeasonUnseen)).toBe('unknown');
  expect(await note(noteSeasonShown)).toBe('yes');
  expect(await note(noteSeasonUnseen)).toBe('yes');
  // One that is shown in between takes the note back.
  expect(await note(noteSeasonShown)).toBe('yes');
  expect(await note(noteSeasonUnseen)).toBe('yes');
  expect(await note(noteSeasonUnseen)).toBe('never');
  expect(await note(noteSeasonUnseen)).toBe('never');
  expect(await note(noteSeasonShown)).toBe('yes');
});
