/**
 * Rule sets that can be tried: that of a directory, and those that decided before, which are stored
 * by their hash with their exact texts.
 */
import { ConfigError, invariant, SelvedgeError } from '../../lib/errors.ts';
import { loadRules } from '../../rules/load.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { formatProblem } from '../../rules/text/problem.ts';
import { readState } from '../../store/state.ts';
import type { Db } from '../../store/store.ts';
import type { LoadedRuleSet } from '../rule-files.ts';
import { RULES_IN_FORCE } from '../rule-keeper.ts';
import { readRuleSetFiles } from '../rule-texts.ts';

/** Minimum length of a hash's beginning: a shorter one could easily mean another rule set. */
const PREFIX_CHARS_MIN = 6;

/** Whether a text can be the hash of a rule set, or the beginning of one. */
export function isRuleSetHash(text: string): boolean {
  return text.length >= PREFIX_CHARS_MIN && /^[0-9a-f]{1,64}$/.test(text);
}

async function hashBeginning(db: Db, prefix: string): Promise<string> {
  const rows = await db
    .selectFrom('rule_set')
    .select('hash')
    .where('hash', '>=', prefix)
    .where('hash', '<', `${prefix}g`)
    .limit(2)
    .execute();
  const [first, second] = rows;
  if (first === undefined || second !== undefined) {
    const what = first === undefined ? 'no rule set' : 'more than one rule set';
    throw new SelvedgeError('rules.unknown_set', `${what} in the journal begins with ${prefix}`, {
      hint: 'name a directory, or more of the hash (see: selvedge deliveries explain <delivery>)',
    });
  }
  return first.hash;
}

/**
 * Reads a rule set from the database.
 * @throws ConfigError when this version cannot read it
 */
async function readRuleSet(db: Db, hash: string): Promise<LoadedRuleSet> {
  const files = await readRuleSetFiles(db, hash);
  invariant(files !== undefined, `the journal has no rule set ${hash}`);
  const loaded = loadRules(files, true);
  if ('ruleSet' in loaded) return { ruleSet: loaded.ruleSet, files };
  const list = loaded.problems.map((problem) => `\n${formatProblem(problem)}`).join('');
  throw new ConfigError('rules.outdated', `this version cannot read rule set ${hash}:${list}`);
}

/** Reads the rule set with this hash, or with a hash that begins so. */
export async function storedRuleSet(db: Db, prefix: string): Promise<RuleSet> {
  return (await readRuleSet(db, await hashBeginning(db, prefix))).ruleSet;
}

/** Reads the rule set in force; an empty one if none was loaded yet. */
export async function ruleSetInForce(db: Db): Promise<LoadedRuleSet> {
  const hash = await readState(db, RULES_IN_FORCE);
  if (hash !== undefined) return readRuleSet(db, hash);
  const none = loadRules([]);
  invariant('ruleSet' in none, 'an empty set of rules cannot be loaded');
  return { ruleSet: none.ruleSet, files: [] };
}
