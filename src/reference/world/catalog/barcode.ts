/**
 * EAN-13: a GS1 prefix (Denmark), nine digits that number the variant, a check digit. A barcode
 * and the index of its variant are computed from each other; no table is kept.
 */

const PREFIX = '570';
const NUMBER_DIGITS = 9;
/** Worlds of different seeds begin at different numbers, this far apart. */
const SEED_STRIDE = 2_500_000;
const SEED_PLACES = 390;

/** Numbers are put together from a head and their last three digits, which come from a table. */
const TAIL_SIZE = 1_000;

/** The digits weighted 1 and 3 in turn, beginning with `weight`. */
function weighted(digits: string, weight: number): number {
  let sum = 0;
  for (let at = 0; at < digits.length; at += 1) {
    sum += (digits.charCodeAt(at) - 48) * (at % 2 === 0 ? weight : 4 - weight);
  }
  return sum;
}

/** The check digit of the first twelve digits. */
function checkDigit(sum: number): number {
  return (10 - (sum % 10)) % 10;
}

export function isEan13(text: string): boolean {
  return /^\d{13}$/.test(text) && checkDigit(weighted(text.slice(0, 12), 1)) === Number(text[12]);
}

export interface Barcodes {
  of(variant: number): string;
  /** The variant's index, or undefined for a text that is no barcode of this world's range. */
  indexOf(barcode: string): number | undefined;
}

export function createBarcodes(seed: number): Barcodes {
  const first = (seed % SEED_PLACES) * SEED_STRIDE;
  const tails = Array.from({ length: TAIL_SIZE }, (_, number) => {
    const digits = String(number).padStart(3, '0');
    return { digits, sum: weighted(digits, 3) };
  });
  let head = { number: -1, digits: '', sum: 0 };
  return {
    of(variant) {
      const number = Math.floor((first + variant) / TAIL_SIZE);
      if (number !== head.number) {
        const digits = PREFIX + String(number).padStart(NUMBER_DIGITS - 3, '0');
        head = { number, digits, sum: weighted(digits, 1) };
      }
      const tail = tails[(first + variant) % TAIL_SIZE];
      return head.digits + tail?.digits + checkDigit(head.sum + (tail?.sum ?? 0));
    },
    indexOf(barcode) {
      if (!barcode.startsWith(PREFIX) || !isEan13(barcode)) return undefined;
      const index = Number(barcode.slice(PREFIX.length, 12)) - first;
      return index >= 0 ? index : undefined;
    },
  };
}
