/**
 * Benchmarks as a command:
 *
 *   npm run bench                          all, one after the other
 *   npm run bench -- NAME [options]        one, with its own options (bench/NAME.ts says which)
 *   npm run bench -- NAME [options] --beside COMMIT [--rounds 3]
 *                                          here and at this commit by turns, medians and ratio
 *
 * The other commit is written to a temporary folder, and the benchmarks of this one are put in the
 * place of its own: both are measured in the same way. One that cannot run there is left out.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT, SelvedgeError, UsageError } from '../src/lib/errors.ts';
import { checkedOut, commitOf, nameHere } from './support/checkout.ts';
import { runBench } from './support/child.ts';
import { compared, type Side } from './support/compared.ts';
import { keep, report } from './support/results.ts';

const ROOT = join(import.meta.dirname, '..');
const ROUNDS = 3;
/** These take many minutes: one round, unless somebody asks for more. */
const LONG: readonly string[] = ['storm', 'year'];
const BENCHES = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.ts') && name !== 'run.ts')
  .map((name) => name.slice(0, -'.ts'.length))
  .sort();

interface Wish {
  /** All, unless one is named. */
  readonly name: string | undefined;
  readonly options: readonly string[];
  readonly beside: string | undefined;
  readonly rounds: number | undefined;
}

function refused(code: string, message: string, hint: string): UsageError {
  return new UsageError(`bench.${code}`, message, { hint });
}

/** Takes an option with its value out of the arguments. */
function taken(args: string[], option: string, value: string): string | undefined {
  const at = args.indexOf(option);
  if (at < 0) return undefined;
  const [, given] = args.splice(at, 2);
  if (given !== undefined && !given.startsWith('-')) return given;
  throw refused('no_value', `${option} has no value`, `write ${option} ${value}`);
}

function roundsOf(text: string): number {
  const rounds = Number(text);
  if (Number.isInteger(rounds) && rounds >= 1) return rounds;
  throw refused('rounds', `--rounds ${text} is no number of rounds`, 'write --rounds 3');
}

function readWish(args: string[]): Wish {
  const beside = taken(args, '--beside', 'COMMIT');
  const rounds = taken(args, '--rounds', '3');
  const [name, ...options] = args;
  if (name !== undefined && !BENCHES.includes(name)) {
    const hint = `name one of ${BENCHES.join(', ')}; its own options stand behind the name`;
    throw refused('unknown', `there is no benchmark ${name}`, hint);
  }
  if (beside !== undefined && name === undefined) {
    const hint = `name one of ${BENCHES.join(', ')} before --beside`;
    throw refused('no_name', '--beside compares one benchmark, and none is named', hint);
  }
  if (rounds !== undefined && beside === undefined) {
    const hint = 'name the commit with which they alternate: --beside COMMIT';
    throw refused('no_commit', '--rounds are those of a comparison', hint);
  }
  return { name, options, beside, rounds: rounds === undefined ? undefined : roundsOf(rounds) };
}

/** Runs them here alone; gives whether all ran and met their goals. */
async function runAlone(names: readonly string[], options: readonly string[]): Promise<boolean> {
  let isWell = true;
  for (const name of names) {
    console.log(`\n== ${name}`);
    const { code, sections } = await runBench({ root: ROOT, name, options });
    for (const section of sections) keep(section);
    isWell &&= code === 0;
  }
  return isWell;
}

interface Comparison {
  readonly name: string;
  readonly options: readonly string[];
  readonly rounds: number;
}

/** Measures both by turns; gives whether both could be measured. */
async function measure(comparison: Comparison, here: Side, there: Side): Promise<boolean> {
  const { name, options, rounds } = comparison;
  const shared = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  try {
    for (let round = 1; round <= rounds; round += 1) {
      // Whoever goes first may have a quieter or a colder machine.
      for (const side of round % 2 === 1 ? [there, here] : [here, there]) {
        console.log(`\n== ${name}, round ${round} of ${rounds}: ${side.label}`);
        const { figures, reason } = await runBench({ root: side.root, name, options, shared });
        if (figures.length === 0) {
          console.log(`\n== ${name} is left out: no figures at ${side.label}: ${reason}`);
          return false;
        }
        side.rounds.push(figures);
      }
    }
    return true;
  } finally {
    rmSync(shared, { recursive: true, force: true });
  }
}

async function runBeside(commit: string, comparison: Comparison): Promise<boolean> {
  const { name, options } = comparison;
  const root = checkedOut(ROOT, commit);
  const here: Side = { root: ROOT, label: nameHere(ROOT), rounds: [] };
  const there: Side = { root, label: commit.slice(0, 8), rounds: [] };
  try {
    const isMeasured = await measure(comparison, here, there);
    if (!isMeasured) return false;
    const text = compared([name, ...options].join(' '), here, there);
    report(`Beside ${there.label}: ${name}`, text);
    return true;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function main(): Promise<boolean> {
  const { name, options, beside, rounds } = readWish(process.argv.slice(2));
  if (beside === undefined || name === undefined) {
    return runAlone(name === undefined ? BENCHES : [name], options);
  }
  const usual = LONG.includes(name) ? 1 : ROUNDS;
  return runBeside(commitOf(ROOT, beside), { name, options, rounds: rounds ?? usual });
}

try {
  process.exitCode = (await main()) ? EXIT.ok.code : EXIT.failure.code;
} catch (error) {
  if (!(error instanceof SelvedgeError)) throw error;
  process.stderr.write(`${error.message}\n  ${error.hint ?? ''}\n`);
  process.exitCode = error instanceof UsageError ? EXIT.usage.code : EXIT.failure.code;
}
