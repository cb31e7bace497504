/** Reading members of an open record into columns, and keeping the rest. */
import { isJsonObject } from '../lib/json.ts';
import { amountUnits } from '../lib/money.ts';
import { asItCame } from '../lib/reading/as-it-came.ts';
import { timeOfText } from '../lib/reading/wire-time.ts';

export interface Members {
  /** A member of this name was not taken yet: it is there, and not as it was asked for. */
  has(name: string): boolean;
  text(name: string): string | null;
  /** A text that names something; some accounts write an empty one where they mean none. */
  name(name: string): string | null;
  /** An integer; anything else is null. */
  integer(name: string): number | null;
  /** A decimal amount of the wire in units; one of more than four decimals is null. */
  money(name: string): number | null;
  /** A boolean as 1 or 0. */
  flag(name: string): number | null;
  /** A time as epoch milliseconds, in UTC unless it says otherwise; no such day is null. */
  time(name: string): number | null;
  /** A member that is an object, as members; one that is missing or none has no members. */
  object(name: string): Members;
  /** A member that is an array; a missing one is empty. */
  list(name: string): readonly unknown[];
  /** A member as JSON text, or the given text when it is missing. */
  json(name: string, missing: string): string;
  /** What nobody asked for, nested objects included: nothing unknown is lost. */
  rest(): object;
}

type Open = Record<string, unknown>;

/** With what was read otherwise than it came, or not at all, as it came. */
function withWhatCame(value: unknown): unknown {
  return isJsonObject(value) ? { ...value, ...asItCame(value) } : value;
}

/**
 * What was taken becomes undefined instead of being deleted: a deleted member makes the whole
 * object slow. A class, because its methods are made once and not with each of a million rows.
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
    const value = this.#take(name);
    return value === undefined ? missing : JSON.stringify(withWhatCame(value));
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

  #take(name: string): unknown {
    const value = this.#left[name];
    if (value !== undefined) this.#left[name] = undefined;
    return value;
  }

  /** A null member is taken, and stands for nothing; an odd one stays for `rest`. */
  #absent(name: string): null {
    if (this.#left[name] === null) this.#left[name] = undefined;
    return null;
  }
}

/** A copy for {@link membersOfOwn}, with what the record says beside its members. */
export function copied<T>(value: T): T {
  if (!isJsonObject(value)) return value;
  const copy = { ...value };
  for (const name of Object.keys(copy)) Object.assign(copy, { [name]: copied(copy[name]) });
  return copy;
}

/** Takes members out of a record one by one; the record itself stays as it is. */
export function membersOf(record: unknown): Members {
  return new OpenMembers(record, true);
}

/** The same, but uses the record up: copying a million rows costs more than writing their text. */
export function membersOfOwn(record: unknown): Members {
  return new OpenMembers(record, false);
}
