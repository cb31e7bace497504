/** Column `unread`: decisive members of a row that could not be read. */
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { unreadIn } from '../../lib/reading/as-it-came.ts';

/** Status of a row whose status could not be read. */
export const NOT_READ = '';

/** Paths of a record's unreadable members as JSON text, such as `["status"]`; null: none. */
export function unreadOf(record: unknown): string | null {
  const paths = isJsonObject(record) ? unreadIn(record) : [];
  return paths.length > 0 ? JSON.stringify(paths) : null;
}

/** Parses column `unread` into the paths of the unreadable members. */
export function unreadPaths(unread: string | null): readonly string[] {
  const paths = unread === null ? [] : tryParseJson(unread);
  return Array.isArray(paths) ? paths.map(String) : [];
}
