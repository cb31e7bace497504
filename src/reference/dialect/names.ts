/**
 * Names in the spelling of an account: with a space behind them, or with letters taken apart (NFD).
 * A request has to name a thing in exactly that spelling; another one names nothing.
 */
import type { Dialect } from '../control/dialect-knobs.ts';

type Spelling = Dialect['names'];

/** Gives names without such letters one, so that taking them apart shows. */
const WITH_UMLAUT = ' für Händler';
const FOREIGN = '\uFFFF';

export function spelled(name: string, how: Spelling): string {
  if (how === 'trailingSpace') return `${name} `;
  return how === 'nfd' ? `${name}${WITH_UMLAUT}`.normalize('NFD') : name;
}

/** The name of the world; one that no thing has where the spelling is not the account's. */
export function unspelled(name: string, how: Spelling): string {
  if (how === 'plain') return name;
  const end = spelled('', how);
  const plain = name.slice(0, -end.length).normalize('NFC');
  return spelled(plain, how) === name ? plain : `${name}${FOREIGN}`;
}

/** Barcodes have no letters: they come with a space, or plain. */
export function spelledBarcode(barcode: string, how: Spelling): string {
  return how === 'trailingSpace' ? `${barcode} ` : barcode;
}

export function unspelledBarcode(barcode: string, how: Spelling): string {
  return how === 'trailingSpace' ? unspelled(barcode, how) : barcode;
}
