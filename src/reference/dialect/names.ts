/**
 * Names in the spelling of an account: with a space after them, or with letters decomposed (NFD). A
 * request must name a thing in exactly that spelling, or it names nothing.
 */
import type { Dialect } from '../control/dialect-knobs.ts';

type Spelling = Dialect['names'];

/** Text that gives a name letters which NFD decomposes, so that the dialect shows. */
const WITH_UMLAUT = ' für Händler';
const FOREIGN = '\uFFFF';

export function spelled(name: string, how: Spelling): string {
  if (how === 'trailingSpace') return `${name} `;
  return how === 'nfd' ? `${name}${WITH_UMLAUT}`.normalize('NFD') : name;
}

/**
 * The world's name for a name in the account's spelling; a name that no thing has if the spelling
 * differs.
 */
export function unspelled(name: string, how: Spelling): string {
  if (how === 'plain') return name;
  const end = spelled('', how);
  const plain = name.slice(0, -end.length).normalize('NFC');
  return spelled(plain, how) === name ? plain : `${name}${FOREIGN}`;
}

/** Barcode in the account's spelling: with a space after it, or plain. Barcodes have no letters. */
export function spelledBarcode(barcode: string, how: Spelling): string {
  return how === 'trailingSpace' ? `${barcode} ` : barcode;
}

export function unspelledBarcode(barcode: string, how: Spelling): string {
  return how === 'trailingSpace' ? unspelled(barcode, how) : barcode;
}
