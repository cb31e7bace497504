/** Writes a configuration file of given and found settings: short, and each line says why. */
import { stringify } from 'yaml';
import { canonicalJson, isJsonObject } from '../lib/json.ts';
import type { Finding } from './findings.ts';

export interface Line {
  readonly setting: string;
  readonly value: unknown;
  /** Comment above the setting; empty: none. */
  readonly about: string;
}

const COMMENT_CHARS_MAX = 96;

interface Branch {
  readonly [name: string]: Branch | Line;
}

const isLine = (node: Branch | Line): node is Line => typeof node.setting === 'string';

function wrapped(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    const next = line === '' ? word : `${line} ${word}`;
    if (line !== '' && indent.length + 2 + next.length > COMMENT_CHARS_MAX) {
      lines.push(line);
      line = word;
    } else line = next;
  }
  return [...lines, line].filter((one) => one !== '').map((one) => `${indent}# ${one}`);
}

/** Writes a value as YAML on one line, to stand after the setting's name. */
function inline(value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
}

function put(tree: Branch, steps: readonly string[], line: Line): Branch {
  const [name = '', ...rest] = steps;
  const below = tree[name];
  const inner = below && !isLine(below) ? below : {};
  return { ...tree, [name]: rest.length === 0 ? line : put(inner, rest, line) };
}

function shown(tree: Branch, indent = ''): string[] {
  return Object.entries(tree).flatMap(([name, node]) =>
    isLine(node)
      ? [...wrapped(node.about, indent), `${indent}${name}: ${inline(node.value)}`]
      : [`${indent}${name}:`, ...shown(node, `${indent}  `)],
  );
}

function valueAt(defaults: unknown, setting: string): unknown {
  let at = defaults;
  for (const step of setting.split('.')) at = isJsonObject(at) ? at[step] : undefined;
  return at;
}

const isSame = (one: unknown, other: unknown): boolean =>
  canonicalJson({ one }) === canonicalJson({ one: other });

/** Keeps the last finding for each setting, without those that are too doubtful to be set. */
function settled(findings: readonly Finding[]): readonly Finding[] {
  const sure = findings.filter(({ setting, isOff }) => setting !== undefined && isOff !== true);
  return [...new Map(sure.map((finding) => [finding.setting, finding])).values()];
}

/** Lists the findings whose value differs from the given values. */
export function differing(findings: readonly Finding[], values: unknown): readonly Finding[] {
  return settled(findings).filter(
    ({ setting = '', value }) => !isSame(value, valueAt(values, setting)),
  );
}

function aboutOf({ seen, doubt }: Finding): string {
  return doubt === undefined ? seen : `${seen}. Look at it: ${doubt}`;
}

export interface ConfigurationParts {
  /** First lines of the file, written as comments. */
  readonly head: readonly string[];
  readonly given: readonly Line[];
  readonly findings: readonly Finding[];
  /** Shipped default configuration, as plain values. */
  readonly defaults: unknown;
  /** Paths of all settings, in the order in which they are written. */
  readonly order: readonly string[];
}

export function configurationText(parts: ConfigurationParts): string {
  const { head, given, findings, defaults, order } = parts;
  const taken = new Set(given.map(({ setting }) => setting));
  const found = differing(findings, defaults)
    .filter(({ setting = '' }) => !taken.has(setting))
    .map((finding) => ({
      setting: finding.setting ?? '',
      value: finding.value,
      about: aboutOf(finding),
    }));
  const place = new Map(order.map((setting, at) => [setting, at]));
  const lines = [...given, ...found].sort(
    (a, b) => (place.get(a.setting) ?? 0) - (place.get(b.setting) ?? 0),
  );
  const tree = lines.reduce<Branch>((all, line) => put(all, line.setting.split('.'), line), {});
  const off = findings.filter(({ isOff }) => isOff === true);
  const unsure = off.flatMap((finding) => [
    ...wrapped(`${finding.setting}: ${inline(finding.value)}`, ''),
    ...wrapped(aboutOf(finding), '').map((line) => line.replace('# ', '#     ')),
  ]);
  const tail = off.length === 0 ? [] : ['', '# Not sure enough to be set:', ...unsure];
  return [...head.flatMap((line) => wrapped(line, '')), '', ...shown(tree), ...tail, ''].join('\n');
}
