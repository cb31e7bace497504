/** Structural bytes of JSON, and the errors of a scan. */

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export type JsonRowsFault =
  | 'truncated'
  | 'malformed'
  | 'row_too_large'
  | 'rest_too_large'
  | 'repeated_array';

export class JsonRowsError extends Error {
  override readonly name = 'JsonRowsError';
  readonly fault: JsonRowsFault;

  constructor(fault: JsonRowsFault, where: string) {
    super(`${fault.replaceAll('_', ' ')} ${where}`);
    this.fault = fault;
  }
}
