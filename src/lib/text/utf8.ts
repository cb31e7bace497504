/** Files that people write must be UTF-8, because another encoding changes their words. */
import { isUtf8 } from 'node:buffer';

/** Position of the first bytes that are not UTF-8, from 1; undefined: all valid. */
export function notUtf8At(
  bytes: Buffer,
): { readonly line: number; readonly column: number } | undefined {
  if (isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  const before = text.slice(0, text.indexOf('\ufffd')).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
