import { nameKey } from './same-name.ts';

/** Null for an empty text, which says no more than an absent one. */
export function told(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/** Normalized name, for comparison in rules. */
export function nameOf(text: string | null | undefined): string | null {
  return told(nameKey(text ?? ''));
}

/**
 * Upper-cases a country or currency code, as rules and the ERP write them. Other text stays
 * unchanged: odd, but not absent.
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
