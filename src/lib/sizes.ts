/** The order of sizes as people lay them out: XS, S, M, L; 34, 36; 27/32, 28/32; 98/104. */

const LETTERS = [
  'XXXXS',
  'XXXS',
  'XXS',
  'XS',
  'S',
  'M',
  'L',
  'XL',
  'XXL',
  'XXXL',
  'XXXXL',
  'XXXXXL',
];
const ONE_SIZE = /^(?:one[ -]?size|os|onesize|uni|tu)$/i;

/** `3XL` as letters. */
function lettersOf(size: string): string {
  const [, count, letter] = /^(\d)X([SL])$/.exec(size) ?? [];
  return count === undefined ? size : `${'X'.repeat(Number(count))}${letter}`;
}

/** Place of a size: one size, letters, numbers, all else by its text. */
function placeOf(size: string): readonly [group: number, number, number, string] {
  const text = size.trim().toUpperCase();
  if (ONE_SIZE.test(text)) return [0, 0, 0, ''];
  const [first = '', second = ''] = text.split(/[/ -]/).map(lettersOf);
  const letter = LETTERS.indexOf(first);
  if (letter >= 0) return [1, letter, Math.max(0, LETTERS.indexOf(second)), text];
  const [, one, other] =
    /^(?:[A-Z]{1,3} ?)?(\d+(?:[.,]5)?)(?:[/ ,xX-]+[A-Z]?(\d+))?/.exec(text) ?? [];
  if (one !== undefined) return [2, Number(one.replace(',', '.')), Number(other ?? 0), text];
  return [3, 0, 0, text];
}

/** Compares two sizes for a sort. */
export function compareSizes(a: string, b: string): number {
  const [groupA, firstA, secondA, textA] = placeOf(a);
  const [groupB, firstB, secondB, textB] = placeOf(b);
  return groupA - groupB || firstA - firstB || secondA - secondB || textA.localeCompare(textB);
}
