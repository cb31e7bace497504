/**
 * Finds conditions that their author cannot have meant: conditions that are never or always true,
 * rules that repeat another rule, comparisons of the wrong kind. Reads only conjunctions of
 * comparisons with constants; about any other part of a condition nothing is reported.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { canonicalJson } from '../../lib/json.ts';
import { unknownCode } from '../cel/codes.ts';
import { LOOPS } from '../cel/lint.ts';
import { createResolver, itemShape, type Resolver, type Scope, type Shape } from '../cel/shape.ts';
import { childrenOf, sourceOf, textOf } from '../cel/tree.ts';
import type { Clause, Rule } from '../rule.ts';
import { absentFacts } from './absence.ts';
import type { Atom, AtomContext, Conjunction } from './atoms.ts';
import { conjunctionOf, domainOf, hasFact, MIRRORED, numberOf } from './atoms.ts';
import { choice, intersect, isEmpty, isWithin, type Region } from './region.ts';

// Finds comparisons of a fact that is never negative with a number below zero.

interface SignProblem {
  readonly message: string;
  readonly hint: string;
}

/** Whether a comparison with a number can never be true, or always is, above a smallest value. */
function truthAbove(min: number, op: string, bound: number): 'never' | 'always' | undefined {
  if (op === '<' ? bound <= min : (op === '<=' || op === '==') && bound < min) return 'never';
  if (op === '>=' ? bound <= min : (op === '>' || op === '!=') && bound < min) return 'always';
  return undefined;
}

/** The comparison that its author may have meant. */
function repaired(fact: string, op: string, bound: number, literal: string): string {
  if (bound < 0) {
    const turned = op === '==' || op === '!=' ? op : MIRRORED.get(op);
    return `${fact} ${turned} ${literal.replace('-', '')}`;
  }
  const short = fact.replace(/\.stock_free$/, '.missing');
  if (short !== fact) return op === '<' ? `${short} > 0` : `${short} == 0`;
  return op === '<' ? `${fact} == 0` : `has(${fact})`;
}

/** Says what is wrong with a comparison whose fact has a smallest value; undefined: nothing. */
function signProblem(node: ASTNode, shapeOf: (node: ASTNode) => Shape): SignProblem | undefined {
  const mirrored = MIRRORED.get(node.op);
  const [left, right] = childrenOf(node);
  if (mirrored === undefined || !left || !right) return undefined;
  for (const [fact, other, op] of [
    [left, right, node.op],
    [right, left, mirrored],
  ] as const) {
    const shape = shapeOf(fact);
    const bound = numberOf(other);
    if (shape.kind !== 'field' || shape.field.min === undefined || bound === undefined) continue;
    const truth = truthAbove(shape.field.min, op, bound);
    if (truth === undefined) continue;
    const text = repaired(sourceOf(fact), op, bound, sourceOf(other));
    const message =
      truth === 'never'
        ? `this is never true: ${shape.path} is never below ${shape.field.min}`
        : 'this is true for every delivery where it is known';
    return { message, hint: `write ${text}` };
  }
  return undefined;
}

export interface Finding {
  readonly rule: Rule;
  /** Condition that the finding is about; undefined: the rule as a whole. */
  readonly clause?: Clause | undefined;
  /** Beginning of the place in the text of the condition; `end` is its end. */
  readonly start?: number;
  readonly end?: number;
  readonly message: string;
  readonly hint?: string | undefined;
  /** A note instead of a warning: the state may change, and may be meant so. */
  readonly isNote?: boolean;
}

interface Analysed {
  readonly rule: Rule;
  readonly clauses: readonly { readonly clause: Clause; readonly parts: Conjunction }[];
  readonly all: Conjunction;
}

/** Values that a fact can have for the deliveries that the rule is asked about. */
function domainIn(rule: Rule, atom: Atom): Region | undefined {
  return atom.fact === 'delivery.status' ? choice(rule.appliesTo) : domainOf(atom.field);
}

function place(node: ASTNode): Pick<Finding, 'start' | 'end'> {
  return { start: node.start, end: node.end };
}

