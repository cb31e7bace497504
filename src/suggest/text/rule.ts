/** The text of a proposed rule, and of a rule with a proposed exception. */
import { isMap, isSeq, type YAMLMap } from 'yaml';
import { isJsonObject } from '../../lib/json.ts';
import { parseYaml } from '../../lib/yaml.ts';
import type { Rule } from '../../rules/rule.ts';
import type { RuleFile } from '../../rules/text/yaml.ts';
import { type Given, mergeGiven } from '../facts/field.ts';
import { type Condition, joined, shown } from './conditions.ts';
import { knowing, neededBy } from './known.ts';
import { type RuleTest, testLines } from './tests.ts';
import { listed, single } from './yaml.ts';

/** File of proposed rules, beside those in force. */
export const SUGGESTED_FILE = 'suggested.yaml';

const NAME_CHARS_MAX = 48;

/** Words of the facts that the conditions read, for an id: `country-quantity`. */
function words(conditions: readonly Condition[]): string {
  const names = conditions.map(({ field }) =>
    field.name.split(/[ .]/).filter((word) => word.length > 2),
  );
  const last = names.map(
    (parts) => parts.filter((part) => !/^[A-Z<>=]+$/.test(part)).at(-1) ?? 'fact',
  );
  const plain = [...new Set(last)]
    .join('-')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');
  return plain.slice(0, NAME_CHARS_MAX).replaceAll(/^-|-$/g, '');
}

export function idFor(
  action: string,
  conditions: readonly Condition[],
  taken: ReadonlySet<string>,
): string {
  return freeId(`${action}-by-${words(conditions)}`, taken);
}

/** The id, with a number if it is taken. */
export function freeId(id: string, taken: Pick<ReadonlySet<string>, 'has'>): string {
  for (let count = 1; ; count += 1) {
    const candidate = count === 1 ? id : `${id}-${count}`;
    if (!taken.has(candidate)) return candidate;
  }
}

function titleOf(action: string, conditions: readonly Condition[]): string {
  const verb = action === 'accept' ? 'Accept' : 'Hold';
  return `${verb} as people do: ${conditions.map(shown).join(', ')}`;
}

/** Facts that a message shows: those of simple paths, besides pieces and value. */
function messageOf(conditions: readonly Condition[]): string {
  const usual = '{{delivery.quantity}} pcs, {{delivery.amount}} {{delivery.currency}}';
  const paths = conditions.flatMap(({ field }) => field.reads.slice(0, 1));
  const more = [...new Set(paths)].filter(
    (path) => /^(?:order|customer|clock)\.[a-z_]+$/.test(path) && !/comment|currency/.test(path),
  );
  return [...more.map((path) => `{{${path}}}`), usual].join(', ');
}

export interface NewRule {
  readonly id: string;
  readonly action: 'accept' | 'hold';
  readonly owner: string | undefined;
  readonly conditions: readonly Condition[];
  readonly tests: readonly RuleTest[];
  /** Comments above the rule. */
  readonly remarks: readonly string[];
}

export function newRuleText(rule: NewRule): string {
  const { id, action, owner, conditions, tests, remarks } = rule;
  const positive = conditions.filter(({ negated }) => !negated).map(({ text }) => text);
  const negative = conditions.filter(({ negated }) => negated).map(({ text }) => text);
  // A rule needs a condition that is true.
  const isNegative = positive.length === 0;
  const when = isNegative ? negative.map((text) => `!(${text})`) : positive;
  const unless = isNegative ? [] : negative;
  return [
    'rules:',
    ...remarks.map((remark) => `  # ${remark}`),
    `  - id: ${id}`,
    `    title: ${single(titleOf(action, conditions))}`,
    `    action: ${action}`,
    '    mode: shadow',
    ...(owner === undefined ? [] : [`    owner: ${single(owner)}`]),
    ...listed('when', when),
    ...listed('unless', unless),
    ...(action === 'hold' ? ['    hold: { at_most: 2 business days, then: escalate }'] : []),
    `    message: ${single(messageOf(conditions))}`,
    ...testLines(tests),
    '',
  ].join('\n');
}

function ruleIn(files: readonly RuleFile[], id: string) {
  for (const { path, text } of files) {
    if (!path.endsWith('.yaml') || !text.includes(id)) continue;
    const { document } = parseYaml(text);
    const rules = document.errors.length === 0 ? document.get('rules') : undefined;
    if (!isSeq(rules)) continue;
    const node = rules.items.find((rule) => isMap(rule) && rule.get('id') === id);
    if (isMap(node)) return { document, rules, node };
  }
  return undefined;
}

interface NodeMaker {
  createNode(value: unknown, options: typeof PLAIN): unknown;
}

/** Rule files have no aliases. */
const PLAIN = { aliasDuplicateObjects: false } as const;

function append(document: NodeMaker, node: YAMLMap, key: string, values: readonly unknown[]): void {
  const known = node.get(key);
  if (isSeq(known)) for (const value of values) known.items.push(document.createNode(value, PLAIN));
  else node.set(key, document.createNode(values, PLAIN));
}

/** Gives tests of the rule facts by which the exception does not apply; their own count more. */
function leadAround(
  document: NodeMaker,
  node: YAMLMap,
  { names, given }: { readonly names: ReadonlySet<string>; readonly given: Given },
): void {
  const tests = node.get('tests');
  for (const test of isSeq(tests) ? tests.items : []) {
    if (!isMap(test) || !names.has(String(test.get('name')))) continue;
    const own = test.get('given');
    const written: unknown = isMap(own) ? own.toJSON() : {};
    const merged = mergeGiven([given, isJsonObject(written) ? written : {}]);
    test.set('given', document.createNode(merged, PLAIN));
  }
}

/** The rule with one more exception; undefined: no file has the rule. */
export function withException(
  files: readonly RuleFile[],
  rule: Rule,
  change: {
    readonly conditions: readonly Condition[];
    readonly tests: readonly RuleTest[];
    /** Facts with which tests of these names get around the exception. */
    readonly around?: { readonly names: ReadonlySet<string>; readonly given: Given };
    readonly as?: { readonly id: string; readonly mode: string };
    readonly remarks: readonly string[];
  },
): string | undefined {
  const found = ruleIn(files, rule.id);
  if (!found) return undefined;
  const { document, rules, node } = found;
  append(document, node, 'unless', [knowing(neededBy(rule), joined(change.conditions))]);
  if (change.around) leadAround(document, node, change.around);
  if (change.tests.length > 0) append(document, node, 'tests', change.tests);
  if (change.as) {
    node.set('id', change.as.id);
    node.set('mode', change.as.mode);
  }
  rules.items = [node];
  const text = document.toString({ lineWidth: 0 });
  const above = change.remarks.map((remark) => `# ${remark}\n`).join('');
  return `${above}${text}`;
}
