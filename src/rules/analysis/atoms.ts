/**
 * Turns a condition into a conjunction of comparisons, each of one fact with a constant. Any other
 * part stays opaque: only its text is known, so only equal texts can be compared.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { parseDuration, parseExactTime } from '../../lib/units.ts';
import type { SetTypes } from '../cel/environment.ts';
import { createResolver, type Scope, type Shape } from '../cel/shape.ts';
import { childrenOf, sourceOf, textOf } from '../cel/tree.ts';
import type { FieldSpec } from '../facts/table.ts';
import { choice, complement, interval, type Region, union, wholeNumbers } from './region.ts';

export interface Atom {
  /** Name of the compared fact: `delivery.amount`, `delivery.lines.size()`, `has(order.season)`. */
  readonly fact: string;
  readonly field: FieldSpec | undefined;
  readonly region: Region;
  readonly node: ASTNode;
  /** List in the settings from whose values the region was made. */
  readonly list?: string | undefined;
}

export interface Conjunction {
  readonly atoms: readonly Atom[];
  /** Texts of the parts that are not analysed; a `!` in front marks a part that must be false. */
  readonly opaque: readonly string[];
}

export interface AtomContext {
  readonly types: SetTypes;
  /**
   * Values of the lists that are written in the settings; lists from the database change and are
   * left out.
   */
  readonly lists: ReadonlyMap<string, readonly (string | number | boolean)[]>;
}

interface Fact {
  readonly name: string;
  readonly field: FieldSpec | undefined;
  readonly isWhole: boolean;
}

const NO_SCOPE: Scope = new Map();
/** Each comparison operator and the one that means the same with the sides exchanged. */
export const MIRRORED = new Map([
  ['<', '>'],
  ['<=', '>='],
  ['>', '<'],
  ['>=', '<='],
  ['==', '=='],
  ['!=', '!='],
]);

function shapeOf(node: ASTNode, { types }: AtomContext): Shape {
  return createResolver(types, () => undefined).shapeOf(node, NO_SCOPE);
}

function factOf(node: ASTNode, context: AtomContext): Fact | undefined {
  if (node.op === 'rcall' && node.args[0] === 'size') {
    const list = shapeOf(node.args[1], context);
    const path = 'path' in list ? list.path : undefined;
    return path === undefined ? undefined : { name: `${path}.size()`, field: SIZE, isWhole: true };
  }
  if (node.op !== '.') return undefined;
  const shape = shapeOf(node, context);
  if (shape.kind !== 'field') return undefined;
  return { name: shape.path, field: shape.field, isWhole: shape.field.type === 'int' };
}

const SIZE: FieldSpec = { type: 'int', min: 0, about: 'Length of a list.', source: 'the list' };

const HELPER_MS = new Map([
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
]);

/**
 * Value of a literal as a number: amounts and counts unchanged, durations and times in
 * milliseconds.
 */
export function numberOf(node: ASTNode): number | undefined {
  if (node.op === '-_') {
    const positive = numberOf(node.args);
    return positive === undefined ? undefined : -positive;
  }
  if (node.op === 'value') {
    const { args } = node;
    return typeof args === 'number' || typeof args === 'bigint' ? Number(args) : undefined;
  }
  if (node.op !== 'call') return undefined;
  const [name, [argument]] = node.args;
  if (argument === undefined) return undefined;
  const unit = HELPER_MS.get(name);
  if (unit !== undefined) {
    const count = numberOf(argument);
    return count === undefined ? undefined : count * unit;
  }
  const text = textOf(argument);
  if (text === undefined) return undefined;
  if (name === 'timestamp') return parseExactTime(text);
  const length = name === 'duration' ? parseDuration(text.replace('-', '')) : undefined;
  return length !== undefined && text.startsWith('-') ? -length : length;
}

function valueText(node: ASTNode): string | undefined {
  const text = textOf(node);
  if (text !== undefined) return text;
  return node.op === 'value' && typeof node.args === 'boolean' ? String(node.args) : undefined;
}

function compareRegion(op: string, bound: number): Region | undefined {
  if (op === '<') return interval(-Infinity, bound, { high: true });
  if (op === '<=') return interval(-Infinity, bound);
  if (op === '>') return interval(bound, Infinity, { low: true });
  if (op === '>=') return interval(bound, Infinity);
  return op === '==' ? interval(bound, bound) : undefined;
}

