import { describe, expect, it } from 'vitest';
import { ACCOUNTS } from './accounts.ts';
import { walk } from './walk.ts';

const WHOLE = { incomplete: [], order: 'confirmed', delivery: 'accepted', refund: 'confirmed' };

describe('an account of its own dialect is walked end to end', () => {
  it.each(Object.entries(ACCOUNTS))('%s', async (_name, account) => {
    const outcome = await walk(account);
    const { waits = false } = account;
    const wanted = waits
      ? { incomplete: [], order: 'confirmed', delivery: 'pending', made: 1 }
      : { ...WHOLE, made: 1, incidents: [] };
    expect(outcome).toMatchObject(wanted);
    if (waits) expect(outcome.incidents).not.toEqual([]);
  });
});
