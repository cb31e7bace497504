/** Loads the rule set that a command names: the files of a directory, or a stored set. */
import { statSync } from 'node:fs';
import { loadFilledRuleSet } from '../../decisions/rule-lists.ts';
import { isRuleSetHash, storedRuleSet } from '../../decisions/simulation/rule-sets.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db } from '../../store/store.ts';

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Whether a name is the hash of a stored rule set, to be looked up in the database. */
function isStored(named: string): boolean {
  return isRuleSetHash(named) && !isDirectory(named);
}

/** Loads the rules of a directory, or the stored rule set when a hash is named. */
export async function namedRuleSet(db: Db, named: string): Promise<RuleSet> {
  return isStored(named) ? storedRuleSet(db, named) : (await loadFilledRuleSet(db, named)).ruleSet;
}
