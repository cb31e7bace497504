/**
 * The long version of the fault tests, as a command:
 *
 *   npm run campaign -- pull [--seeds 200] [--first 1] [--kills 50] [--rows 100000] [--dialects]
 *
 * Every stream against a service that misbehaves, seed by seed (seed.ts), and a pull of many rows
 * that is killed at random points, in both paging modes (kill.ts). One line a seed, one a mode, a
 * table of what struck which stream, and a summary; exits 1 when anything is wrong, or when a seed
 * leaves more memory or descriptors taken than the first one. `--seeds 0` or `--kills 0` leaves a
 * part out.
 */
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../../src/cli/arguments.ts';
import { type KillFigures, runKills } from './kill.ts';
import { createLeftOverJudge } from './left-over.ts';
import { runSeed, type SeedFigures, type StreamFigures } from './seed.ts';
import { KINDS } from './trouble.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
    kills: { type: 'string', default: '50' },
    rows: { type: 'string', default: '100000' },
    dialects: { type: 'boolean', default: false },
  },
});
const [seeds, first, kills, rows] = [values.seeds, values.first, values.kills, values.rows].map(
  wholeNumber(),
);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function problemLines(problems: readonly string[]): string {
  return problems.map((problem) => `\n     ${problem.slice(0, 2_000)}`).join('');
}

function seedLine(figures: SeedFigures): string {
  const { seed, mode, runs, faults, retries, quarantined, changes, problems } = figures;
  const outcomes = Object.entries(figures.outcomes).map(([name, count]) => `${count} ${name}`);
  const verdict = problems.length === 0 ? 'equal' : 'WRONG';
  return (
    `${verdict} seed ${seed} ${mode}: ${runs} runs (${outcomes.join(', ')}), ${faults} faults, ` +
    `${retries} retries, ${quarantined} quarantined, ${changes} changes, ` +
    `${figures.seconds.toFixed(1)} s${problemLines(problems)}`
  );
}

function killLine(figures: KillFigures): string {
  const { mode, kills: count, problems, pagesAtKills } = figures;
  const verdict = problems.length === 0 ? 'equal' : 'WRONG';
  return (
    `${verdict} ${count} kills, mode ${mode}: ${figures.rows} rows, at pages ` +
    `${pagesAtKills[0]} to ${pagesAtKills.at(-1)}, ` +
    `${figures.seconds.toFixed(1)} s${problemLines(problems)}`
  );
}

/** Stream × seeds, runs, rows compared, moves of the world, and what struck its requests. */
function streamTable(seeds: readonly SeedFigures[]): string {
  const kinds = [...KINDS, 'revoked'];
  const names = Object.keys(seeds[0]?.streams ?? {});
  const rows = names.map((name) => {
    const own = seeds.flatMap(({ streams }) => streams[name] ?? []);
    const sum = (of: (figures: StreamFigures) => number): number =>
      own.reduce((total, figures) => total + of(figures), 0);
    const struck = kinds.map((kind) => sum(({ faults }) => faults[kind] ?? 0));
    const all = [sum(({ runs }) => runs), sum(({ rows: n }) => n), sum(({ moves }) => moves)];
    return [name, own.length, ...all, ...struck];
  });
  const table = [['stream', 'seeds', 'runs', 'rows', 'moves', ...kinds], ...rows];
  const widths = table[0]?.map((_, at) => Math.max(...table.map((row) => `${row[at]}`.length)));
  const line = (row: readonly unknown[]): string =>
    row.map((cell, at) => `${cell}`.padStart(widths?.[at] ?? 0)).join('  ');
  return table.map(line).join('\n');
}

const leftOver = createLeftOverJudge();
const all: SeedFigures[] = [];
for (let seed = first ?? 1; seed < (first ?? 1) + (seeds ?? 0); seed += 1) {
  const ended = await runSeed(seed, { dialects: values.dialects });
  const figures = { ...ended, problems: [...ended.problems, ...(await leftOver())] };
  all.push(figures);
  say(seedLine(figures));
}
const killed: KillFigures[] = [];
for (const mode of kills === 0 ? [] : (['stream', 'pages'] as const)) {
  const figures = await runKills({ mode, kills: kills ?? 50, rows: rows ?? 100_000, seed: 1 });
  killed.push(figures);
  say(killLine(figures));
}
if (all.length > 0) say(streamTable(all));
const sum = (of: (figures: SeedFigures) => number): number =>
  all.reduce((total, figures) => total + of(figures), 0);
const wrong = [...all, ...killed].filter(({ problems }) => problems.length > 0).length;
say(
  `${all.length} seeds, ${sum(({ runs }) => runs)} runs, ${sum(({ faults }) => faults)} faults, ` +
    `${killed.reduce((total, figures) => total + figures.kills, 0)} kills: ${wrong} wrong`,
);
process.exitCode = wrong === 0 ? 0 : 1;
