/** Facts of many decisions by columns: numbers and small integers in arrays of fixed size. */
import type { Facts } from '../rules/facts/plain.ts';
import type { ChoiceField, Field, FlagField, ManyField, NumberField } from './facts/field.ts';

export interface NumberColumn {
  readonly kind: 'number';
  readonly field: NumberField;
  /** NaN: not known. */
  readonly values: Float64Array;
}

export interface ChoiceColumn {
  readonly kind: 'choice';
  readonly field: ChoiceField;
  /** Indexes of `names`; -1: not known. */
  readonly values: Int32Array;
  readonly names: readonly string[];
}

export interface FlagColumn {
  readonly kind: 'flag';
  readonly field: FlagField;
  /** 1 true, 0 false, -1 not known. */
  readonly values: Int8Array;
}

export interface ManyColumn {
  readonly kind: 'many';
  readonly field: ManyField;
  /** Indexes of `names`, those of row `i` from `starts[i]` to `starts[i + 1]`. */
  readonly values: Int32Array;
  readonly starts: Int32Array;
  readonly names: readonly string[];
}

export type Column = NumberColumn | ChoiceColumn | FlagColumn | ManyColumn;

/** Names with their indexes, in the order in which they were met. */
export function createNames() {
  const indexes = new Map<string, number>();
  return {
    indexOf(name: string): number {
      const known = indexes.get(name) ?? indexes.size;
      indexes.set(name, known);
      return known;
    },
    all: (): readonly string[] => [...indexes.keys()],
  };
}

const FIRST_LENGTH = 1_024;

/** A list of numbers that takes no more room than a typed array. */
function growing<T extends Float64Array | Int32Array | Int8Array>(make: (length: number) => T) {
  let values = make(FIRST_LENGTH);
  let length = 0;
  return {
    push(value: number): void {
      if (length === values.length) {
        const larger = make(2 * length);
        larger.set(values);
        values = larger;
      }
      values[length] = value;
      length += 1;
    },
    get length(): number {
      return length;
    },
    at: (index: number): number | undefined => (index < length ? values[index] : undefined),
    done(): T {
      const exact = make(length);
      exact.set(values.subarray(0, length));
      return exact;
    },
  };
}

export const floats = () => growing((length) => new Float64Array(length));
export const integers = () => growing((length) => new Int32Array(length));
export const bytes = () => growing((length) => new Int8Array(length));

interface Collector {
  add(facts: Facts): void;
  done(): Column;
}

function collectorOf(field: Field): Collector {
  if (field.kind === 'number') {
    const values = floats();
    return {
      add: (facts) => values.push(field.read(facts) ?? Number.NaN),
      done: () => ({ kind: 'number', field, values: values.done() }),
    };
  }
  if (field.kind === 'flag') {
    const values = bytes();
    return {
      add(facts) {
        const value = field.read(facts);
        values.push(value === null ? -1 : Number(value));
      },
      done: () => ({ kind: 'flag', field, values: values.done() }),
    };
  }
  const names = createNames();
  const values = integers();
  if (field.kind === 'choice') {
    return {
      add(facts) {
        const value = field.read(facts);
        values.push(value === null ? -1 : names.indexOf(value));
      },
      done: () => ({ kind: 'choice', field, values: values.done(), names: names.all() }),
    };
  }
  const starts = integers();
  starts.push(0);
  return {
    add(facts) {
      for (const value of field.read(facts)) values.push(names.indexOf(value));
      starts.push(values.length);
    },
    done: () => ({
      kind: 'many',
      field,
      values: values.done(),
      starts: starts.done(),
      names: names.all(),
    }),
  };
}

/** Whether a column tells nothing: it is the same in all rows. */
function isConstant(column: Column): boolean {
  if (column.kind === 'many') return column.names.length === 0;
  const [first] = column.values;
  return column.values.every((value) => Object.is(value, first));
}

/** Text that is equal for columns with the same values in all rows. */
function contentOf(column: Column): string {
  let hash = 0;
  const { values } = column;
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] ?? 0;
    hash = (Math.imul(hash, 31) + (Number.isNaN(value) ? 7 : (value * 1_000_003) % 2 ** 31)) | 0;
  }
  const lengths = column.kind === 'many' ? column.starts.at(-1) : '';
  return `${column.kind} ${values.length} ${hash} ${lengths}`;
}

/** Collects the columns of decisions, row after row. */
export function createColumns(fields: readonly Field[]) {
  const collectors = fields.map(collectorOf);
  return {
    add(facts: Facts): void {
      for (const collector of collectors) collector.add(facts);
    },
    /** Columns that differ in some row, each content once: under the name that comes first. */
    done(): readonly Column[] {
      const contents = new Set<string>();
      return collectors.flatMap((collector) => {
        const column = collector.done();
        if (isConstant(column)) return [];
        const names = 'names' in column ? column.names.join('\n') : '';
        const content = `${contentOf(column)} ${names}`;
        if (contents.has(content)) return [];
        contents.add(content);
        return [column];
      });
    },
  };
}
