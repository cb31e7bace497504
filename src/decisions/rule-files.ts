/** The rules directory: its texts, and the loaded set of them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, toError } from '../lib/errors.ts';
import { loadRules } from '../rules/load.ts';
import type { RuleSet } from '../rules/rule.ts';
import { formatProblem } from '../rules/text/problem.ts';

interface RuleFile {
  readonly path: string;
  readonly text: string;
}

export interface LoadedRuleSet {
  readonly ruleSet: RuleSet;
  /** The exact texts, for the journal. */
  readonly files: readonly RuleFile[];
}

/** The texts of the directory's rule files, by name. */
export function readRuleFiles(directory: string): RuleFile[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith('.yaml'))
      .sort()
      .map((name) => ({ path: name, text: readFileSync(join(directory, name), 'utf8') }));
  } catch (thrown) {
    throw new ConfigError(
      'rules.unreadable',
      `the rules cannot be read: ${toError(thrown).message}`,
      { hint: 'name the directory that holds them, or check rules.directory' },
    );
  }
}

/** Loads the set, or throws a ConfigError that lists every problem with its place. */
export function loadRuleSet(directory: string): LoadedRuleSet {
  const files = readRuleFiles(directory);
  const loaded = loadRules(files);
  if ('ruleSet' in loaded) return { ruleSet: loaded.ruleSet, files };
  const list = loaded.problems.map((problem) => `\n${formatProblem(problem)}`).join('');
  throw new ConfigError('rules.invalid', `the rules in ${directory} have mistakes:${list}`);
}
