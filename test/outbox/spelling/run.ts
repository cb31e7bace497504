/**
 * The long version of `test/outbox/spelling.slow.test.ts`:
 *
 *   npm run campaign -- spelling [--orders 500] [--seeds 1-3]
 */
import { parseArgs } from 'node:util';
import { runLongVersion } from '../../support/long-version.ts';

const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '500' },
    seeds: { type: 'string', default: '1' },
  },
});

runLongVersion('test/outbox/spelling.slow.test.ts', {
  SELVEDGE_SPELLING_ORDERS: values.orders,
  SELVEDGE_SPELLING_SEEDS: values.seeds,
});
