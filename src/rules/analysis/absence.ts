/**
 * Finds facts that a hold or reject rule reads although there may be none of them. Then its
 * condition is unknown, and the delivery is held for that: by a rule that does not mean it.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { LOOPS } from '../cel/lint.ts';
import { itemShape, type Resolver, type Scope } from '../cel/shape.ts';
import { childrenOf, sourceOf } from '../cel/tree.ts';
import type { Clause, Rule } from '../rule.ts';

/** Facts of which there is none for many good deliveries, and when. */
const NONE_WHEN: Readonly<Record<string, string>> = {
  'order.similar_within': 'there is no such order',
  'order.repeated_within': 'there is no such order',
  'order.comment': 'the buyer wrote none',
  'order.season': 'it is no pre-order',
  'season.name': 'it is no pre-order',
  'season.listed': 'it is no pre-order',
  'season.delivery_names': 'it is no pre-order',
  'delivery.lines.delivery_name': 'it is no pre-order',
  'delivery.lines.window_from': 'the settings name no window',
  'delivery.lines.window_to': 'the settings name no window',
  'delivery.lines.net_price': 'the API key has no prices of its own',
  'delivery.lines.discount': 'the API key has no prices of its own',
  'delivery.unread': 'all of it was read',
  'customer.credit': 'the ERP says nothing of it',
};

/** What also says that there is one: a fact of the same name, or a group that it is in. */
const PROVED_BY: Readonly<Record<string, readonly string[]>> = {
  'it is no pre-order': ['order.preorder', 'order.season', 'season.name'],
};

function noneWhen(path: string): string | undefined {
  if (path.startsWith('customer.extra.')) return 'the ERP does not give it';
  return path.startsWith('customer.credit.') ? NONE_WHEN['customer.credit'] : NONE_WHEN[path];
}

interface Asked {
  readonly path: string;
  readonly fact: ASTNode;
  /** Smallest condition around the fact that is true or false by itself. */
  readonly condition: ASTNode;
}

interface Found {
  readonly asked: Asked[];
  /** Paths of which the rule asks whether they are known, or that it takes as a condition. */
  readonly proved: Set<string>;
}

const JUNCTIONS: ReadonlySet<string> = new Set(['&&', '||', '!_']);

function pathOf(node: ASTNode, resolver: Resolver, scope: Scope): string | undefined {
  const shape = node.op === '.' || node.op === 'id' ? resolver.shapeOf(node, scope) : undefined;
  return shape && 'path' in shape ? shape.path : undefined;
}

function walk(
  found: Found,
  resolver: Resolver,
  { node, condition, scope }: { node: ASTNode; condition: ASTNode; scope: Scope },
): void {
  if (node.op === 'call' && node.args[0] === 'has') {
    const [argument] = node.args[1];
    const path = argument && pathOf(argument, resolver, scope);
    if (path !== undefined) found.proved.add(path);
    return;
  }
  const path = pathOf(node, resolver, scope);
  if (path !== undefined && noneWhen(path) !== undefined) {
    found.asked.push({ path, fact: node, condition });
    return;
  }
  if (path !== undefined && node === condition) found.proved.add(path);
  if (node.op === 'rcall' && LOOPS.has(node.args[0])) {
    const [, receiver, [variable, ...bodies]] = node.args;
    const item = itemShape(resolver.shapeOf(receiver, scope));
    const within = variable?.op === 'id' ? new Map([...scope, [variable.args, item]]) : scope;
    walk(found, resolver, { node: receiver, condition, scope });
    for (const body of bodies)
      walk(found, resolver, { node: body, condition: body, scope: within });
    return;
  }
  for (const child of childrenOf(node)) {
    const own = JUNCTIONS.has(node.op) ? child : condition;
    walk(found, resolver, { node: child, condition: own, scope });
  }
}

function isProved(path: string, proved: ReadonlySet<string>): boolean {
  const names = path.split('.');
  const groups = names.map((_, at) => names.slice(0, at + 1).join('.'));
  const others = PROVED_BY[noneWhen(path) ?? ''] ?? [];
  return [...groups, ...others].some((one) => proved.has(one));
}

export interface AbsentFact {
  readonly clause: Clause;
  readonly node: ASTNode;
  readonly message: string;
  readonly hint: string;
}

/** Facts of the rule of which there may be none, and that it does not ask for by `has`. */
export function absentFacts(rule: Rule, resolver: Resolver): readonly AbsentFact[] {
  if (rule.action === 'accept') return [];
  const proved = new Set<string>();
  const asked = rule.clauses.flatMap((clause) => {
    const found: Found = { asked: [], proved };
    const { ast } = clause.program;
    walk(found, resolver, { node: ast, condition: ast, scope: new Map() });
    return found.asked.map((one) => ({ clause, ...one }));
  });
  const open = asked.filter(({ path }) => !isProved(path, proved));
  const firsts = new Map(open.toReversed().map((one) => [one.condition, one]));
  return [...firsts.values()].toReversed().map(({ clause, path, fact, condition }) => {
    const [name, text] = [sourceOf(fact), sourceOf(condition)];
    const group = /^customer\.credit\./.test(path) ? 'customer.credit' : name;
    const message = `${path} is absent when ${noneWhen(path)}, and then the delivery is held`;
    return { clause, node: condition, message, hint: `write has(${group}) && ${text}` };
  });
}
