/**
 * What a record says beside what was read of it. A reader that reads a member otherwise than it
 * came, or cannot read it, leaves the member as it came with its object; members that decide and
 * cannot be read are named with the record. Both travel with a copy by spreading, and are in no
 * JSON: the mirror keeps the one in `extra` and the other in its column `unread`.
 */

const CAME = Symbol('members as they came');
const UNREAD = Symbol('members that decide and cannot be read');

type Members = Readonly<Record<string, unknown>>;

interface Told {
  [CAME]?: Record<string, unknown>;
  [UNREAD]?: readonly string[];
}

/** Keeps the member as it came; the record is one of the reader's own. */
export function keepAsItCame(record: object & Told, name: string, raw: unknown): void {
  record[CAME] ??= {};
  record[CAME][name] = raw;
}

/** Members of this object that were read otherwise, or not at all; undefined: none. */
export function asItCame(record: object & Told): Members | undefined {
  return record[CAME];
}

/** Names what of the record decides and cannot be read, such as `orderLineItems.0.quantity`. */
export function tellUnread(record: object & Told, paths: readonly string[]): void {
  if (paths.length > 0) record[UNREAD] = [...(record[UNREAD] ?? []), ...paths];
}

/** Empty: what decides could be read. */
export function unreadIn(record: object & Told): readonly string[] {
  return record[UNREAD] ?? [];
}
