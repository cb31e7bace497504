/**
 * A year at low load, as a command:
 *
 *   npm run campaign -- year [--days 365]
 *
 * One line (year.ts); exits 1 when an order or delivery is left behind, or pace, incidents, pauses,
 * holds or anything else that was lent or learned are not as on the first day.
 */
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../src/cli/arguments.ts';
import { runYear } from './year.ts';

const { values } = parseArgs({ options: { days: { type: 'string', default: '365' } } });
const { problems, days, orders, requests, cpuSeconds } = await runYear(wholeNumber()(values.days));
const verdict = problems.length === 0 ? 'right' : 'WRONG';
const told = problems.slice(0, 40).map((problem) => `\n     ${problem.slice(0, 1_000)}`);
process.stdout.write(
  `${verdict}: ${days} days, ${orders} orders, ${requests} requests beside them, ` +
    `${cpuSeconds.toFixed(0)} s of the processor${told.join('')}\n`,
);
if (problems.length > 0) process.exitCode = 1;
