/**
 * Resolves the paths of a condition against the fact table: `delivery.lines` is the list of `line`
 * records, `line.missing` inside a loop is a field of that record. The library's checker does not
 * look into `has()`, so every path of every condition is resolved here.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { nearestName } from '../../lib/nearest.ts';
import {
  type FieldSpec,
  fieldsOf,
  isRecordName,
  type RecordName,
  ROOT_NAMES,
} from '../facts/table.ts';
import { factPaths } from '../text/timing.ts';
import type { SetTypes } from './environment.ts';
import { textOf } from './tree.ts';

export type Shape =
  | { readonly kind: 'record'; readonly record: RecordName; readonly path: string }
  | { readonly kind: 'records'; readonly record: RecordName; readonly path: string }
  | { readonly kind: 'field'; readonly field: FieldSpec; readonly path: string }
  | { readonly kind: 'lists' | 'tables' | 'extra'; readonly path: string }
  | { readonly kind: 'list' | 'table' | 'cell' | 'item'; readonly path: string }
  /** Result of an expression, for which no path of a fact is known. */
  | { readonly kind: 'made' }
  | { readonly kind: 'other' };

/** Names that loops around a node bind, with their shapes. */
export type Scope = ReadonlyMap<string, Shape>;

export interface CelProblem {
  readonly start: number;
  readonly end: number;
  readonly message: string;
  readonly hint?: string | undefined;
}

const OTHER: Shape = { kind: 'other' };
const MADE: Shape = { kind: 'made' };

function meant(word: string, known: Iterable<string>): string | undefined {
  const name = nearestName(word, known);
  return name === undefined ? undefined : `did you mean: ${name}?`;
}

/** Hint with all facts of this name: `customer.credit.balance` for `balance`. */
function elsewhere(name: string, { lists, tables }: SetTypes): string | undefined {
  const paths = factPaths().filter((path) => path.endsWith(`.${name}`));
  if (Object.hasOwn(lists, name)) paths.push(`lists.${name}`);
  if (Object.hasOwn(tables, name)) paths.push(`tables.${name}`);
  return paths.length === 0 ? undefined : `did you mean: ${paths.join(' or ')}?`;
}

/** Field names that many records have, so that a hint to another record would mislead. */
const NAMES = /^(id|name|number|status)$/;

/** Suggests a correction for a word that is no fact: quotes for a text such as `NO`. */
function wordHint(word: string, types: SetTypes, scope: Scope): string {
  const known = [...ROOT_NAMES, 'lists', 'tables', ...scope.keys()];
  if (word === 'line') return 'line exists inside delivery.lines.all(line, …)';
  const fact = elsewhere(word, types) ?? meant(word, known);
  if (fact !== undefined) return fact;
  const starts = `a condition starts with: ${known.join(', ')}`;
  if (/^(true|false)$/i.test(word)) return `write ${word.toLowerCase()}`;
  return /^[A-Z]/.test(word) ? `a text goes in quotes: "${word}"; ${starts}` : starts;
}

function rootShape(name: string, scope: Scope): Shape | undefined {
  const bound = scope.get(name);
  if (bound) return bound;
  if (name === 'lists' || name === 'tables') return { kind: name, path: name };
  const root = ROOT_NAMES.find((known) => known === name);
  return root === undefined ? undefined : { kind: 'record', record: root, path: root };
}

function fieldShape(field: FieldSpec, path: string): Shape {
  if (field.type === 'extra') return { kind: 'extra', path };
  if (!isRecordName(field.of)) return { kind: 'field', field, path };
  const kind = field.type === 'records' ? 'records' : 'record';
  return { kind, record: field.of, path };
}

/**
 * Shape of a list's item. Its path is that of the list: `delivery.lines.missing` for a field of a
 * line.
 */
export function itemShape(list: Shape): Shape {
  if (list.kind === 'records') return { ...list, kind: 'record' };
  return 'path' in list ? { kind: 'item', path: list.path } : list;
}

