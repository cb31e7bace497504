/**
 * How an account writes the decimals of numbers that come as text: behind a point or behind a
 * comma. A text with one meaning, such as `12.50`, proves it, and so decides what `12.500` means.
 * Where both are proved, such texts stay unknown.
 */

export const DECIMAL_MARKS = ['point', 'comma'] as const;
export type DecimalMark = (typeof DECIMAL_MARKS)[number];

/** Plain data that threads share, so that each knows what the others have read. */
export interface Decimals {
  /** For each mark, 1 once it is proved. */
  readonly proved: Uint8Array<SharedArrayBuffer>;
  /** Whether texts prove marks; else a person has said which one it is. */
  readonly isLearned: boolean;
}

export function createDecimals(isLearned: boolean, proved: readonly DecimalMark[] = []): Decimals {
  const flags = new Uint8Array(new SharedArrayBuffer(DECIMAL_MARKS.length));
  for (const mark of proved) flags[DECIMAL_MARKS.indexOf(mark)] = 1;
  return { proved: flags, isLearned };
}

export function provedMarks({ proved }: Decimals): readonly DecimalMark[] {
  return DECIMAL_MARKS.filter((_mark, at) => proved[at] === 1);
}

/** Mark before the decimals of all texts; undefined: nothing proves it, or both are proved. */
export function markOf(decimals: Decimals | undefined): DecimalMark | undefined {
  if (!decimals) return undefined;
  const [point, comma] = decimals.proved;
  if (point === comma) return undefined;
  return point === 1 ? 'point' : 'comma';
}

/** Takes a number that has one meaning as proof of its mark. */
export function learnFrom(text: string, decimals: Decimals | undefined): void {
  if (!decimals?.isLearned) return;
  const marks = text.match(/[.,]/g) ?? [];
  const last = marks.at(-1);
  if (last === undefined) return;
  // A mark that comes again separates thousands, so that the other one is for decimals.
  const isForThousands = marks.length > 1 && marks.every((mark) => mark === last);
  const mark = (last === '.') === isForThousands ? 'comma' : 'point';
  decimals.proved[DECIMAL_MARKS.indexOf(mark)] = 1;
}
