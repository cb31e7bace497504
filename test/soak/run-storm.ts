/**
 * Storms, as a command:
 *
 *   npm run campaign -- storm [--seeds 3] [--first 1] [--minutes 15] [--backlog 1500]
 *
 * Seed by seed (storm.ts). One line a seed; exits 1 if something is lost or done twice, if a new
 * delivery waits, or if the service's limit is not used a minute after the storm.
 */
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../src/cli/arguments.ts';
import { runStorm } from './storm.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3' },
    first: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '15' },
    backlog: { type: 'string', default: '1500' },
  },
});
const number = wholeNumber();
const [first, seeds] = [number(values.first), number(values.seeds)];
const size = { minutes: number(values.minutes), backlog: number(values.backlog) };

let wrong = 0;
for (let seed = first; seed < first + seeds; seed += 1) {
  const { problems, ...figures } = await runStorm(seed, size);
  const { orders, kills, requests, refusedPerMinute, share, newestMs, cpuSeconds } = figures;
  const verdict = problems.length === 0 ? 'right' : 'WRONG';
  const told = problems.slice(0, 20).map((problem) => `\n     ${problem}`);
  process.stdout.write(
    `${verdict} seed ${seed}: ${orders} orders, ${kills} kills, ` +
      `${requests} requests, ${refusedPerMinute.toFixed(1)} refused a minute, then ` +
      `${share.toFixed(2)} of the limit, a new delivery in ${newestMs} ms, ` +
      `${cpuSeconds.toFixed(0)} s of the processor${told.join('')}\n`,
  );
  if (problems.length > 0) wrong += 1;
}
if (wrong > 0) process.exitCode = 1;
