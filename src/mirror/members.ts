/** Takes the members of a record that become columns, and keeps all other members as they came. */
import { isJsonObject } from '../lib/json.ts';
import { amountUnits } from '../lib/money.ts';
import { asItCame } from '../lib/reading/as-it-came.ts';
import { timeOfText } from '../lib/reading/wire-time.ts';
import type { SqlRow, SqlValue } from '../store/bulk.ts';
import type { EntityDefinition, MirrorRow } from './rows/prepared.ts';

// Entities declared once: of each column the member of the service's record that it holds, and how
// that is read. The columns of a table, and the way from a record to a row, follow.

/** Reads one column; the members that it takes are no longer left for `extra`. */
export type Read = (left: Members, record: OpenRecord) => SqlValue;
type Columns = Readonly<Record<string, Read>>;

type Kind = 'text' | 'name' | 'integer' | 'money' | 'flag' | 'time';

/** Reader of a member by its path, such as `freight.freightType`. */
function member(kind: Kind, path: string): Read {
  const above = path.split('.');
  const name = above.pop() ?? '';
  return (left) => above.reduce((of, one) => of.object(one), left)[kind](name);
}

export const text = (path: string): Read => member('text', path);
/** A name, of which an empty one is none. */
export const name = (path: string): Read => member('name', path);
export const integer = (path: string): Read => member('integer', path);
export const money = (path: string): Read => member('money', path);
export const flag = (path: string): Read => member('flag', path);
export const time = (path: string): Read => member('time', path);

/** A member as JSON; `missing` stands for one that is absent. */
export function json(path: string, missing: string): Read {
  const above = path.split('.');
  const last = above.pop() ?? '';
  return (left) => above.reduce((of, one) => of.object(one), left).json(last, missing);
}

/** A text of an object that is kept whole in another column. */
export function copyOf(object: string, path: string): Read {
  return (_left, record) => membersOf(record[object]).text(path);
}

export function trimmed(read: Read): Read {
  return (left, record) => {
    const value = read(left, record);
    return typeof value === 'string' ? value.trim() : value;
  };
}

export function orElse(read: Read, missing: SqlValue): Read {
  return (left, record) => read(left, record) ?? missing;
}

interface Declared extends Omit<EntityDefinition, 'columns' | 'lines'> {
  readonly columns: Columns;
  readonly lines?: {
    readonly table: NonNullable<EntityDefinition['lines']>['table'];
    /** Member of the record that has the lines. */
    readonly member: string;
    readonly columns: Columns;
  };
}

function valuesOf(columns: Columns, left: Members, record: OpenRecord): SqlRow {
  const values: Record<string, SqlValue> = {};
  for (const column of Object.keys(columns)) {
    values[column] = columns[column]?.(left, record) ?? null;
  }
  return values;
}

/** Lines with their numbers first and their unmodelled members last, in the order of the list. */
function linesOf(columns: Columns, items: unknown): SqlRow[] {
  return (Array.isArray(items) ? items : []).map((item: OpenRecord, index) => {
    const left = membersOf(item);
    const values = valuesOf(columns, left, item);
    return { line_no: index + 1, ...values, extra: JSON.stringify(left.rest()) };
  });
}

export function declared<T extends Declared>({ columns, lines, ...definition }: T) {
  return {
    ...definition,
    columns: Object.keys(columns),
    ...(lines && {
      lines: { ...lines, columns: ['line_no', ...Object.keys(lines.columns), 'extra'] },
    }),
    toRow(came: unknown): MirrorRow {
      const record: OpenRecord = isJsonObject(came) ? came : {};
      const { [lines?.member ?? '']: items, ...head } = record;
      const left = membersOf(head);
      const values = valuesOf(columns, left, record);
      const extra = left.rest();
      return lines ? { values, extra, lines: linesOf(lines.columns, items) } : { values, extra };
    },
  };
}

/**
 * A record of the service as the mirror sees it: only the names of members are known, so that
 * results of the client fit, unknown members included. Null: the client could not read the record.
 */
export interface OpenRecord {
  readonly [member: string]: unknown;
}

export interface Members {
  /** Tells whether a member of this name is still left: it is present and was not taken. */
  has(name: string): boolean;
  text(name: string): string | null;
  /** Takes a name as text; an empty string, which some accounts write for none, is null. */
  name(name: string): string | null;
  /** Takes an integer; anything else is null. */
  integer(name: string): number | null;
  /** Takes a decimal amount, in units (lib/money.ts); one with more than four decimals is null. */
  money(name: string): number | null;
  /** Takes a boolean as 1 or 0. */
  flag(name: string): number | null;
  /** Takes a time as epoch ms, in UTC unless the text says otherwise; an invalid date is null. */
  time(name: string): number | null;
  /** Gives access to the members of an object; there are none when it is missing or no object. */
  object(name: string): Members;
  /** Takes an array; a missing one is empty. */
  list(name: string): readonly unknown[];
  /** Takes a member as JSON text; `missing` stands for a member that is absent. */
  json(name: string, missing: string): string;
  /** Gives the remaining members, nested objects included, so that nothing unknown is lost. */
  rest(): object;
}

