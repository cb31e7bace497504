/** Reads members of an open record into columns, and keeps the rest. */
import { isJsonObject } from '../lib/json.ts';
import { amountUnits } from '../lib/money.ts';
import { asItCame } from '../lib/reading/as-it-came.ts';
import { timeOfText } from '../lib/reading/wire-time.ts';

/**
 * A record of the service. Results of the client fit such structural types, unknown members
 * included, so that the mirror knows only the names of members. Null: the client could not read it.
 */
export interface OpenRecord {
  readonly [member: string]: unknown;
}

export interface Members {
  /** Whether a member of this name is still left: present, but not of the requested type. */
  has(name: string): boolean;
  text(name: string): string | null;
  /** A name; some accounts write an empty string for none. */
  name(name: string): string | null;
  /** An integer; anything else is null. */
  integer(name: string): number | null;
  /** A decimal amount in units; more than four decimals are null. */
  money(name: string): number | null;
  /** A boolean as 1 or 0. */
  flag(name: string): number | null;
  /** A time as epoch ms, in UTC unless it says otherwise; an invalid date is null. */
  time(name: string): number | null;
  /** Members of an object; empty when it is missing or no object. */
  object(name: string): Members;
  /** An array; empty when missing. */
  list(name: string): readonly unknown[];
  /** A member as JSON text, or the given text when missing. */
  json(name: string, missing: string): string;
  /** Remaining members, nested objects included, so that nothing unknown is lost. */
  rest(): object;
}

type Open = Record<string, unknown>;

/** Restores the received form of members that were normalized or unreadable. */
function withWhatCame(value: unknown): unknown {
  return isJsonObject(value) ? { ...value, ...asItCame(value) } : value;
}

/**
 * Sets taken members to undefined, because deleting would make the whole object slow. A class, so
 * that its methods exist once and not with each of a million rows.
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

  /** A null member counts as taken; an odd one stays for `rest`. */
  #absent(name: string): null {
    if (this.#left[name] === null) this.#left[name] = undefined;
    return null;
  }
}

/** Deep copy for {@link membersOfOwn}, with the record's hidden notes. */
export function copied<T>(value: T): T {
  if (!isJsonObject(value)) return value;
  const copy = { ...value };
  for (const name of Object.keys(copy)) Object.assign(copy, { [name]: copied(copy[name]) });
  return copy;
}

/** Takes members out of a record one by one; the record itself stays unchanged. */
export function membersOf(record: unknown): Members {
  return new OpenMembers(record, true);
}

/**
 * Like {@link membersOf}, but consumes the record: copying a million rows costs more than writing
 * them.
 */
export function membersOfOwn(record: unknown): Members {
  return new OpenMembers(record, false);
}
