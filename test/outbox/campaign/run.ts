/**
 * The outbox at full size, as a command:
 *
 *   npm run campaign -- outbox [--seeds 50] [--first 1] [--orders 2000] [--refunds 500] [--kills 6]
 *     [--dialects]
 *
 * Seed by seed (seed.ts) through all four doors, with faults and real kills. One line a seed and a
 * summary; exits 1 when anything is lost, doubled or otherwise wrong.
 */
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../../src/cli/arguments.ts';
import { runSeed, type SeedFigures } from './seed.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '50' },
    first: { type: 'string', default: '1' },
    orders: { type: 'string', default: '2000' },
    refunds: { type: 'string', default: '500' },
    kills: { type: 'string', default: '6' },
    dialects: { type: 'boolean', default: false },
  },
});
const number = wholeNumber();
const [first, seeds] = [number(values.first), number(values.seeds)];
const size = {
  orders: number(values.orders),
  refunds: number(values.refunds),
  kills: number(values.kills),
  dialects: values.dialects,
};

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function counted(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

function outcome(figures: Omit<SeedFigures, 'seed' | 'took' | 'problems'>): string {
  const { documents, repeats, confirmed, inDoubt, refused, lost, doubles, kills, most } = figures;
  return (
    `${documents} documents (${repeats} twice): ${confirmed} confirmed, ${inDoubt} in doubt, ` +
    `${refused} refused, lost ${lost}, doubles ${doubles}; ${kills} kills; ` +
    `attempts: ${counted(figures.attempts)}; faults: ${counted(figures.faults)}; ` +
    `${figures.requests} requests; at most ${most.descriptors} descriptors, ` +
    `${most.peakMiB.toFixed(0)} MiB, ${most.logMiB.toFixed(0)} MiB of log`
  );
}

function seedLine(figures: SeedFigures): string {
  const { seed, took, problems } = figures;
  const verdict = problems.length === 0 ? 'right' : 'WRONG';
  const [daemon, here] = [took.daemon.toFixed(0), took.here.toFixed(0)];
  const told = problems.slice(0, 20).map((problem) => `\n     ${problem.slice(0, 2_000)}`);
  return (
    `${verdict} seed ${seed}: ${outcome(figures)}; ${took.wall.toFixed(0)} s, ` +
    `the daemon ${daemon} s of processor, the other side ${here} s${told.join('')}`
  );
}

function added(
  all: readonly SeedFigures[],
  of: (figures: SeedFigures) => Readonly<Record<string, number>>,
): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const figures of all) {
    for (const [name, count] of Object.entries(of(figures))) sums[name] = (sums[name] ?? 0) + count;
  }
  return sums;
}

const all: SeedFigures[] = [];
for (let seed = first; seed < first + seeds; seed += 1) {
  const figures = await runSeed({ seed, ...size });
  all.push(figures);
  say(seedLine(figures));
}
const sum = (of: (figures: SeedFigures) => number): number =>
  all.reduce((total, figures) => total + of(figures), 0);
const largest = (of: (figures: SeedFigures) => number): number => Math.max(0, ...all.map(of));
const wrong = all.filter(({ problems }) => problems.length > 0).length;
const totals = {
  documents: sum(({ documents }) => documents),
  repeats: sum(({ repeats }) => repeats),
  confirmed: sum(({ confirmed }) => confirmed),
  inDoubt: sum(({ inDoubt }) => inDoubt),
  refused: sum(({ refused }) => refused),
  lost: sum(({ lost }) => lost),
  doubles: sum(({ doubles }) => doubles),
  kills: sum(({ kills }) => kills),
  requests: sum(({ requests }) => requests),
  attempts: added(all, ({ attempts }) => attempts),
  faults: added(all, ({ faults }) => faults),
  most: {
    descriptors: largest(({ most }) => most.descriptors),
    peakMiB: largest(({ most }) => most.peakMiB),
    logMiB: largest(({ most }) => most.logMiB),
  },
};
say(`${all.length} seeds, ${outcome(totals)}: ${wrong} wrong`);
process.exitCode = wrong === 0 ? 0 : 1;
