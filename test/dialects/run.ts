/**
 * The long version of `test/dialects/combined.slow.test.ts`:
 *
 *   npm run campaign -- dialects [--pairs all|N] [--sets 200] [--first 1]
 *
 * Each pair of the accounts of accounts.ts that do not contradict each other (or N of them, drawn
 * by the seed `first`), then sets of several dialects, one for each seed from `first` on.
 */
import { parseArgs } from 'node:util';
import { runLongVersion } from '../support/long-version.ts';

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: 'all' },
    sets: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
  },
});

runLongVersion('test/dialects/combined.slow.test.ts', {
  SELVEDGE_DIALECT_PAIRS: values.pairs,
  SELVEDGE_DIALECT_SETS: values.sets,
  SELVEDGE_DIALECT_FIRST: values.first,
});
