/**
 * Checks a parsed file against its schema, and reports each deviation as a problem at its place.
 */
import { isNode, isScalar } from 'yaml';
import { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import { nearestName } from '../../lib/nearest.ts';
import { renamedHint } from '../../lib/reading/renamed.ts';
import type { Problem } from './problem.ts';
import type { ProblemDetail, YamlPath, YamlSource } from './yaml.ts';

const CONDITION_KEYS: ReadonlySet<unknown> = new Set(['when', 'unless', 'record', 'message']);

function inner(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return inner(schema.unwrap());
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return inner(schema.unwrap());
  return schema;
}

/** Schemas that a path may lead to; several if a union lies on the way. */
function schemasAt(schema: unknown, path: YamlPath): readonly unknown[] {
  const [step, ...rest] = path;
  if (step === undefined) return [schema];
  const here = inner(schema);
  if (here instanceof z.ZodObject) return schemasAt(here.shape[String(step)], rest);
  if (here instanceof z.ZodArray) return schemasAt(here.element, rest);
  if (here instanceof z.ZodRecord) return schemasAt(here.valueType, rest);
  if (here instanceof z.ZodUnion) return here.options.flatMap((one) => schemasAt(one, path));
  return [];
}

/** Keys that the schema knows at a path. */
function knownKeys(schema: unknown, path: YamlPath): readonly string[] {
  return schemasAt(schema, path).flatMap((one) => {
    const here = inner(one);
    if (here instanceof z.ZodUnion) return here.options.flatMap((option) => knownKeys(option, []));
    return here instanceof z.ZodObject ? Object.keys(here.shape) : [];
  });
}

function mayBeLeftOut(schema: unknown, path: YamlPath): boolean {
  return schemasAt(schema, path).some((one) => one !== undefined && inner(one) !== one);
}

function valueAt(value: unknown, path: YamlPath): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = new Map<string, unknown>(Object.entries(here)).get(String(step));
  }
  return here;
}

/** Id of the rule that contains the path. */
function ruleIdAt(source: YamlSource, path: YamlPath): string | undefined {
  if (path[0] !== 'rules' || path.length < 2) return undefined;
  const found = valueAt(source.value, [...path.slice(0, 2), 'id']);
  return typeof found === 'string' ? found : undefined;
}

function isInCondition({ path }: z.core.$ZodIssue): boolean {
  return path.some((step) => CONDITION_KEYS.has(step));
}

function hintOf(issue: z.core.$ZodIssue, value: unknown): string | undefined {
  if (value !== undefined && isInCondition(issue) && typeof value !== 'string') {
    return 'put the whole condition in single quotes';
  }
  if (issue.code !== 'invalid_value') return undefined;
  const values = issue.values.map(String);
  const nearest = nearestName(String(value), values);
  return nearest === undefined ? undefined : `did you mean: ${nearest}?`;
}

/** Descriptions of the value types, in the words of the manual. */
const SHAPES: Readonly<Record<string, string>> = {
  array: 'a list: each item on a line of its own behind "- ", or all within [ ]',
  object: 'keys with their values, as in { key: value }',
  record: 'keys with their values, as in { key: value }',
  string: 'a text',
  number: 'a number, without a unit',
  int: 'a whole number, without a unit',
  boolean: 'true or false',
};

function nameOf(path: YamlPath): string {
  const last = path.at(-1);
  if (typeof last === 'number') return `an item of ${path.at(-2) ?? 'the list'}`;
  return last ?? 'the file';
}

