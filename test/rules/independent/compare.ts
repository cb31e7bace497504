/**
 * Compares, for one random set after the other, what the rules say about random deliveries with
 * what a reader of the manual says.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { windowFacts } from '../../../src/decisions/calendar.ts';
import { baseRate } from '../../../src/decisions/facts/customer.ts';
import { loadRuleSet } from '../../../src/decisions/rule-files.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { type Evaluation, evaluate } from '../../../src/rules/evaluate.ts';
import type { Facts } from '../../../src/rules/facts/plain.ts';
import type { RuleSet } from '../../../src/rules/rule.ts';
import { judge, type Moment, type Verdict } from './judging.ts';
import { type Fact, readFacts } from './pages.ts';
import { type RandomSet, randomSet } from './sets.ts';
import { randomFacts } from './world.ts';

const DELIVERIES = 6;

export interface Figures {
  sets: number;
  deliveries: number;
  /** Rules asked, by their value. */
  readonly values: Record<string, number>;
  readonly outcomes: Record<string, number>;
  readonly disagreements: string[];
}

function count(of: Record<string, number>, name: string): void {
  of[name] = (of[name] ?? 0) + 1;
}

export function load(set: RandomSet): RuleSet {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-independent-'));
  try {
    mkdirSync(folder, { recursive: true });
    for (const { path, bytes } of set.files) writeFileSync(join(folder, path), bytes);
    return loadRuleSet(folder).ruleSet;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function said({ rules, live, shadow }: Evaluation): Verdict {
  const outcome = ({ kind, rules: ids }: Evaluation['live']) => ({ kind, rules: ids.toSorted() });
  const value = (is: boolean | 'unknown') => (is === 'unknown' ? undefined : is);
  return {
    values: Object.fromEntries(rules.map((rule) => [rule.id, value(rule.value)])),
    live: outcome(live),
    shadow: outcome(shadow),
  };
}

function randomMoment(random: Random, set: RandomSet): Moment {
  const some = () => new Set(set.rules.filter(() => random.chance(0.4)).map(({ id }) => id));
  const daemon = random.chance(0.9) ? 'live' : 'shadow';
  return { armed: some(), lapsed: some(), daemon };
}

/** Windows and rates are filled in by the facts, not by the rules. */
function toldOtherwise({ told }: RandomSet, ruleSet: RuleSet): readonly string[] {
  const { settings } = ruleSet;
  const problems: string[] = [];
  for (const season of ['AW26', 'SS27', 'SS99', null]) {
    for (const name of ['1st', '2nd', '3rd', null]) {
      const made = windowFacts(season, name, settings);
      const mine = told.window(season, name);
      const same =
        made.window_from === (mine?.from ?? null) && made.window_to === (mine?.to ?? null);
      if (!same) problems.push(`window ${season} ${name}: ${JSON.stringify([made, mine])}`);
    }
  }
  for (const currency of ['DKK', 'EUR', 'SEK', null]) {
    const [made, mine] = [baseRate(currency, settings), told.rate(currency)];
    if (made !== mine) problems.push(`rate of ${currency}: ${made}, ${mine}`);
  }
  return problems;
}

function texts(set: RandomSet): string {
  return set.files.map(({ path, bytes }) => `# ${path}\n${bytes.toString()}`).join('\n');
}

function asked(ruleSet: RuleSet, delivery: Facts, { armed, lapsed, daemon }: Moment): Evaluation {
  const hashes = ruleSet.rules.flatMap(({ id, textHash }) => (lapsed.has(id) ? [textHash] : []));
  return evaluate(ruleSet, delivery, { mode: daemon, armed, lapsed: new Set(hashes) });
}

function runSeed(seed: number, facts: readonly Fact[], figures: Figures): void {
  const random = seededRandom(seed);
  const set = randomSet(random, facts);
  figures.sets += 1;
  const tell = (what: string) => figures.disagreements.push(`seed ${seed}: ${what}\n${texts(set)}`);
  let ruleSet: RuleSet;
  try {
    ruleSet = load(set);
  } catch (thrown) {
    tell(String(thrown));
    return;
  }
  for (const problem of toldOtherwise(set, ruleSet)) tell(problem);
  const byPath = new Map(facts.map((fact) => [fact.path, fact]));
  for (let at = 0; at < DELIVERIES; at += 1) {
    const delivery = randomFacts(random, facts, set.told, random.pick([0, 0, 0.05, 0.25]));
    const moment = randomMoment(random, set);
    const [mine, theirs] = [
      judge(set, byPath, delivery, moment),
      said(asked(ruleSet, delivery, moment)),
    ];
    figures.deliveries += 1;
    count(figures.outcomes, theirs.live.kind);
    for (const value of Object.values(theirs.values)) count(figures.values, String(value));
    const [wanted, got] = [mine, theirs].map((one) =>
      JSON.stringify(one, (_, value) => value ?? null),
    );
    if (wanted !== got) {
      tell(`the manual says ${wanted}\nthe rules say ${got}\nabout ${JSON.stringify(delivery)}`);
      return;
    }
  }
}

/** Compares that many sets. */
export function compareSets(first: number, sets: number): Figures {
  const facts = readFacts();
  const none = { sets: 0, deliveries: 0, values: {}, outcomes: {}, disagreements: [] };
  const figures: Figures = { ...none, disagreements: [] };
  for (let seed = first; seed < first + sets; seed += 1) runSeed(seed, facts, figures);
  return figures;
}