/** Says why a value has no fields; undefined if its problem was reported before. */
function noFields(base: Shape, name: string): Omit<CelProblem, 'start' | 'end'> | undefined {
  if (base.kind === 'made') {
    // The rules could not see when such a value changes, how old it is, or that a name in it is
    // wrong.
    const message = `it cannot be told where "${name}" comes from`;
    return { message, hint: 'begin with a fact: delivery.lines.exists(line, …)' };
  }
  if (base.kind === 'records') {
    if (name === 'size')
      return { message: 'size is a question', hint: `write ${base.path}.size()` };
    const message = `${base.path} is a list: a single line has the field, the list has not`;
    const hint = `write ${base.path}.all(line, …) or ${base.path}.exists(line, …)`;
    return { message, hint };
  }
  if (base.kind === 'other') return undefined;
  return { message: `${base.path} is a single value and has no field "${name}"` };
}

export interface Resolver {
  /** Shape of the path that a node reads; each wrong name is reported once. */
  shapeOf(node: ASTNode, scope: Scope): Shape;
}

function names(types: Readonly<Record<string, unknown>>): string {
  const known = Object.keys(types);
  return known.length === 0 ? 'settings.yaml has none' : `known: ${known.join(', ')}`;
}

/**
 * Kinds of values whose members must be named behind a point: a name in brackets would hide which
 * fact is read.
 */
const HAVE_NAMES: ReadonlySet<string> = new Set(['record', 'lists', 'tables', 'extra']);

export function createResolver(types: SetTypes, report: (p: CelProblem) => void): Resolver {
  function member(base: Shape, name: string, node: ASTNode): Shape {
    const at = { start: node.pos, end: node.end };
    if (base.kind === 'record') {
      const fields = fieldsOf(base.record);
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (field) return fieldShape(field, `${base.path}.${name}`);
      const owner = base.path === 'delivery.lines' ? 'line' : base.path;
      const known = `known: ${Object.keys(fields).join(', ')}`;
      const other = NAMES.test(name) ? undefined : elsewhere(name, types);
      const hint = meant(name, Object.keys(fields)) ?? other ?? known;
      report({ ...at, message: `${owner} has no field "${name}"`, hint });
      return OTHER;
    }
    if (base.kind === 'lists' || base.kind === 'tables') {
      const known = base.kind === 'lists' ? types.lists : types.tables;
      const kind = base.kind === 'lists' ? 'list' : 'table';
      if (Object.hasOwn(known, name)) return { kind, path: `${base.path}.${name}` };
      const hint = meant(name, Object.keys(known)) ?? names(known);
      report({ ...at, message: `there is no ${kind} "${name}"`, hint });
      return OTHER;
    }
    if (base.kind === 'extra') {
      if (Object.hasOwn(types.extra, name)) return { kind: 'item', path: `${base.path}.${name}` };
      const known = Object.keys(types.extra);
      const hint = meant(name, known) ?? 'declare it under customer_fields in settings.yaml';
      report({ ...at, message: `${base.path} has no field "${name}"`, hint });
      return OTHER;
    }
    const problem = noFields(base, name);
    if (problem) report({ ...at, ...problem });
    return OTHER;
  }

  function item([inner, key]: readonly [ASTNode, ASTNode], node: ASTNode, scope: Scope): Shape {
    const base = shapeOf(inner, scope);
    if (base.kind === 'records') return { ...base, kind: 'record' };
    if (base.kind === 'table' || base.kind === 'cell') return { kind: 'cell', path: base.path };
    if (base.kind === 'made') return MADE;
    if (!HAVE_NAMES.has(base.kind)) return OTHER;
    const hint = `write .${textOf(key) ?? 'name'} instead`;
    const message = 'the name of a fact, list or table stands behind a point';
    report({ start: node.start, end: node.end, message, hint });
    return OTHER;
  }

  function shapeOf(node: ASTNode, scope: Scope): Shape {
    if (node.op === 'id') {
      const shape = rootShape(node.args, scope);
      if (shape) return shape;
      report({
        start: node.start,
        end: node.end,
        message: `there is no fact "${node.args}"`,
        hint: wordHint(node.args, types, scope),
      });
      return OTHER;
    }
    if (node.op === '.') return member(shapeOf(node.args[0], scope), node.args[1], node);
    if (node.op === '[]') return item(node.args, node, scope);
    // A filtered list has the shape of the whole list, whose problems are reported at its own node.
    if (node.op === 'rcall' && node.args[0] === 'filter') {
      return createResolver(types, () => undefined).shapeOf(node.args[1], scope);
    }
    return MADE;
  }
  return { shapeOf };
}
