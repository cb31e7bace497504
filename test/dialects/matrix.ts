/** Goals that every account has to reach, for the test files that share the matrix. */
import { expect, it } from 'vitest';
import { type Account, walk } from './walk.ts';

const WHOLE = {
  incomplete: [],
  order: 'confirmed',
  delivery: 'accepted',
  refund: 'confirmed',
  made: 1,
  twice: [],
};
const HELD = { incomplete: [], order: 'confirmed', delivery: 'pending', made: 1, twice: [] };

/** Makes a test for each account; they run side by side, since most of a walk is waiting. */
export function walkEach(
  accounts: readonly (readonly [string, Account])[],
  wanted: { readonly incidents?: readonly string[] } = { incidents: [] },
): void {
  it.concurrent.for(accounts)('%s', async ([, account], context) => {
    const outcome = await walk(account, context.onTestFinished);
    if (!account.waits) return expect(outcome).toMatchObject({ ...WHOLE, ...wanted });
    expect(outcome).toMatchObject(HELD);
    return expect(outcome.incidents).not.toEqual([]);
  });
}
