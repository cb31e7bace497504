/** A fact that proposals may ask: how it is read, written as a condition, and given to a test. */
import { isJsonObject } from '../../lib/json.ts';
import type { Facts } from '../../rules/facts/plain.ts';

/** Part of the facts of a rule's test, as people write it. */
export type Given = Readonly<Record<string, unknown>>;

interface Base {
  /** Path of the fact, or what tells it apart from others of the same path. */
  readonly name: string;
  /** Paths that the condition reads. */
  readonly reads: readonly string[];
}

export type Side = '<=' | '>';

/** A number, compared with a limit. */
export interface NumberField extends Base {
  readonly kind: 'number';
  readonly sides: readonly Side[];
  /** Currency in which an amount is compared, and the fact that tells it. */
  readonly pin?: { readonly path: string; readonly currency: string } | undefined;
  /** Conditions that belong to the comparison, such as the currency of an amount. */
  before(guarded: boolean): readonly string[];
  text(side: Side, limit: number, guarded: boolean): string;
  /** Round limits: multiples of these, the coarsest first. */
  readonly granules: readonly number[];
  /** Distance of a limit to the next value, in tests. */
  readonly step: number;
  /** Null: it is not known, so neither side is true. */
  read(facts: Facts): number | null;
  givenAt(value: number): Given;
  /** Facts at other limits that stand in its conditions, and whether these are true there. */
  readonly besides?: readonly {
    readonly name: string;
    readonly given: Given;
    readonly isIn: boolean;
  }[];
}

/** A choice of several texts. */
export interface ChoiceField extends Base {
  readonly kind: 'choice';
  text(values: readonly string[], guarded: boolean): string;
  read(facts: Facts): string | null;
}

/** A condition that is true or false by itself. */
export interface FlagField extends Base {
  readonly kind: 'flag';
  text(value: boolean, guarded: boolean): string;
  read(facts: Facts): boolean | null;
  /** Whether it may be unknown where its facts are known, so that a hold rule cannot ask it. */
  readonly isAcceptOnly?: boolean;
  /** Facts at the limit within the condition, and one step beyond; undefined: it has none. */
  limit?(facts: Facts): { readonly at: Given; readonly beyond: Given } | undefined;
}

/** Several texts, of which one may be among them. */
export interface ManyField extends Base {
  readonly kind: 'many';
  text(value: string): string;
  read(facts: Facts): readonly string[];
}

export type Field = NumberField | ChoiceField | FlagField | ManyField;

/** Words of a name that are safe in a condition. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Whether a text can stand in a condition, and equals a fact to the letter. */
export function isPlainText(text: string): boolean {
  return (
    text === text.trim() && text !== '' && text.length <= 60 && /^[\p{L}\p{N} .&/_+-]+$/u.test(text)
  );
}

/** The condition, which is false and not unknown where a fact is absent. */
export function guardedBy(paths: readonly string[], condition: string): string {
  return [...paths.map((path) => `has(${path})`), condition].join(' && ');
}

/** Lists of lines are laid over each other; a shorter one repeats its last line. */
function mergeLists(a: readonly unknown[], b: readonly unknown[]): readonly unknown[] {
  const isLines = [...a, ...b].every(isJsonObject);
  if (!isLines || a.length === 0 || b.length === 0) return b;
  // Lines of which nothing is said tell how many there are.
  const isCount = b.every((line) => isJsonObject(line) && Object.keys(line).length === 0);
  const length = isCount ? b.length : Math.max(a.length, b.length);
  return Array.from({ length }, (_, at) =>
    mergeValues(a[Math.min(at, a.length - 1)], b[Math.min(at, b.length - 1)]),
  );
}

function mergeValues(a: unknown, b: unknown): unknown {
  if (Array.isArray(a) && Array.isArray(b)) return mergeLists(a, b);
  if (!isJsonObject(a) || !isJsonObject(b)) return b;
  const merged = { ...a };
  for (const [name, value] of Object.entries(b)) {
    merged[name] = name in a ? mergeValues(a[name], value) : value;
  }
  return merged;
}

/** Parts of facts as one; the later ones count. */
export function mergeGiven(parts: readonly Given[]): Given {
  return parts.reduce<Given>((all, part) => {
    const merged = mergeValues(all, part);
    return isJsonObject(merged) ? merged : all;
  }, {});
}
