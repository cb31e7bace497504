/**
 * The decisions at full size, as a command:
 *
 *   npm run campaign -- decisions [--seeds 50] [--first 1] [--hours 24] [--dialects]
 *
 * Seed by seed (seed.ts), each so many simulated hours. One line a seed and a summary; exits 1 when
 * a delivery was accepted or rejected that must not have been, or is left without a reason, or a
 * seed leaves more memory or descriptors taken than the first one.
 */
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../../src/cli/arguments.ts';
import { createLeftOverJudge } from '../../sync/campaign/left-over.ts';
import { runSeed, type SeedFigures } from './seed.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '50' },
    first: { type: 'string', default: '1' },
    hours: { type: 'string', default: '24' },
    dialects: { type: 'boolean', default: false },
  },
});
const number = wholeNumber();
const [first, seeds, hours] = [number(values.first), number(values.seeds), number(values.hours)];

function counts(of: Readonly<Record<string, number>>): string {
  return Object.entries(of)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

function seedLine(figures: SeedFigures): string {
  const { seed, deliveries, moves, happened, conflicts, problems, seconds } = figures;
  const verdict = problems.length === 0 ? 'right' : 'WRONG';
  const told = problems.slice(0, 60).map((problem) => `\n     ${problem.slice(0, 1_000)}`);
  return (
    `${verdict} seed ${seed}: ${deliveries} deliveries, ${counts(moves)}, ` +
    `${conflicts} conflicts; ${counts(happened)}; ${seconds.toFixed(0)} s${told.join('')}`
  );
}

const leftOver = createLeftOverJudge();
let wrong = 0;
for (let seed = first; seed < first + seeds; seed += 1) {
  const ended = await runSeed(seed, hours, values.dialects);
  const figures = { ...ended, problems: [...ended.problems, ...(await leftOver())] };
  if (figures.problems.length > 0) wrong += 1;
  process.stdout.write(`${seedLine(figures)}\n`);
}
process.stdout.write(`${seeds} seeds of ${hours} h: ${wrong} wrong\n`);
if (wrong > 0) process.exitCode = 1;
