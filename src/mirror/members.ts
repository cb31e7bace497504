/** Reading members of an open record into columns, and keeping the rest. */
import { isJsonObject } from '../lib/json.ts';
import { minorUnits } from '../lib/money.ts';

export interface Members {
  text(name: string): string | null;
  /** An integer; anything else is null. */
  integer(name: string): number | null;
  /** A decimal amount of the wire as integer hundredths. */
  money(name: string): number | null;
  /** A boolean as 1 or 0. */
  flag(name: string): number | null;
  /** An ISO 8601 time as epoch milliseconds. */
  time(name: string): number | null;
  /** A member that is an object, as members; a missing one has no members. */
  object(name: string): Members;
  /** A member that is an array; a missing one is empty. */
  list(name: string): readonly unknown[];
  /** A member as JSON text, or the given text when it is missing. */
  json(name: string, missing: string): string;
  /** What nobody asked for, as JSON text, nested objects included: nothing unknown is lost. */
  rest(): string;
}

/**
 * Takes members out of a record one by one; `rest` gives what was left. What was taken becomes
 * undefined instead of being deleted: a deleted member makes the whole object slow, and a million
 * rows pass here.
 */
export function membersOf(record: unknown): Members {
  const left: Record<string, unknown> = isJsonObject(record) ? { ...record } : {};
  let nested: Map<string, Members> | undefined;
  const take = (name: string): unknown => {
    const value = left[name];
    if (value !== undefined) left[name] = undefined;
    return value;
  };
  return {
    text(name) {
      const value = left[name];
      if (typeof value === 'string') left[name] = undefined;
      else return absent(left, name);
      return value;
    },
    integer(name) {
      const value = left[name];
      if (typeof value !== 'number' || !Number.isSafeInteger(value)) return absent(left, name);
      left[name] = undefined;
      return value;
    },
    money(name) {
      const value = left[name];
      const minor = typeof value === 'number' ? minorUnits(value) : null;
      if (minor === null) return absent(left, name);
      left[name] = undefined;
      return minor;
    },
    flag(name) {
      const value = left[name];
      if (typeof value !== 'boolean') return absent(left, name);
      left[name] = undefined;
      return Number(value);
    },
    time(name) {
      const value = left[name];
      const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
      if (!Number.isFinite(at)) return absent(left, name);
      left[name] = undefined;
      return at;
    },
    object(name) {
      const members = membersOf(take(name));
      nested ??= new Map();
      nested.set(name, members);
      return members;
    },
    list(name) {
      const value = left[name];
      if (!Array.isArray(value)) return [];
      left[name] = undefined;
      return value;
    },
    json(name, missing) {
      const value = take(name);
      return value === undefined ? missing : JSON.stringify(value);
    },
    rest() {
      let text = JSON.stringify(left);
      for (const [name, members] of nested ?? []) {
        const inner = members.rest();
        if (inner === '{}') continue;
        const comma = text === '{}' ? '' : ',';
        text = `${text.slice(0, -1)}${comma}${JSON.stringify(name)}:${inner}}`;
      }
      return text;
    },
  };
}

/** A null member is taken, and stands for nothing; an odd one stays for `rest`. */
function absent(left: Record<string, unknown>, name: string): null {
  if (left[name] === null) left[name] = undefined;
  return null;
}
