/** Problems of a configuration, each with its place and what to write instead. */
import type { z } from 'zod';
import { nearestName } from '../lib/nearest.ts';
import { renamedHint } from '../lib/reading/renamed.ts';
import { WRONG_KIND } from './schema/fields.ts';
import { mayBeShown, membersOf, metaOf, schemaAt } from './schema/shape.ts';
import { nearestTree, type Path, type Place, showPath, type Tree } from './source/tree.ts';

export interface ConfigProblem {
  readonly at: Place;
  /** Dotted path of the setting; empty for the file as a whole. */
  readonly path: string;
  /** Written value of the setting, unless it is or may be a secret. */
  readonly value: string | undefined;
  readonly message: string;
  readonly hint: string | undefined;
}

/** A configuration as it was written, with its schema and the shipped defaults. */
interface Written {
  readonly schema: z.ZodType;
  readonly tree: Tree;
  readonly defaults: Tree;
}

/** Maximum characters of a value in a message; a longer one is cut. */
const VALUE_CHARS_MAX = 60;

/** Shows a place as `file:line:column`, as far as they are known. */
export function showPlace({ file, line, column }: Place): string {
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}

/**
 * Shows a value on one line; the user part of an address is left out, because it may hold a
 * password.
 */
export function showValue(tree: Tree): string {
  if (tree.kind === 'map') return tree.members.size === 0 ? '{}' : 'a section';
  if (tree.kind === 'list') return `[${tree.items.map(showValue).join(', ')}]`;
  if (tree.isUnclear) return 'a text that is not shown';
  const text = typeof tree.value === 'string' ? tree.value : JSON.stringify(tree.value);
  const safe = String(text).replace(/\/\/[^/@]*@/, '//…@');
  return safe.length > VALUE_CHARS_MAX ? `${safe.slice(0, VALUE_CHARS_MAX - 1)}…` : safe;
}

/**
 * Shows a value like {@link showValue}, but puts quotes around a text that looks like a number, or
 * like true or false.
 */
function showFound(tree: Tree): string {
  const isText = tree.kind === 'leaf' && typeof tree.value === 'string' && !tree.isUnclear;
  return isText && /^(?:true|false|[-+]?[\d.]+)$/.test(String(tree.value))
    ? JSON.stringify(tree.value)
    : showValue(tree);
}

/** Finds the place of a setting: its own, or where the user wrote the nearest section around it. */
function placeFor(tree: Tree, path: Path, ofName: boolean): Place {
  for (let length = path.length; length >= 0; length -= 1) {
    const found = nearestTree(tree, path.slice(0, length));
    if (!found.exact) continue;
    const isEmpty = found.tree.kind === 'leaf' && found.tree.value === null;
    const byName = ofName || isEmpty || length < path.length;
    const place = byName ? found.tree.nameAt : found.tree.at;
    if (place.source !== 'default' || length === 0) return place;
  }
  return tree.at;
}

/** Explains what became of a removed setting, or of each one below a section that was removed. */
function renamedSetting(tree: Tree, path: Path): string | undefined {
  const own = renamedHint('settings', showPath(path));
  const { tree: at, exact } = nearestTree(tree, path);
  if (own !== undefined || !exact || at.kind !== 'map') return own;
  const below = [...at.members.keys()].flatMap(
    (name) => renamedSetting(tree, [...path, name]) ?? [],
  );
  return below.length === 0 ? undefined : below.join('; ');
}

function unknownSettings(
  { schema, tree }: Written,
  issue: z.core.$ZodIssueUnrecognizedKeys,
  path: Path,
): ConfigProblem[] {
  const section = schemaAt(schema, path);
  const known = Object.keys((section && membersOf(section)) ?? {});
  return issue.keys.map((key) => {
    const near = nearestName(key, known);
    const all = `known here: ${known.join(', ')}`;
    const renamed = renamedSetting(tree, [...path, key]);
    return {
      at: placeFor(tree, [...path, key], true),
      path: showPath([...path, key]),
      value: undefined,
      message: 'is not a setting',
      hint: renamed ?? (near === undefined ? all : `did you mean ${near}?`),
    };
  });
}

function messageFor(issue: z.core.$ZodIssue, tree: Tree | undefined, expected?: string): string {
  if (issue.code === 'custom' && issue.message !== WRONG_KIND) return issue.message;
  const isEmpty = tree === undefined || (tree.kind === 'leaf' && tree.value === null);
  if (expected === undefined) return isEmpty ? 'is an empty section' : 'must be a section';
  return isEmpty ? 'is not set' : `must be ${expected}`;
}

/** Gives an example value for a setting: the shipped one, else the field's own. */
function exampleFor(defaults: Tree, path: Path, example: string): string {
  const { tree, exact } = nearestTree(defaults, path);
  const isValue = exact && tree.kind === 'leaf' && tree.value !== null;
  if (!isValue || example.startsWith('"')) return example;
  return showValue(tree);
}

function hintFor({ schema, defaults }: Written, path: Path, issue: z.core.$ZodIssue, tree?: Tree) {
  if (issue.code === 'custom' && typeof issue.params?.hint === 'string') return issue.params.hint;
  const at = schemaAt(schema, path);
  const meta = at && metaOf(at);
  if (meta === undefined) return 'write its settings below it, indented, or remove the line';
  if (issue.code === 'invalid_value' && tree?.kind === 'leaf') {
    const near = nearestName(String(tree.value), issue.values.map(String));
    if (near !== undefined) return `did you mean ${near}?`;
  }
  const name = path.findLast((step) => typeof step === 'string');
  return `for example ${String(name)}: ${exampleFor(defaults, path, meta.example)}`;
}

/** Turns one finding of the schema into problems for people. */
export function problemsOf(config: Written, issue: z.core.$ZodIssue): ConfigProblem[] {
  const { schema, tree } = config;
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  if (issue.code === 'unrecognized_keys') return unknownSettings(config, issue, path);
  const at = schemaAt(schema, path);
  const found = nearestTree(tree, path);
  const written = found.exact ? found.tree : undefined;
  const isShown = written !== undefined && written.kind === 'leaf' && written.value !== null;
  return [
    {
      at: placeFor(tree, path, false),
      path: showPath(path),
      value: isShown && mayBeShown(schema, path) ? showFound(written) : undefined,
      message: messageFor(issue, written, at && metaOf(at)?.expected),
      hint: hintFor(config, path, issue, written),
    },
  ];
}

/** Compares two problems by their place in the file, so that a person can go through it once. */
export function byPlace(a: ConfigProblem, b: ConfigProblem): number {
  const line = (a.at.line ?? 0) - (b.at.line ?? 0);
  return line === 0 ? (a.at.column ?? 0) - (b.at.column ?? 0) : line;
}

/** Describes a problem in two lines: what is wrong and where, then what to do. */
export function showProblem(problem: ConfigProblem): string {
  const found = problem.value === undefined ? '' : ` (found: ${problem.value})`;
  const subject = problem.path === '' ? '' : `${problem.path} `;
  const line = `${showPlace(problem.at)}: ${subject}${problem.message}${found}`;
  return problem.hint === undefined ? line : `${line}\n    hint: ${problem.hint}`;
}
