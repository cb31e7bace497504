/**
 * Sorts sizes as people lay them out: XS, S, M, L; 34, 36; 27/32, 28/30; 98/104; ages; one size;
 * other words; assortments last. Letters' case makes no difference, except as the last resort: no
 * two texts that differ are equal, so that every list has one order only.
 */

const LETTERS = [
  'XXXXXS',
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
  'XXXXXXL',
  'XXXXXXXL',
];
const WORDS: Readonly<Record<string, string>> = {
  'X-SMALL': 'XS',
  SMALL: 'S',
  MEDIUM: 'M',
  LARGE: 'L',
  'X-LARGE': 'XL',
};
const ONE_SIZE = /^(?:one[ -]?size|os|o\/s|1[ -]?size|uni(?:size|que)?|tu|free[ -]?size)$/i;
const ASSORTMENT = /\b(?:ass(?:t|ort\w*)?|sort(?:ed|iment)?|(?:pre)?packs?|mix(?:ed)?)\b/i;
/** Matches a child's age in months or years: 6M, 12-18 months, 2Y, 3/4 yrs. */
const AGE = /^(\d+)(?:[-/](\d+))? ?(M(?:TH|ONTH)?S?|Y(?:R|EAR)?S?)$/;
/** Matches a size by number: EU 38, W32 L34, 32/34, 75B, 36,5, 36 1/2. */
const NUMBER = /^(?:[A-Z]{1,3}[ .]?)?(\d+)([.,]\d+|½| 1\/2)?(?:[/ xX-]+[A-Z]?(\d+))?/;

type Place = readonly [group: number, first: number, second: number];

const LETTER_GROUP = 0;
const NUMBER_GROUP = 1;
const AGE_GROUP = 2;
const ONE_SIZE_GROUP = 3;
const OTHER_GROUP = 4;
const ASSORTMENT_GROUP = 5;
const MONTHS_OF_YEAR = 12;

/** Rank of a size by letters (`M`, `3XL`, `Large`); -1: it is no such size. */
function letterPlace(size: string): number {
  const [, count, letter] = /^(\d)X([SL])$/.exec(size) ?? [];
  const letters = count === undefined ? size : `${'X'.repeat(Number(count))}${letter}`;
  return LETTERS.indexOf(WORDS[letters] ?? letters);
}

function fractionOf(text: string | undefined): number {
  if (text === undefined) return 0;
  return /^[.,]/.test(text) ? Number(text.replace(',', '.')) : 0.5;
}

function placeOf(size: string): Place {
  const text = size.trim().toUpperCase();
  if (ONE_SIZE.test(text)) return [ONE_SIZE_GROUP, 0, 0];
  if (ASSORTMENT.test(text)) return [ASSORTMENT_GROUP, 0, 0];
  const whole = letterPlace(text);
  if (whole >= 0) return [LETTER_GROUP, whole, -1];
  const [first = '', second = ''] = text.split(/[/ -]+/);
  const letter = letterPlace(first);
  if (letter >= 0) return [LETTER_GROUP, letter, letterPlace(second)];
  const [, from, to, unit] = AGE.exec(text) ?? [];
  if (from !== undefined && unit !== undefined) {
    const months = unit.startsWith('Y') ? MONTHS_OF_YEAR : 1;
    return [AGE_GROUP, Number(from) * months, Number(to ?? 0) * months];
  }
  const [, number, fraction, other] = NUMBER.exec(text) ?? [];
  if (number !== undefined) {
    return [NUMBER_GROUP, Number(number) + fractionOf(fraction), Number(other ?? 0)];
  }
  return [OTHER_GROUP, 0, 0];
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Compares two sizes for a sort; 0 for the same text only. */
export function compareSizes(a: string, b: string): number {
  const [groupA, firstA, secondA] = placeOf(a);
  const [groupB, firstB, secondB] = placeOf(b);
  return (
    groupA - groupB ||
    firstA - firstB ||
    secondA - secondB ||
    compareTexts(a.trim().toUpperCase(), b.trim().toUpperCase()) ||
    compareTexts(a, b)
  );
}

/**
 * Sorts sizes, each once. Sizes in `own` come first, in its order; letters' case and spaces around
 * them make no difference there.
 */
export function sortSizes(sizes: readonly string[], own: readonly string[] = []): string[] {
  const key = (size: string): string => size.trim().toUpperCase();
  const placeIn = new Map(own.map((size, at) => [key(size), at]));
  const ownPlace = (size: string): number => placeIn.get(key(size)) ?? own.length;
  return [...new Set(sizes)].sort((a, b) => ownPlace(a) - ownPlace(b) || compareSizes(a, b));
}
