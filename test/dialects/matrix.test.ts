import { describe, expect, it } from 'vitest';
import { ACCOUNTS } from './accounts.ts';
import { walk } from './walk.ts';

const WHOLE = { incomplete: [], order: 'confirmed', delivery: 'accepted', refund: 'confirmed' };

describe('an account of its own dialect is walked end to end', () => {
  it.concurrent.each(Object.entries(ACCOUNTS))('%s', async (_name, account) => {
    expect(await walk(account)).toMatchObject({ ...WHOLE, made: 1, incidents: [] });
  });
});
