/**
 * Maps an account's status words to the contract: case, spaces, dashes and `cancelled` make no
 * difference, other words are configured (`service.v1.statuses`). Unknown words stay unchanged.
 */

import { STATUSES, type StatusOf } from '../../config/statuses.ts';

/** An account's word, and the contract's word for it. */
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

/** Returns the contract's word for an account's word. */
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
