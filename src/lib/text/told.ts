import { nameKey } from './same-name.ts';

/** A text that the service left empty tells no more than one that is not there. */
export function told(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/** A name as rules compare it, whatever the spaces around it and the form of its letters. */
export function nameOf(text: string | null | undefined): string | null {
  return told(nameKey(text ?? ''));
}

/**
 * A country or a currency in capitals, as rules and the ERP must write them; nobody says how the
 * service does. What is no such code stays as it is: it is odd, and not absent.
 */
function codeOf(text: string | null | undefined, letters: number): string | null {
  const code = text?.trim() ?? '';
  return code.length === letters && /^[A-Za-z]+$/.test(code) ? code.toUpperCase() : told(text);
}

export function countryOf(text: string | null): string | null {
  return codeOf(text, 2);
}

export function currencyOf(text: string | null | undefined): string | null {
  return codeOf(text, 3);
}