type Open = Record<string, unknown>;

/** Puts members that were normalized or unreadable back into the form in which they arrived. */
function withWhatCame(value: unknown): unknown {
  return isJsonObject(value) ? { ...value, ...asItCame(value) } : value;
}

/**
 * Takes members of a record by setting them to undefined, because deleting them would make the
 * whole object slow. A class, so that its methods exist once and not with each of a million rows.
 */
class OpenMembers implements Members {
  readonly #left: Open;
  readonly #copies: boolean;
  #nested: Map<string, OpenMembers> | undefined;

  constructor(record: unknown, copies: boolean) {
    const open = isJsonObject(record) ? record : {};
    this.#left = copies ? { ...open } : open;
    this.#copies = copies;
  }

  has(name: string): boolean {
    const value = this.#left[name] ?? asItCame(this.#left)?.[name];
    return value !== undefined && value !== null;
  }

  text(name: string): string | null {
    const value = this.#left[name];
    if (typeof value !== 'string') return this.#absent(name);
    this.#left[name] = undefined;
    return value;
  }

  name(name: string): string | null {
    return this.text(name) || null;
  }

  integer(name: string): number | null {
    const value = this.#left[name];
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) return this.#absent(name);
    this.#left[name] = undefined;
    return value;
  }

  money(name: string): number | null {
    const value = this.#left[name];
    const units = typeof value === 'number' ? amountUnits(value) : null;
    if (units === null) return this.#absent(name);
    this.#left[name] = undefined;
    return units;
  }

  flag(name: string): number | null {
    const value = this.#left[name];
    if (typeof value !== 'boolean') return this.#absent(name);
    this.#left[name] = undefined;
    return Number(value);
  }

  time(name: string): number | null {
    const value = this.#left[name];
    const at = typeof value === 'string' ? timeOfText(value) : undefined;
    if (at === undefined) return this.#absent(name);
    this.#left[name] = undefined;
    return at;
  }

  object(name: string): Members {
    const open = this.#nested?.get(name);
    if (open) return open;
    const value = this.#left[name];
    if (isJsonObject(value)) this.#left[name] = undefined;
    else this.#absent(name);
    const members = new OpenMembers(value, this.#copies);
    this.#nested ??= new Map();
    this.#nested.set(name, members);
    return members;
  }

  list(name: string): readonly unknown[] {
    const value = this.#left[name];
    if (!Array.isArray(value)) return [];
    this.#left[name] = undefined;
    return value;
  }

  json(name: string, missing: string): string {
    const value = this.#left[name];
    if (value === undefined) return missing;
    this.#left[name] = undefined;
    return JSON.stringify(withWhatCame(value));
  }

  rest(): object {
    for (const [name, members] of this.#nested ?? []) {
      if (members.#isEmpty()) continue;
      this.#left[name] = members.rest();
    }
    return asItCame(this.#left) ? Object(withWhatCame(this.#left)) : this.#left;
  }

  #isEmpty(): boolean {
    if (asItCame(this.#left)) return false;
    for (const name in this.#left) if (this.#left[name] !== undefined) return false;
    for (const members of this.#nested?.values() ?? []) if (!members.#isEmpty()) return false;
    return true;
  }

  /** Gives null. A member that is null counts as taken; one of another type stays for `rest`. */
  #absent(name: string): null {
    if (this.#left[name] === null) this.#left[name] = undefined;
    return null;
  }
}

/** Deep copy of a record for {@link membersOfOwn}, with the notes about how its members arrived. */
export function copied<T>(value: T): T {
  if (!isJsonObject(value)) return value;
  const copy = { ...value };
  for (const name of Object.keys(copy)) Object.assign(copy, { [name]: copied(copy[name]) });
  return copy;
}

/** Takes members out of a copy of a record one by one; the record itself stays unchanged. */
export function membersOf(record: unknown): Members {
  return new OpenMembers(record, true);
}

/**
 * Takes members out of the record itself, like {@link membersOf} otherwise: copying a million rows
 * costs more than writing them.
 */
export function membersOfOwn(record: unknown): Members {
  return new OpenMembers(record, false);
}
