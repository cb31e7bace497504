/** Files that people write must be UTF-8: in another encoding their words are other words. */
import { isUtf8 } from 'node:buffer';

/** Where the first bytes stand that are not UTF-8, counted from 1; undefined: all of it is. */
export function notUtf8At(
  bytes: Buffer,
): { readonly line: number; readonly column: number } | undefined {
  if (isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  const before = text.slice(0, text.indexOf('\ufffd')).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
