/**
 * Lists that are absent for a moment, as a command:
 *
 *   npm run campaign -- absence [--seeds 200] [--first 1]
 *
 * Seed by seed (world.ts); exits 1 if something was accepted that the whole lists would not have
 * let through, or if a run was complete with a part.
 */
import { parseArgs } from 'node:util';
import { runLongVersion } from '../../support/long-version.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
  },
});
runLongVersion('test/decisions/absence/absence.slow.test.ts', {
  ABSENCE_SEEDS: values.seeds,
  ABSENCE_FIRST: values.first,
});
