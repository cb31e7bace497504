/** Finds the texts that rules compare facts with: in conditions, in lists and as keys of tables. */
import type { ASTNode } from '@marcbachmann/cel-js';
import { childrenOf, textOf } from '../cel/tree.ts';
import type { Rule, RuleSet } from '../rule.ts';
import { DEFAULT_KEY } from '../table-tree.ts';
import { factAt, type Place, shapeIn, walk } from './limits.ts';

export interface ComparedText {
  readonly rule: Rule;
  /** Line of the condition in the rule file. */
  readonly line: number;
  /** Path of the compared fact: `order.country`, `delivery.lines.brand`. */
  readonly path: string;
  readonly text: string;
  /** List or table that contains the text; undefined if the condition itself does. */
  readonly within?: string | undefined;
  /** Whether upper and lower case count as equal, because the fact is inside `lower()`. */
  readonly folded: boolean;
}

type Found = Omit<ComparedText, 'rule' | 'line'>;

/** Fact that the node reads, directly or inside `lower()`; undefined if it reads none. */
function factBelow(node: ASTNode, place: Place) {
  const folded = node.op === 'call' && node.args[0] === 'lower';
  const inner = folded ? node.args[1][0] : node;
  const path = inner && factAt(inner, place)?.path;
  return path === undefined ? undefined : { path, folded };
}

function listed(
  node: ASTNode,
  place: Place,
  { settings }: RuleSet,
): readonly Omit<Found, 'path' | 'folded'>[] {
  if (node.op === 'list') {
    return node.args.flatMap((item) => {
      const text = textOf(item);
      return text === undefined ? [] : [{ text }];
    });
  }
  const shape = shapeIn(node, place);
  if (shape.kind !== 'list') return [];
  const name = shape.path.slice('lists.'.length);
  if (Object.hasOwn(settings.list_sources, name)) return [];
  const values = settings.lists[name] ?? [];
  return values.flatMap((text) => (typeof text === 'string' ? [{ text, within: shape.path }] : []));
}

/**
 * Keys of a table at the level that this node reads: the first, second or third key of its rows.
 */
function keysOf(
  node: ASTNode,
  place: Place,
  { settings }: RuleSet,
): readonly Omit<Found, 'path' | 'folded'>[] {
  let [level, table] = [0, node];
  for (; table.op === '[]'; table = table.args[0]) level += 1;
  const shape = shapeIn(table, place);
  if (shape.kind !== 'table') return [];
  const name = shape.path.slice('tables.'.length);
  const rows = settings.table_files[name]?.rows.map(({ keys }) => keys[level - 1] ?? '');
  const keys = new Set(rows ?? Object.keys(settings.tables[name] ?? {}));
  return [...keys].flatMap((text) => (text === DEFAULT_KEY ? [] : [{ text, within: shape.path }]));
}

function foundAt(node: ASTNode, place: Place, ruleSet: RuleSet): readonly Found[] {
  const [left, right] = childrenOf(node);
  if (!left || !right) return [];
  if (node.op === '[]') {
    const fact = factBelow(right, place);
    return fact ? keysOf(node, place, ruleSet).map((key) => ({ ...key, ...fact })) : [];
  }
  const fact = factBelow(left, place) ?? factBelow(right, place);
  if (!fact) return [];
  if (node.op === 'in') return listed(right, place, ruleSet).map((one) => ({ ...one, ...fact }));
  if (node.op !== '==' && node.op !== '!=') return [];
  const text = textOf(left) ?? textOf(right);
  return text === undefined ? [] : [{ text, ...fact }];
}

/** Texts that facts are compared with, each once for a rule, fact and place. */
export function comparedTexts(ruleSet: RuleSet): readonly ComparedText[] {
  const found = new Map<string, ComparedText>();
  for (const rule of ruleSet.rules) {
    for (const { line, program } of rule.clauses) {
      const place = { scope: new Map(), types: ruleSet.types };
      walk(program.ast, place, (node, within) => {
        for (const one of foundAt(node, within, ruleSet)) {
          // An empty text asks whether there is any. A text in a list is reported once for all
          // rules.
          const key = [one.path, one.text, one.within ?? `${rule.id} ${line}`].join('\n');
          if (one.text !== '' && !found.has(key)) found.set(key, { rule, line, ...one });
        }
      });
    }
  }
  return [...found.values()];
}
