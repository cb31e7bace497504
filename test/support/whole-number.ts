/** Options of commands that are tests: a count that is none must not pass for "nothing to do". */

/** Throws for anything but a whole number from 0. */
export function wholeNumber(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new Error(`write a whole number instead of ${text}`);
}
