/**
 * Lays the texts of rules on trial over those in force. A pasted rule replaces the rule with the
 * same id, a whole file the file with the same name.
 */
import { isMap, isSeq } from 'yaml';
import { parseYaml } from '../../lib/yaml.ts';
import { LISTS_FILE } from '../../rules/load.ts';
import type { RuleFile } from '../../rules/text/yaml.ts';

export interface TrialFiles {
  readonly files: readonly RuleFile[];
  /**
   * Extent of the replacement: `rules` replaces single rules by id, `files` whole files by name,
   * `all` everything in force.
   */
  readonly over: 'rules' | 'files' | 'all';
}

function rulesIn(text: string) {
  const { document } = parseYaml(text);
  const rules = document.errors.length === 0 ? document.get('rules') : undefined;
  return isSeq(rules) ? { document, rules } : undefined;
}

function idOf(rule: unknown): string | undefined {
  const id = isMap(rule) ? rule.get('id') : undefined;
  return typeof id === 'string' ? id : undefined;
}

/** The rule file without the rules of these ids; unchanged if it has none of them. */
function withoutRules(file: RuleFile, ids: ReadonlySet<string>): RuleFile {
  if (!file.path.endsWith('.yaml')) return file;
  const parsed = rulesIn(file.text);
  if (!parsed?.rules.items.some((rule) => ids.has(idOf(rule) ?? ''))) return file;
  const { document, rules } = parsed;
  rules.items = rules.items.filter((rule) => !ids.has(idOf(rule) ?? ''));
  if (rules.items.length === 0) rules.flow = true;
  return { ...file, text: document.toString({ lineWidth: 0 }) };
}

/**
 * Gives the files of the rule set on trial.
 * @param inForce files of the rule set in force, as they are stored.
 */
export function layOver(
  inForce: readonly RuleFile[],
  { files, over }: TrialFiles,
): readonly RuleFile[] {
  if (over === 'all') return files;
  const names = new Set(files.map(({ path }) => path));
  const kept = inForce.filter(({ path }) => path !== LISTS_FILE && !names.has(path));
  if (over === 'files') return [...kept, ...files];
  const ids = files.flatMap(({ text }) => rulesIn(text)?.rules.items.map(idOf) ?? []);
  const given = new Set(ids.filter((id) => id !== undefined));
  return [...kept.map((file) => withoutRules(file, given)), ...files];
}

export interface RuleText {
  readonly file: string;
  /** Line of the file in which the rule begins, from 1. */
  readonly line: number;
  readonly lines: readonly string[];
}

/**
 * Text of one rule as its file has it, with the comments inside; undefined: there is no such rule.
 */
export function textOfRule(files: readonly RuleFile[], id: string): RuleText | undefined {
  for (const { path, text } of files) {
    if (!path.endsWith('.yaml') || !text.includes(id)) continue;
    const { document, placeAt } = parseYaml(text);
    const rules = document.get('rules');
    const node = isSeq(rules) ? rules.items.find((rule) => idOf(rule) === id) : undefined;
    if (!isMap(node) || !node.range) continue;
    const [start, end] = node.range;
    const first = placeAt(start).line;
    const last = placeAt(Math.max(start, end - 1)).line;
    const lines = text.split('\n').slice(first - 1, last);
    while (lines.at(-1)?.trim() === '') lines.pop();
    return { file: path, line: first, lines };
  }
  return undefined;
}
