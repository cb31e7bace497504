/** The rules directory: reads the texts of its files, and loads the rule set from them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, toError } from '../lib/errors.ts';
import { notUtf8At } from '../lib/strings.ts';
import { loadRules } from '../rules/load.ts';
import type { RuleSet } from '../rules/rule.ts';
import { formatProblem } from '../rules/text/problem.ts';
import type { RuleFile } from '../rules/text/yaml.ts';

export interface LoadedRuleSet {
  readonly ruleSet: RuleSet;
  /** Exact texts of the files; the journal keeps them. */
  readonly files: readonly RuleFile[];
}

/** Tells names of tools' files, such as `.gitlab-ci.yml`, by their leading dot. */
function isOfTools(name: string): boolean {
  return name.startsWith('.');
}

/** Tells rule files from lock files of editors, which have the same ending. */
function isRuleFile(name: string): boolean {
  const isRead = name.endsWith('.yaml') || name.endsWith('.csv');
  return isRead && !name.startsWith('.#') && !name.startsWith('._');
}

/** Decodes a CSV table: spreadsheets write UTF-8 or, by the plain "CSV" of Excel, windows-1252. */
function decodeTable(bytes: Buffer): string {
  return new TextDecoder(notUtf8At(bytes) ? 'windows-1252' : 'utf-8').decode(bytes);
}

/**
 * Refuses YAML files with another ending: a rule in a file that is not read would look enforced.
 */
function refuseOtherEnding(names: readonly string[]): void {
  const ending = /\.ya?ml\s*$/i;
  const isOther = (name: string) => ending.test(name) && !name.endsWith('.yaml');
  const other = names.find((name) => isOther(name) && !isOfTools(name));
  if (other === undefined) return;
  throw new ConfigError('rules.file_ending', `"${other}" would not be read as a rule file`, {
    hint: `rename it to ${other.replace(ending, '')}.yaml`,
  });
}

/** Levels of subfolders that are searched for files which somebody may take for rules. */
const FOLDERS_DEEP = 3;

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path).sort();
  } catch {
    // The folder does not exist, or its permissions keep Selvedge out.
    return [];
  }
}

function unreadIn(directory: string, below: string, deep: number): readonly string[] {
  const names = namesIn(join(directory, below));
  // A folder with a settings.yaml is a rule set of its own, such as the cookbook.
  if (deep > 0 && names.includes('settings.yaml')) return [];
  return names.flatMap((name) => {
    if (isOfTools(name) || name === 'node_modules') return [];
    const path = join(below, name);
    if (/\.ya?ml\.txt$/i.test(name) || (deep > 0 && /\.ya?ml$/i.test(name))) return [path];
    return deep < FOLDERS_DEEP ? unreadIn(directory, path, deep + 1) : [];
  });
}

/**
 * Finds files that look like rules but are not read: in a subfolder, or with `.txt` at their end.
 */
export function unreadRuleFiles(directory: string): readonly string[] {
  return unreadIn(directory, '', 0);
}

/**
 * Refuses rule files in another encoding than UTF-8: wrongly decoded texts never equal a fact's, so
 * the rule would never match.
 */
function refuseOtherEncoding(files: readonly { path: string; bytes: Buffer }[]) {
  const places = files.flatMap(({ path, bytes }) => {
    const at = notUtf8At(bytes);
    return at ? [`${path}:${at.line}`] : [];
  });
  if (places.length === 0) return;
  const message = places.map((place) => `${place} is not UTF-8 text`).join('\n');
  throw new ConfigError('rules.encoding', message, { hint: 'save it in this encoding' });
}

function readRuleFile(directory: string, path: string): Buffer {
  const file = join(directory, path);
  try {
    if (!statSync(file).isFile()) throw new Error('it is no file');
    return readFileSync(file);
  } catch (thrown) {
    const message = `${path} cannot be read: ${toError(thrown).message}`;
    throw new ConfigError('rules.unreadable', message, {
      hint: 'what ends in .yaml or .csv is read: mend it, or move it to another folder',
    });
  }
}

/** Reads the texts of the directory's rule files, in the order of their names. */
export function readRuleFiles(directory: string): RuleFile[] {
  try {
    const names = readdirSync(directory).sort();
    refuseOtherEnding(names);
    const files = names
      .filter(isRuleFile)
      .map((path) => ({ path, bytes: readRuleFile(directory, path) }));
    const isTable = ({ path }: { readonly path: string }) => path.endsWith('.csv');
    refuseOtherEncoding(files.filter((file) => !isTable(file)));
    return files.map((file) => {
      const { path, bytes } = file;
      return { path, text: isTable(file) ? decodeTable(bytes) : bytes.toString('utf8') };
    });
  } catch (thrown) {
    if (thrown instanceof ConfigError) throw thrown;
    throw new ConfigError(
      'rules.unreadable',
      `the rules cannot be read: ${toError(thrown).message}`,
      { hint: 'name the directory that holds them, or check rules.directory' },
    );
  }
}

/**
 * Loads the rule set of the directory, or throws a ConfigError that lists every mistake with its
 * place. Tables that are as in the rule set `before` are taken from there.
 */
export function loadRuleSet(directory: string, before?: LoadedRuleSet): LoadedRuleSet {
  const files = readRuleFiles(directory);
  const loaded = loadRules(files, false, before?.ruleSet.tables);
  if ('ruleSet' in loaded) return { ruleSet: loaded.ruleSet, files };
  const list = loaded.problems.map((problem) => `\n${formatProblem(problem)}`).join('');
  throw new ConfigError('rules.invalid', `the rules in ${directory} have mistakes:${list}`);
}
