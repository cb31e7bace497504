/** The rules that a command of this folder is about: those of a directory, or a stored set. */
import { statSync } from 'node:fs';
import { loadFilledRuleSet } from '../../decisions/rule-lists.ts';
import { isRuleSetHash, storedRuleSet } from '../../decisions/simulation/rule-sets.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db } from '../../store/store.ts';

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Whether the rules that somebody named must be looked up in the database. */
function isStored(named: string): boolean {
  return isRuleSetHash(named) && !isDirectory(named);
}

/** The rules of a directory, or those that decided before when a hash is named. */
export async function namedRuleSet(db: Db, named: string): Promise<RuleSet> {
  return isStored(named) ? storedRuleSet(db, named) : (await loadFilledRuleSet(db, named)).ruleSet;
}
