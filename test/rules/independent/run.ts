/**
 * The long version of `test/rules/independent.test.ts`: random rule sets, and what a reader of the
 * manual says about each; then of the same two below `test/decisions/`: facts of random orders and
 * accounts, and days of accepts under random limits.
 *
 *   npm run campaign -- rules [--sets 20000] [--first 1] [--worlds 200]
 *
 * Prints each disagreement with the whole set and the delivery; exits 1 when there is one.
 */
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../../src/cli/arguments.ts';
import { runLongVersion } from '../../support/long-version.ts';
import { compareSets } from './compare.ts';

const { values } = parseArgs({
  options: {
    sets: { type: 'string', default: '20000' },
    first: { type: 'string', default: '1' },
    worlds: { type: 'string', default: '200' },
  },
});
const number = wholeNumber();
const figures = compareSets(number(values.first), number(values.sets));

const counts = (of: Readonly<Record<string, number>>): string =>
  Object.entries(of)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

for (const one of figures.disagreements) process.stdout.write(`${one}\n\n`);
process.stdout.write(
  `${figures.sets} sets, ${figures.deliveries} deliveries (${counts(figures.outcomes)}; rules: ` +
    `${counts(figures.values)}): ${figures.disagreements.length} disagreements\n`,
);
if (figures.disagreements.length > 0) process.exitCode = 1;
if (number(values.worlds) > 0) {
  const seeds = `1-${number(values.worlds)}`;
  runLongVersion('test/decisions/facts/independent.test.ts', { SELVEDGE_FACTS_SEEDS: seeds });
  runLongVersion('test/decisions/accept/independent.test.ts', { SELVEDGE_ACCEPT_SEEDS: seeds });
}
