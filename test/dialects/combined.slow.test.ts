/**
 * Accounts that differ in several ways. A few of each kind here; all pairs and hundreds of sets are
 * for `npm run campaign -- dialects`, which gives the sizes by the environment.
 */
import { env } from 'node:process';
import { describe } from 'vitest';
import { pairsOf, setsOf } from './combined.ts';
import { walkEach } from './matrix.ts';

const pairs = env.SELVEDGE_DIALECT_PAIRS ?? '2';
const sets = Number(env.SELVEDGE_DIALECT_SETS ?? '2');
const first = Number(env.SELVEDGE_DIALECT_FIRST ?? '1');

describe('an account of several dialects is walked end to end', () => {
  walkEach(
    [...pairsOf(pairs === 'all' ? Infinity : Number(pairs), first), ...setsOf(sets, first)],
    {},
  );
});