function neverBy(rule: Rule, atom: Atom): Pick<Finding, 'message' | 'hint'> | undefined {
  if (isEmpty(atom.region)) {
    if (atom.list === undefined) return { message: 'this is never true' };
    return { message: `this is never true: ${atom.list} is empty`, hint: 'fill the list' };
  }
  const domain = domainIn(rule, atom);
  const possible = domain && intersect(domain, atom.region);
  if (!possible || !isEmpty(possible)) return undefined;
  if (domain?.kind === 'interval') {
    return { message: `this is never true: ${atom.fact} is never below ${domain.low}` };
  }
  const values = domain ? [...domain.values].join(', ') : '';
  return { message: `this is never true: ${atom.fact} is one of ${values} here` };
}

function isAlways(rule: Rule, atom: Atom): boolean {
  if (atom.fact.startsWith('has(')) return false;
  if (atom.region.kind === 'choice' && atom.region.except && atom.region.values.size === 0) {
    return true;
  }
  const domain = domainIn(rule, atom);
  return domain !== undefined && isWithin(domain, atom.region);
}

function alwaysHint(atom: Atom): string | undefined {
  if (atom.list !== undefined) return `${atom.list} is empty`;
  return atom.field?.optional ? `to ask whether it is known, write has(${atom.fact})` : undefined;
}

function findSingle({ rule, clauses }: Analysed, resolver: Resolver): readonly Finding[] {
  const shapeOf = (node: ASTNode): Shape => resolver.shapeOf(node, NO_SCOPE);
  return clauses.flatMap(({ clause, parts }) =>
    parts.atoms.flatMap((atom): Finding[] => {
      // Each such comparison is found for itself, also those in loops.
      if (signProblem(atom.node, shapeOf)) return [];
      const never = neverBy(rule, atom);
      if (never) return [{ rule, clause, ...place(atom.node), ...never }];
      if (!isAlways(rule, atom)) return [];
      const message = 'this is true for every delivery where it is known';
      return [{ rule, clause, ...place(atom.node), message, hint: alwaysHint(atom) }];
    }),
  );
}

const NO_SCOPE: Scope = new Map();

function findAlways({ rule, clauses, all }: Analysed): readonly Finding[] {
  const always = all.opaque.length === 0 && all.atoms.every((atom) => isAlways(rule, atom));
  return clauses.length > 0 && always
    ? [{ rule, message: `the rule matches every delivery, and would ${rule.action} all of them` }]
    : [];
}

/** Adds to each comparison that its fact must be known, because an unknown fact matches nothing. */
function withPresence(atoms: readonly Atom[]): readonly Atom[] {
  return atoms.flatMap((atom) => {
    if (atom.fact.startsWith('has(') || !atom.field?.optional) return [atom];
    const known = { ...atom, fact: hasFact(atom.fact), field: undefined };
    return [atom, { ...known, region: choice(['true']), list: undefined }];
  });
}

function findContradiction({ rule, clauses }: Analysed): readonly Finding[] {
  const seen = new Map<string, Region>();
  for (const { clause, parts } of clauses) {
    for (const atom of withPresence(parts.atoms)) {
      if (neverBy(rule, atom)) return [];
      const before = seen.get(atom.fact);
      const both = before ? intersect(before, atom.region) : atom.region;
      if (both === undefined) continue;
      if (isEmpty(both)) {
        const message = `the rule contradicts itself: no ${atom.fact} fits this and the rest of it`;
        return [{ rule, clause, ...place(atom.node), message, hint: 'the rule never matches' }];
      }
      seen.set(atom.fact, both);
    }
  }
  const opposite = clauses.find(({ parts }) =>
    parts.opaque.some((text) => clauses.some((other) => other.parts.opaque.includes(`!${text}`))),
  );
  if (!opposite) return [];
  const message = 'the rule contradicts itself: it also wants the opposite of this';
  return [{ rule, clause: opposite.clause, message, hint: 'the rule never matches' }];
}

/**
 * Whether `wide` is true for each delivery for which `narrow` is; false also when that is
 * uncertain.
 */
function implies(narrow: Conjunction, wide: Conjunction): boolean {
  if (!wide.opaque.every((text) => narrow.opaque.includes(text))) return false;
  const known = withPresence(narrow.atoms);
  return wide.atoms.every((atom) => {
    const same = known.filter(({ fact }) => fact === atom.fact);
    const [first, ...rest] = same.map(({ region }) => region);
    if (first === undefined) return false;
    const region = rest.reduce<Region | undefined>(
      (sum, one) => (sum ? intersect(sum, one) : undefined),
      first,
    );
    return region !== undefined && isWithin(region, atom.region);
  });
}

