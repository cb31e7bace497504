/**
 * EAN-13: a GS1 prefix (Denmark), nine digits that number the variant, a check digit. A barcode
 * and the index of its variant are computed from each other; no table is kept.
 */

const PREFIX = '570';
const NUMBER_DIGITS = 9;
/** Worlds of different seeds begin at different numbers, this far apart. */
const SEED_STRIDE = 2_500_000;
const SEED_PLACES = 390;

/** The check digit of the first twelve digits (weights 1 and 3 in turn). */
function checkDigit(twelve: string): number {
  let sum = 0;
  for (let at = 0; at < 12; at += 1) sum += (twelve.charCodeAt(at) - 48) * (at % 2 === 0 ? 1 : 3);
  return (10 - (sum % 10)) % 10;
}

export function isEan13(text: string): boolean {
  return /^\d{13}$/.test(text) && checkDigit(text) === Number(text[12]);
}

export interface Barcodes {
  of(variant: number): string;
  /** The variant's index, or undefined for a text that is no barcode of this world's range. */
  indexOf(barcode: string): number | undefined;
}

export function createBarcodes(seed: number): Barcodes {
  const first = (seed % SEED_PLACES) * SEED_STRIDE;
  return {
    of(variant) {
      const twelve = PREFIX + String(first + variant).padStart(NUMBER_DIGITS, '0');
      return twelve + checkDigit(twelve);
    },
    indexOf(barcode) {
      if (!barcode.startsWith(PREFIX) || !isEan13(barcode)) return undefined;
      const index = Number(barcode.slice(PREFIX.length, 12)) - first;
      return index >= 0 ? index : undefined;
    },
  };
}
