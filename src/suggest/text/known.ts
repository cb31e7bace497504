/**
 * Facts that a hold rule needs. Without one it holds, and an exception that is true would free that
 * as well: so an exception asks for these facts first.
 */
import { isJsonObject } from '../../lib/json.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import {
  type FieldSpec,
  fieldsOf,
  isRecordName,
  type RecordName,
  ROOT_NAMES,
  ROOTS,
} from '../../rules/facts/table.ts';
import type { Rule } from '../../rules/rule.ts';

/** A fact that may be absent, by the names of all that may be so on the way to it. */
interface Needed {
  readonly path: string;
  readonly groups: readonly string[];
}

const LINES = 'delivery.lines.';

function neededAt(path: string): Needed | undefined {
  const [root = '', ...names] = path.split('.');
  const start = ROOT_NAMES.find((name) => name === root);
  if (start === undefined) return undefined;
  const groups: string[] = [];
  let record: RecordName = start;
  for (const [at, name] of names.entries()) {
    const field: FieldSpec | undefined = fieldsOf(record)[name];
    const isExtra = field === undefined && record === 'customer';
    const isOptional = field?.optional === true || isExtra || ROOTS[start].optional;
    if (isOptional) groups.push([root, ...names.slice(0, at + 1)].join('.'));
    if (isRecordName(field?.of)) record = field.of;
  }
  return groups.at(-1) === path ? { path, groups } : undefined;
}

/** Facts that the rule reads without asking whether they are known. */
export function neededBy({ clauses }: Rule): readonly Needed[] {
  const found = clauses.flatMap(({ text, program }) =>
    program.reads.filter((path) => {
      const name = path.split('.').at(-1);
      return !new RegExp(`\\bhas\\([\\w.]*\\b${name}\\)`).test(text);
    }),
  );
  return [...new Set(found)].sort().flatMap((path) => neededAt(path) ?? []);
}

/** Condition that a fact is known, in each line if it is one of lines. */
function knownText({ path, groups }: Needed): string {
  if (!path.startsWith(LINES)) return groups.map((one) => `has(${one})`).join(' && ');
  return `delivery.lines.all(line, has(line.${path.slice(LINES.length)}))`;
}

/** The condition, which is true only where all that is needed is known. */
export function knowing(needed: readonly Needed[], condition: string): string {
  return [condition, ...needed.map(knownText)].join(' && ');
}

function isAt(value: unknown, names: readonly string[]): boolean {
  if (Array.isArray(value)) return value.every((one) => isAt(one, names));
  const [name, ...rest] = names;
  if (name === undefined) return value !== null && value !== undefined && value !== '';
  return isJsonObject(value) && isAt(value[name], rest);
}

/** Whether all of it is known; the facts are complete. */
export function isKnown(needed: readonly Needed[], facts: Facts): boolean {
  return needed.every(({ path }) => isAt(facts, path.split('.')));
}
