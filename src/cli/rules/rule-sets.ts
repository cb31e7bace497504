/** Which rules a command of this folder is about: a directory, a stored set, or the configured. */
import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { loadFilledRuleSet } from '../../decisions/lists/read.ts';
import { isRuleSetHash, storedRuleSet } from '../../decisions/trial/rule-sets.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db } from '../../store/store.ts';
import type { CliContext } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';

/** The directory that was named, else the configured one; only then is a configuration needed. */
export function rulesDirectory(
  command: Command,
  context: CliContext,
  named: string | undefined,
): string {
  return named ?? configOf(command, context).config.rules.directory;
}

/** Says of each file that somebody may take for rules that it is none. */
export function noteUnread(output: Output, unread: readonly string[]): void {
  const where = 'rules are what ends in .yaml in the folder itself';
  for (const path of unread) output.note(`warning: ${path} is not read; ${where}`);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Whether the rules that somebody named must be looked up in the database. */
export function isStored(named: string): boolean {
  return isRuleSetHash(named) && !isDirectory(named);
}

/** The rules of a directory, or those that decided before when a hash is named. */
export async function namedRuleSet(db: Db, named: string): Promise<RuleSet> {
  return isStored(named) ? storedRuleSet(db, named) : (await loadFilledRuleSet(db, named)).ruleSet;
}
