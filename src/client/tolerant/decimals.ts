/**
 * How an account writes the decimals of numbers that come as text: behind a point or behind a
 * comma. Texts with one meaning, such as `12.50`, prove it, and so decide what `12.500` means: one
 * row may be odd, so two that differ must agree, and others are read by it once a list has ended
 * without a text against it. Where both marks are shown, such texts stay unknown.
 */

export const DECIMAL_MARKS = ['point', 'comma'] as const;
export type DecimalMark = (typeof DECIMAL_MARKS)[number];

/** Plain data that threads share, so that each knows what the others have read. */
export interface Decimals {
  /** For each mark, 1 once numbers are read by it; both: they disagree. */
  readonly proved: Uint8Array<SharedArrayBuffer>;
  /** For each mark, digests of the first two different rows that show it; 0: none. */
  readonly rows: Int32Array<SharedArrayBuffer>;
  /** Whether texts prove marks; else a person has said which one it is. */
  readonly isLearned: boolean;
  /** Texts with one meaning in the row that is being read. */
  readonly shown?: string[];
}

const ROWS_MIN = 2;

export function createDecimals(
  isLearned: boolean,
  proved: readonly DecimalMark[] = [],
  shownBy: readonly number[] = [],
): Decimals {
  const flags = new Uint8Array(new SharedArrayBuffer(DECIMAL_MARKS.length));
  for (const mark of proved) flags[DECIMAL_MARKS.indexOf(mark)] = 1;
  const size = DECIMAL_MARKS.length * ROWS_MIN;
  const rows = new Int32Array(new SharedArrayBuffer(size * Int32Array.BYTES_PER_ELEMENT));
  rows.set(shownBy.slice(0, size));
  return { proved: flags, rows, isLearned };
}

export function provedMarks({ proved }: Decimals): readonly DecimalMark[] {
  return DECIMAL_MARKS.filter((_mark, at) => proved[at] === 1);
}

/** Mark before the decimals of all texts; undefined: nothing proves it, or both are shown. */
export function markOf(decimals: Decimals | undefined): DecimalMark | undefined {
  if (!decimals) return undefined;
  const [point, comma] = decimals.proved;
  if (point === comma) return undefined;
  return point === 1 ? 'point' : 'comma';
}

/** Mark that a number with one meaning shows; undefined: it has none. */
function shownMark(text: string): DecimalMark | undefined {
  const marks = text.match(/[.,]/g) ?? [];
  const last = marks.at(-1);
  if (last === undefined) return undefined;
  // A mark that comes again separates thousands, so that the other one is for decimals.
  const isForThousands = marks.length > 1 && marks.every((mark) => mark === last);
  return (last === '.') === isForThousands ? 'comma' : 'point';
}

/** Digest of texts, never 0. */
function digestOf(texts: readonly string[]): number {
  let digest = 7;
  for (const text of texts) {
    for (let at = 0; at < text.length; at += 1) {
      digest = (Math.imul(digest, 31) + text.charCodeAt(at)) | 0;
    }
  }
  return digest || 1;
}

/** Takes the numbers with one meaning that one row has as proof of their marks. */
export function learnFromRow(texts: readonly string[], { proved, rows, isLearned }: Decimals) {
  if (!isLearned) return;
  for (const [at, mark] of DECIMAL_MARKS.entries()) {
    const [first, second] = [at * ROWS_MIN, at * ROWS_MIN + 1];
    if (rows[second] !== 0 && proved[at] === 1) continue;
    const own = texts.filter((text) => shownMark(text) === mark);
    if (own.length === 0) continue;
    const digest = digestOf(own);
    if (rows[first] === 0) rows[first] = digest;
    else if (rows[first] !== digest) rows[second] = digest;
    // A text that speaks against a proof counts at once.
    if (proved.includes(1)) proved[at] = 1;
  }
}

/** Has numbers read by what the rows until now prove, at the end of a list. */
export function settle({ proved, rows, isLearned }: Decimals): void {
  if (!isLearned) return;
  const seen = DECIMAL_MARKS.map((_, at) => rows[at * ROWS_MIN] !== 0 || proved[at] === 1);
  if (seen.every(Boolean)) proved.fill(1);
  else for (const at of seen.keys()) if (rows[at * ROWS_MIN + 1] !== 0) proved[at] = 1;
}
