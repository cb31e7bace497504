/** The rules directory: its texts, and the loaded set of them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, toError } from '../lib/errors.ts';
import { notUtf8At } from '../lib/text/utf8.ts';
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

/** A rule in a file that is not read would look enforced and enforce nothing. */
function refuseOtherEnding(names: readonly string[]): void {
  const other = names.find((name) => name.endsWith('.yml'));
  if (other === undefined) return;
  throw new ConfigError('rules.file_ending', `${other} would not be read as a rule file`, {
    hint: `rename it to ${other.slice(0, -4)}.yaml`,
  });
}

/** A text decoded from bytes of another encoding is never what a fact says: no rule would match. */
function refuseOtherEncoding(files: readonly { path: string; bytes: Buffer }[]) {
  const places = files.flatMap(({ path, bytes }) => {
    const at = notUtf8At(bytes);
    return at ? [`${path}:${at.line}`] : [];
  });
  if (places.length === 0) return;
  const message = places.map((place) => `${place} is not UTF-8 text`).join('\n');
  throw new ConfigError('rules.encoding', message, { hint: 'save it in this encoding' });
}

/** The texts of the directory's rule files, by name. */
export function readRuleFiles(directory: string): RuleFile[] {
  try {
    const names = readdirSync(directory).sort();
    refuseOtherEnding(names);
    const files = names
      .filter((name) => name.endsWith('.yaml'))
      .map((path) => ({ path, bytes: readFileSync(join(directory, path)) }));
    refuseOtherEncoding(files);
    return files.map(({ path, bytes }) => ({ path, text: bytes.toString('utf8') }));
  } catch (thrown) {
    if (thrown instanceof ConfigError) throw thrown;
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
