/**
 * Hidden notes on records. A reader that normalizes a member, or cannot read it, keeps the received
 * value with the object; decisive unreadable members are named with the record. Both survive
 * copying by spread and stay out of JSON: the mirror stores them in `extra` and in the column
 * `unread`.
 */

const CAME = Symbol('members as they came');
const UNREAD = Symbol('members that decide and cannot be read');

type Members = Readonly<Record<string, unknown>>;

interface Told {
  [CAME]?: Record<string, unknown>;
  [UNREAD]?: readonly string[];
}

/** Keeps the received form of a member with its record; the record must be the reader's own. */
export function keepAsItCame(record: object & Told, name: string, raw: unknown): void {
  record[CAME] ??= {};
  record[CAME][name] = raw;
}

/** Received forms of the record's members that were normalized or dropped; undefined: none. */
export function asItCame(record: object & Told): Members | undefined {
  return record[CAME];
}

/** Notes decisive unreadable members of a record by path, such as `orderLineItems.0.quantity`. */
export function tellUnread(record: object & Told, paths: readonly string[]): void {
  if (paths.length > 0) record[UNREAD] = [...(record[UNREAD] ?? []), ...paths];
}

/** Paths of the record's decisive members that were unreadable; empty: none. */
export function unreadIn(record: object & Told): readonly string[] {
  return record[UNREAD] ?? [];
}

/** Copies a record whose member was unreadable as it came, and is understood with this value. */
export function withUnderstood<T extends object & Told>(
  record: T,
  name: keyof T & string,
  value: unknown,
): T {
  const { [name]: _, ...came } = record[CAME] ?? {};
  const unread = unreadIn(record).filter((path) => path !== name);
  const isLeft = Object.keys(came).length > 0;
  return {
    ...record,
    [name]: value,
    [CAME]: isLeft ? came : undefined,
    [UNREAD]: unread.length > 0 ? unread : undefined,
  };
}