function isActive({ mode }: Rule): boolean {
  return mode !== 'off';
}

/** Whether the period and the delivery states of `narrow` lie within those of `wide`. */
function appliesWithin(narrow: Rule, wide: Rule): boolean {
  const states = narrow.appliesTo.every((state) => wide.appliesTo.includes(state));
  const from = (wide.effectiveFrom ?? -Infinity) <= (narrow.effectiveFrom ?? -Infinity);
  return states && from && (wide.effectiveUntil ?? Infinity) >= (narrow.effectiveUntil ?? Infinity);
}

/**
 * Whether a rule repeats the effect of another one: same action, owner, hold and reject; a live
 * rule does not repeat one in shadow.
 */
function hasSameEffect(rule: Rule, other: Rule): boolean {
  if (other.action !== rule.action || (rule.mode === 'live' && other.mode !== 'live')) return false;
  const effect = ({ owner, hold, reject }: Rule) => canonicalJson({ owner, hold, reject });
  return effect(rule) === effect(other);
}

function findCovered(one: Analysed, others: readonly Analysed[]): readonly Finding[] {
  const { rule, all } = one;
  if (!isActive(rule) || all.atoms.some((atom) => neverBy(rule, atom))) return [];
  for (const { rule: other, all: wide } of others) {
    if (other.id === rule.id || !isActive(other) || other.hash === rule.hash) continue;
    if (!appliesWithin(rule, other) || !implies(all, wide)) continue;
    if (hasSameEffect(rule, other)) {
      if (implies(wide, all) && others.findIndex((o) => o.rule === other) > others.indexOf(one)) {
        continue;
      }
      const message = `the rule adds nothing: wherever it matches, ${other.id} does`;
      return [{ rule, message, hint: `remove it, or narrow ${other.id}` }];
    }
    if (rule.action !== 'accept' || other.action !== 'hold' || rule.mode !== 'live') continue;
    const hint = `narrow ${other.id}, or remove one of them`;
    if (other.mode === 'live') {
      const message = `the rule never accepts: wherever it matches, ${other.id} holds`;
      return [{ rule, message, hint }];
    }
    const message = `the rule will accept nothing once ${other.id} is live: it covers all of it`;
    return [{ rule, message, hint, isNote: true }];
  }
  return [];
}

function typeOf(node: ASTNode): string {
  return 'checkedType' in node ? String(node.checkedType) : '';
}

const ORDERS: ReadonlySet<string> = new Set(['<', '<=', '>', '>=']);
const COMPARISONS: ReadonlySet<string> = new Set([...ORDERS, '==', '!=']);

interface Place {
  readonly rule: Rule;
  readonly clause: Clause;
  readonly scope: Scope;
}

type Kind = Pick<Finding, 'message' | 'hint'>;

function isFraction(node: ASTNode): boolean {
  const value = numberOf(node);
  return value !== undefined && !Number.isInteger(value);
}

function dividesWhole(node: ASTNode): boolean {
  if (node.op === '/') return node.args.every((side) => typeOf(side) === 'int');
  return childrenOf(node).some(dividesWhole);
}

function pairProblem(fact: ASTNode, shape: Shape, other: ASTNode): Kind | undefined {
  if (shape.kind === 'field' && shape.field.type === 'percent') {
    const value = Math.abs(numberOf(other) ?? 0);
    if (value > 0 && value < 1) {
      const percent = Number((value * 100).toPrecision(12));
      const message = `${sourceOf(fact)} is in percent: ${value} means ${value} %`;
      return { message, hint: `write ${percent} for ${percent} %` };
    }
  }
  const code = shape.kind === 'field' ? shape.field.code : undefined;
  for (const literal of other.op === 'list' ? other.args : [other]) {
    const text = textOf(literal);
    const hint = code !== undefined && text !== undefined ? unknownCode(code, text) : undefined;
    if (hint !== undefined) return { message: `"${text}" is no ${code} that is known`, hint };
  }
  return undefined;
}

