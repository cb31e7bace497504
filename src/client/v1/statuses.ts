/**
 * Statuses in the contract's words, however the account spells them: its letters, spaces, strokes
 * and `cancelled` make no other word, and what is another word altogether is named in the
 * configuration (`service.v1.statuses`). A word that nobody knows stays as it came.
 */

import { STATUSES, type StatusOf } from '../../config/statuses.ts';

/** A word of the account, and the contract's word for it. */
export interface StatusWord {
  readonly of: StatusOf;
  readonly says: string;
  readonly means: string;
}

function lettersOf(word: string): string {
  const letters = word
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '');
  return letters === 'cancelled' ? 'canceled' : letters;
}

/** Gives the contract's word for one of the account. */
export function statusReader(
  kind: StatusOf,
  words: readonly StatusWord[],
): (status: string) => string {
  const own = words.filter(({ of }) => of === kind);
  const known = new Map([
    ...STATUSES[kind].map((status) => [lettersOf(status), status] as const),
    ...own.map(({ says, means }) => [lettersOf(says), means] as const),
  ]);
  return (status) => known.get(lettersOf(status)) ?? status;
}