/** Describes the value that is wanted; undefined if the schema's own message does. */
function shapeOf(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code === 'invalid_value') {
    return `${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
  }
  if (issue.code === 'invalid_union') {
    return [...new Set(issue.errors.flat().flatMap((one) => shapeOf(one) ?? []))].join(', or ');
  }
  const isPlain = issue.code === 'invalid_type' && issue.message.startsWith('Invalid input');
  return isPlain ? (SHAPES[issue.expected] ?? issue.expected) : undefined;
}

/** Problem of a key without a value, such as `key:` alone. */
function emptyDetail(issue: z.core.$ZodIssue, schema: unknown, path: YamlPath): ProblemDetail {
  const wanted = shapeOf(issue) ?? issue.message.replace(/^write /, '');
  const or = mayBeLeftOut(schema, path) ? ', or remove it' : '';
  const hint = wanted.startsWith('a condition') ? 'write a condition' : `write ${wanted}${or}`;
  return { message: `${nameOf(path)} is empty`, hint };
}

function messageOf(issue: z.core.$ZodIssue, path: YamlPath, value: unknown): string {
  const name = path.length === 0 ? 'the file' : String(path.at(-1));
  if (issue.code === 'invalid_value') {
    const is = value === undefined ? 'missing' : JSON.stringify(value);
    return `${name} is ${is}; possible: ${issue.values.join(', ')}`;
  }
  if (issue.code === 'invalid_type' && value === undefined) return `${name} is missing`;
  const shape = shapeOf(issue);
  if (shape !== undefined) return `${nameOf(path)} must be ${shape}`;
  if (issue.code === 'invalid_key') return `${name}: a name is lower-case letters, digits and _`;
  return typeof path.at(-1) === 'number' ? issue.message : `${name}: ${issue.message}`;
}

/**
 * Issues inside the alternative of a union that a value partly matches: they are more precise than
 * the union's own.
 */
function insideOf({ errors, path }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] {
  const inside = errors
    .flat()
    .filter((one) => one.path.length > 0 || one.code === 'unrecognized_keys');
  return inside.map((one) => ({ ...one, path: [...path, ...one.path] }));
}

/** Explains what the settings below a section that is gone are called now. */
function renamedBelow(key: string, section: unknown): string | undefined {
  const names = isJsonObject(section) ? Object.keys(section) : [];
  const hints = names.flatMap((name) => renamedHint('rule_settings', `${key}.${name}`) ?? []);
  return hints.length === 0 ? undefined : hints.join('; ');
}

function issueProblems(
  source: YamlSource,
  schema: unknown,
  issue: z.core.$ZodIssue,
): readonly Problem[] {
  const path = issue.path.filter((step) => typeof step !== 'symbol');
  const ruleId = ruleIdAt(source, path);
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(schema, path);
    return issue.keys.map((key) => {
      const node = source.keyAt(path, key) ?? source.nodeAt(path);
      const nearest = nearestName(key, known);
      const near =
        nearest === undefined ? `known: ${known.join(', ')}` : `did you mean: ${nearest}?`;
      const hint = renamedBelow(key, valueAt(source.value, [...path, key])) ?? near;
      const [start = 0, end = 0] = node?.range ?? [];
      return source.problem(start, end, { message: `there is no key "${key}"`, hint, ruleId });
    });
  }
  const deeper = issue.code === 'invalid_union' ? insideOf(issue) : [];
  if (deeper.length > 0) return deeper.flatMap((one) => issueProblems(source, schema, one));
  const value = valueAt(source.value, path);
  const node = source.nodeAt(path);
  const [start = 0, end = 0] = node?.range ?? [];
  const length = isNode(node) && !isScalar(node) ? 1 : end - start;
  const detail =
    value === null
      ? emptyDetail(issue, schema, path)
      : { message: messageOf(issue, path, value), hint: hintOf(issue, value) };
  return [source.problem(start, start + length, { ...detail, ruleId })];
}

export function checkShape<T>(
  source: YamlSource,
  schema: z.ZodType<T>,
): { readonly value: T } | { readonly problems: readonly Problem[] } {
  const parsed = schema.safeParse(source.value);
  if (parsed.success) return { value: parsed.data };
  // A misspelled key explains a missing one, so it comes first when both are at the same place.
  const issues = parsed.error.issues.toSorted(
    (a, b) => Number(b.code === 'unrecognized_keys') - Number(a.code === 'unrecognized_keys'),
  );
  return { problems: issues.flatMap((issue) => issueProblems(source, schema, issue)) };
}
