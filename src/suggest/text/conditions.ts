/** Conditions of a proposal in the rule language. */
import type { Column } from '../columns.ts';
import type { Field } from '../facts/field.ts';
import type { Literal } from '../search/literal.ts';

/** A condition, under `when`, or under `unless` where it must be false. */
export interface Condition {
  readonly text: string;
  readonly negated: boolean;
  readonly field: Field;
  readonly literal: Literal;
}

function namesOf(column: Column, values: readonly number[]): readonly string[] {
  const names = 'names' in column ? column.names : [];
  return values.flatMap((value) => names[value] ?? []).toSorted();
}

/** Conditions of one literal; guarded ones are false, not unknown, where a fact is absent. */
function conditionsOf(
  columns: readonly Column[],
  literal: Literal,
  guarded: boolean,
): readonly Condition[] {
  const column = columns[literal.column];
  if (!column) return [];
  const { field } = column;
  const when = (text: string): Condition => ({ text, negated: false, field, literal });
  const unless = (text: string, guard: string): Condition =>
    guarded ? when(`${guard}!(${text})`) : { text, negated: true, field, literal };
  if (field.kind === 'number' && literal.kind === 'number') {
    const text = field.text(literal.side, literal.limit, guarded);
    return [...field.before(guarded), text].map(when);
  }
  if (field.kind === 'choice' && literal.kind === 'choice') {
    const text = field.text(namesOf(column, literal.values), false);
    if (literal.not) return [unless(text, `has(${field.name}) && `)];
    return [when(field.text(namesOf(column, literal.values), guarded))];
  }
  if (field.kind === 'flag' && literal.kind === 'flag') {
    return [when(field.text(literal.value, guarded))];
  }
  if (field.kind !== 'many' || literal.kind !== 'many') return [];
  const [value = ''] = namesOf(column, [literal.value]);
  return literal.not ? [unless(field.text(value), '')] : [when(field.text(value))];
}

/** Conditions of all literals, each text once. */
export function conditionsFor(
  columns: readonly Column[],
  literals: readonly Literal[],
  guarded: boolean,
): readonly Condition[] {
  const seen = new Set<string>();
  return literals
    .toSorted((a, b) => a.column - b.column)
    .flatMap((literal) => conditionsOf(columns, literal, guarded))
    .filter(({ text, negated }) => {
      const key = `${negated} ${text}`;
      return !seen.has(key) && seen.add(key);
    });
}

/** All conditions as one, for an `unless`, of which one that is true is enough. */
export function joined(conditions: readonly Condition[]): string {
  const texts = conditions.map(({ text, negated }) => (negated ? `!(${text})` : text));
  return texts.join(' && ');
}

/** The condition as a line for people. */
export function shown({ text, negated }: Condition): string {
  return negated ? `unless ${text}` : text;
}
