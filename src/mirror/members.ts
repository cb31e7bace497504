/** Reading members of an open record into columns, and keeping the rest. */
import { isJsonObject, type JsonObject } from '../lib/json.ts';
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
  /** What nobody asked for, nested objects included: nothing unknown is lost. */
  rest(): JsonObject;
}

/** Takes members out of a record one by one; `rest` gives what was left. */
export function membersOf(record: unknown): Members {
  const left: Record<string, unknown> = isJsonObject(record) ? { ...record } : {};
  const nested = new Map<string, Members>();
  const take = (name: string): unknown => {
    const value = left[name];
    delete left[name];
    return value;
  };
  /** Takes the member only when it has the expected form; an odd one stays in `rest`. */
  const takeIf = <T>(name: string, read: (value: unknown) => T | undefined): T | null => {
    const value = left[name];
    const result = value === null ? null : read(value);
    if (result === undefined) return null;
    delete left[name];
    return result;
  };
  return {
    text: (name) => takeIf(name, (value) => (typeof value === 'string' ? value : undefined)),
    integer: (name) =>
      takeIf(name, (value) =>
        typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined,
      ),
    money: (name) =>
      takeIf(name, (value) =>
        typeof value === 'number' ? (minorUnits(value) ?? undefined) : undefined,
      ),
    flag: (name) =>
      takeIf(name, (value) => (typeof value === 'boolean' ? Number(value) : undefined)),
    time: (name) =>
      takeIf(name, (value) => {
        const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
        return Number.isFinite(at) ? at : undefined;
      }),
    object(name) {
      const members = membersOf(take(name));
      nested.set(name, members);
      return members;
    },
    list: (name) => takeIf(name, (value) => (Array.isArray(value) ? value : undefined)) ?? [],
    json(name, missing) {
      const value = take(name);
      return value === undefined ? missing : JSON.stringify(value);
    },
    rest() {
      const rest: Record<string, unknown> = { ...left };
      for (const [name, members] of nested) {
        const inner = members.rest();
        if (Object.keys(inner).length > 0) rest[name] = inner;
      }
      return JSON.parse(JSON.stringify(rest));
    },
  };
}
