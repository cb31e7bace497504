/**
 * Texts of rules on trial, laid over those in force. A rule that somebody pasted takes the place
 * of the one with its id; a whole file that of the file with its name.
 */
import { isMap, isSeq } from 'yaml';
import { parseYaml } from '../../lib/yaml.ts';
import { LISTS_FILE } from '../../rules/load.ts';
import type { RuleFile } from '../../rules/text/yaml.ts';

export interface TrialFiles {
  readonly files: readonly RuleFile[];
  /** Rules are replaced one by one, files as a whole, or all that is in force is left out. */
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

/** The file without these rules; as it is where it has none of them. */
function withoutRules(file: RuleFile, ids: ReadonlySet<string>): RuleFile {
  if (!file.path.endsWith('.yaml')) return file;
  const parsed = rulesIn(file.text);
  if (!parsed?.rules.items.some((rule) => ids.has(idOf(rule) ?? ''))) return file;
  const { document, rules } = parsed;
  rules.items = rules.items.filter((rule) => !ids.has(idOf(rule) ?? ''));
  if (rules.items.length === 0) rules.flow = true;
  return { ...file, text: document.toString({ lineWidth: 0 }) };
}

/** @param inForce files of the set in force, as they are stored. */
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
  /** Place of the first line in the file, from 1. */
  readonly line: number;
  readonly lines: readonly string[];
}

/** The text of one rule as it stands in its file, with its comments inside; undefined: no such. */
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