function comparison(node: ASTNode, context: AtomContext): Atom | undefined {
  const mirrored = MIRRORED.get(node.op);
  const [left, right] = childrenOf(node);
  if (mirrored === undefined || !left || !right) return undefined;
  const straight = factOf(left, context);
  const fact = straight ?? factOf(right, context);
  const constant = straight ? right : left;
  const op = straight ? node.op : mirrored;
  if (!fact) return undefined;
  const text = valueText(constant);
  if (text !== undefined && (op === '==' || op === '!=')) {
    const region = choice([text], op === '!=');
    return { fact: fact.name, field: fact.field, region, node };
  }
  const bound = numberOf(constant);
  const region = bound === undefined ? undefined : compareRegion(op, bound);
  if (region?.kind !== 'interval') return undefined;
  const values = fact.isWhole ? wholeNumbers(region) : region;
  return { fact: fact.name, field: fact.field, region: values, node };
}

function membership(node: ASTNode, context: AtomContext): Atom | undefined {
  if (node.op !== 'in') return undefined;
  const [left, right] = node.args;
  const fact = factOf(left, context);
  if (!fact) return undefined;
  const values = memberTexts(right, context);
  if (!values) return undefined;
  const list = right.op === '.' ? sourceOf(right) : undefined;
  return { fact: fact.name, field: fact.field, region: choice(values), node, list };
}

function memberTexts(node: ASTNode, context: AtomContext): readonly string[] | undefined {
  if (node.op === 'list') {
    const texts = node.args.map(textOf);
    return texts.every((text) => text !== undefined) ? texts : undefined;
  }
  const shape = node.op === '.' ? shapeOf(node, context) : undefined;
  if (shape?.kind !== 'list') return undefined;
  const values = context.lists.get(shape.path.slice('lists.'.length));
  if (values?.some((value) => typeof value !== 'string')) return undefined;
  return values?.map(String);
}

function flag(node: ASTNode, context: AtomContext): Atom | undefined {
  const fact = factOf(node, context);
  if (fact?.field?.type !== 'bool') return undefined;
  return { fact: fact.name, field: fact.field, region: choice(['true']), node };
}

function presence(node: ASTNode): Atom | undefined {
  if (node.op !== 'call' || node.args[0] !== 'has') return undefined;
  const [argument] = node.args[1];
  if (!argument) return undefined;
  return { fact: hasFact(sourceOf(argument)), field: undefined, region: choice(['true']), node };
}

export function hasFact(path: string): string {
  return `has(${path})`;
}

function atomOf(node: ASTNode, context: AtomContext): Atom | undefined {
  return (
    comparison(node, context) ?? membership(node, context) ?? flag(node, context) ?? presence(node)
  );
}

/** Lists the values of a flag: "not true" becomes "false", so that both can be compared. */
function flagged(atom: Atom): Atom {
  const isFlag = atom.field?.type === 'bool' || atom.fact.startsWith('has(');
  if (!isFlag || atom.region.kind !== 'choice' || !atom.region.except) return atom;
  return { ...atom, region: choice(new Set(['true', 'false']).difference(atom.region.values)) };
}

function negatedAtom(atom: Atom): Atom | undefined {
  const rest = complement(atom.region);
  if (rest === undefined) return undefined;
  const isWhole = atom.field?.type === 'int' && rest.kind === 'interval';
  return flagged({ ...atom, region: isWhole ? wholeNumbers(rest) : rest });
}

/** Joins `a == "x" || a == "y"` into one comparison of `a` with a choice of values. */
function eitherOf(node: ASTNode, context: AtomContext): Atom | undefined {
  if (node.op !== '||') return atomOf(node, context);
  const [left, right] = node.args.map((side) => eitherOf(side, context));
  if (!left || !right || left.fact !== right.fact) return undefined;
  const region = union(left.region, right.region);
  return region && { ...left, region, node };
}

const NOTHING: Conjunction = { atoms: [], opaque: [] };

function join(parts: readonly Conjunction[]): Conjunction {
  return {
    atoms: parts.flatMap(({ atoms }) => atoms),
    opaque: parts.flatMap(({ opaque }) => opaque),
  };
}

/**
 * Splits a condition into comparisons that must all be true.
 * @param negated whether the condition must be false.
 */
export function conjunctionOf(node: ASTNode, negated: boolean, context: AtomContext): Conjunction {
  if (node.op === '!_') return conjunctionOf(node.args, !negated, context);
  if (node.op === (negated ? '||' : '&&')) {
    return join(node.args.map((side) => conjunctionOf(side, negated, context)));
  }
  const atom = eitherOf(node, context);
  const placed = atom && (negated ? negatedAtom(atom) : flagged(atom));
  if (placed) return { ...NOTHING, atoms: [placed] };
  return { ...NOTHING, opaque: [`${negated ? '!' : ''}${sourceOf(node).replaceAll(/\s+/g, ' ')}`] };
}

/** All values that a fact can have; undefined when nothing limits them. */
export function domainOf(field: FieldSpec | undefined): Region | undefined {
  if (field === undefined) return undefined;
  if (field.values) return choice(field.values);
  if (field.type === 'bool') return choice(['true', 'false']);
  return field.min === undefined ? undefined : interval(field.min, Infinity);
}
