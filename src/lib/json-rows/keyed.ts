/**
 * Reads lists written as an object by number (`{"0": …, "1": …}`), as PHP writes a list that has
 * lost a row.
 */
import { COMMA, OPEN_OBJECT, QUOTE } from './structure.ts';
import { ValueScanner } from './value-scanner.ts';

const NUMBER = /^\d{1,15}$/;

export function isRowNumber(name: string | undefined): boolean {
  return name !== undefined && NUMBER.test(name);
}

/** Index of the next row's start, after comma, name and colon. */
function nextRow(bytes: Uint8Array, from: number, name: ValueScanner): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== OPEN_OBJECT) {
    if (bytes[at] === QUOTE) {
      name.begin(QUOTE);
      at = name.scan(bytes, at + 1);
    } else at += 1;
  }
  return at;
}

/** Converts part of an object by number into part of a list, by removing the names. */
export function withoutNames(bytes: Buffer): Buffer {
  const value = new ValueScanner();
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    value.begin(OPEN_OBJECT);
    const end = value.scan(bytes, at + 1);
    if (parts.length > 0) parts.push(Buffer.of(COMMA));
    parts.push(bytes.subarray(at, end));
    at = nextRow(bytes, end, value);
  }
  return Buffer.concat(parts);
}