function nodeProblem(node: ASTNode, shapeOf: (node: ASTNode) => Shape): Kind | undefined {
  if (!COMPARISONS.has(node.op) && node.op !== 'in') return undefined;
  const [left, right] = childrenOf(node);
  if (!left || !right) return undefined;
  const sign = signProblem(node, shapeOf);
  if (sign) return sign;
  if (ORDERS.has(node.op) && (typeOf(left) === 'string' || typeOf(right) === 'string')) {
    const message = 'texts are compared by the alphabet here';
    return { message, hint: 'compare with == or in, or ask for a number' };
  }
  for (const [one, other] of [
    [left, right],
    [right, left],
  ] as const) {
    if (dividesWhole(one) && isFraction(other)) {
      const message = 'whole numbers divide to a whole number: 7 / 10 is 0';
      return { message, hint: 'multiply instead: a * 100 >= b * 80 for 80 %' };
    }
    const problem = pairProblem(one, shapeOf(one), other);
    if (problem) return problem;
  }
  return undefined;
}

function findInNode(
  node: ASTNode,
  { rule, clause, scope }: Place,
  types: AtomContext['types'],
): Finding[] {
  const resolver = createResolver(types, () => undefined);
  const problem = nodeProblem(node, (inner) => resolver.shapeOf(inner, scope));
  const own = problem ? [{ rule, clause, ...place(node), ...problem }] : [];
  let within = scope;
  if (node.op === 'rcall' && LOOPS.has(node.args[0])) {
    const [, receiver, [variable]] = node.args;
    const item = itemShape(resolver.shapeOf(receiver, scope));
    if (variable?.op === 'id') within = new Map([...scope, [variable.args, item] as const]);
  }
  return [
    ...own,
    ...childrenOf(node).flatMap((child) =>
      findInNode(child, { rule, clause, scope: within }, types),
    ),
  ];
}

/**
 * Warns of `all` over a list that may be empty, for which `all` is true, unless the rule also asks
 * for the length of the list.
 */
function findEmptyAll({ rule, clauses }: Analysed): readonly Finding[] {
  if (rule.action === 'hold') return [];
  const texts = clauses.flatMap(({ clause }) => (clause.negated ? [] : [clause.text]));
  return clauses.flatMap(({ clause }) => {
    if (clause.negated) return [];
    return allLists(clause.program.ast).flatMap((list): Finding[] => {
      const source = sourceOf(list);
      const sizes = [`${source}.size()`, `size(${source})`, `${source}.exists`];
      if (texts.some((text) => sizes.some((size) => text.includes(size)))) return [];
      const message = `all(…) is also true where ${source} is empty`;
      const hint = `add the condition: ${source}.size() > 0`;
      return [{ rule, clause, ...place(list), message, hint }];
    });
  });
}

function allLists(node: ASTNode): readonly ASTNode[] {
  const inner = childrenOf(node).flatMap(allLists);
  return node.op === 'rcall' && node.args[0] === 'all' ? [node.args[1], ...inner] : inner;
}

/** Findings about each rule, the most specific ones first. */
export function findingsOf(rules: readonly Rule[], context: AtomContext): readonly Finding[] {
  const analysed = rules.map((rule): Analysed => {
    const clauses = rule.clauses.map((clause) => {
      return { clause, parts: conjunctionOf(clause.program.ast, clause.negated, context) };
    });
    const all = {
      atoms: clauses.flatMap(({ parts }) => parts.atoms),
      opaque: clauses.flatMap(({ parts }) => parts.opaque),
    };
    return { rule, clauses, all };
  });
  const resolver = createResolver(context.types, () => undefined);
  return analysed.flatMap((one) => [
    ...findSingle(one, resolver),
    ...findContradiction(one),
    ...findAlways(one),
    ...findCovered(one, analysed),
    ...findEmptyAll(one),
    ...absentFacts(one.rule, resolver).map(({ node, ...found }) => {
      return { rule: one.rule, ...place(node), ...found };
    }),
    ...one.clauses.flatMap(({ clause }) =>
      findInNode(clause.program.ast, { rule: one.rule, clause, scope: new Map() }, context.types),
    ),
  ]);
}

/** Finds rules whose period is over; `nowMs` in epoch milliseconds. */
export function findPast(rules: readonly Rule[], nowMs: number): readonly Finding[] {
  return rules.flatMap((rule): Finding[] => {
    if (rule.effectiveUntil === undefined || rule.effectiveUntil > nowMs) return [];
    const until = new Date(rule.effectiveUntil).toISOString();
    return [{ rule, message: `the rule ended on ${until}`, hint: 'remove it, or move its end' }];
  });
}
