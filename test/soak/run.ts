/**
 * The soak at full size, as a command:
 *
 *   npm run campaign -- soak [--seeds 1] [--first 1] [--orders 2000] [--late 200]
 *
 * Seed by seed (soak.ts), an hour with every fault, and calm after it. One line a seed; exits 1 if
 * an order or delivery is left behind, or something that was lent or learned is not given back.
 */
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../src/cli/arguments.ts';
import { runSoak } from './soak.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    first: { type: 'string', default: '1' },
    orders: { type: 'string', default: '2000' },
    late: { type: 'string', default: '200' },
  },
});
const number = wholeNumber();
const [first, seeds] = [number(values.first), number(values.seeds)];
const size = { orders: number(values.orders), late: number(values.late) };

let wrong = 0;
for (let seed = first; seed < first + seeds; seed += 1) {
  const { problems, ...figures } = await runSoak(seed, size);
  const verdict = problems.length === 0 ? 'right' : 'WRONG';
  const told = problems.slice(0, 40).map((problem) => `\n     ${problem.slice(0, 1_000)}`);
  const { orders, accepted, requests, cpuSeconds } = figures;
  process.stdout.write(
    `${verdict} seed ${seed}: ${orders} orders, ${accepted} accepted, ${requests} requests, ` +
      `${cpuSeconds.toFixed(0)} s of the processor${told.join('')}\n`,
  );
  if (problems.length > 0) wrong += 1;
}
if (wrong > 0) process.exitCode = 1;
