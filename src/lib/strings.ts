/** Strings: absent and equal texts, codes, encodings, locales, display, words of a shell. */
import { isUtf8 } from 'node:buffer';

/** Null for an empty text, which says no more than an absent one. */
export function emptyToNull(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/** Normalized name, for comparison in rules. */
export function nameOf(text: string | null | undefined): string | null {
  return emptyToNull(nameKey(text ?? ''));
}

/**
 * Upper-cases a country or currency code, as rules and the ERP write them. Other text stays
 * unchanged: odd, but not absent.
 */
function codeOf(text: string | null | undefined, letters: number): string | null {
  const code = text?.trim() ?? '';
  return code.length === letters && /^[A-Za-z]+$/.test(code)
    ? code.toUpperCase()
    : emptyToNull(text);
}

export function countryOf(text: string | null): string | null {
  return codeOf(text, 2);
}

export function currencyOf(text: string | null | undefined): string | null {
  return codeOf(text, 3);
}

/**
 * Key of a name regardless of surrounding spaces and Unicode form. The service treats such names as
 * different, people do not: lookups treat them as equal, and requests use the service's spelling.
 */
export function nameKey(name: string): string {
  return name.normalize('NFC').trim();
}

/** Spelling of the name among these: exact, else the only equivalent one. */
export function spellingIn(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name;
  const key = nameKey(name);
  const same = new Set(names.filter((other) => nameKey(other) === key));
  const [only] = same;
  return same.size === 1 ? only : undefined;
}

const BEFORE = ['', ' '];
const BEHIND = ['', ' ', '  ', '\t', '\u00a0'];

/** Likely spellings for a database lookup, including the spaces that accounts use. */
export function spellingsOf(name: string): readonly string[] {
  const key = nameKey(name);
  const forms = new Set([key, key.normalize('NFD')]);
  const spelt = [...forms].flatMap((form) =>
    BEFORE.flatMap((before) => BEHIND.map((behind) => before + form + behind)),
  );
  return [...new Set([name, ...spelt])];
}

// Files that people write must be UTF-8, because another encoding changes their words.

/** Position of the first bytes that are not UTF-8, from 1; undefined: all valid. */
export function notUtf8At(
  bytes: Buffer,
): { readonly line: number; readonly column: number } | undefined {
  if (isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  const before = text.slice(0, text.indexOf('\ufffd')).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Control characters, and those that reverse the writing direction. */
const STEERING = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
const ESCAPES: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The character as a JSON escape. */
function escapeOf(character: string): string {
  return ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Escapes characters of a foreign text that a terminal would obey, except `kept` (line feeds, say).
 */
export function visible(text: string, kept = ''): string {
  return text.replace(STEERING, (one) => (kept.includes(one) ? one : escapeOf(one)));
}

/** The canonical form of a tag such as `de-DE`; undefined: it is none that is known. */
export function knownLocale(text: string): string | undefined {
  try {
    return Intl.NumberFormat.supportedLocalesOf(text)[0];
  } catch {
    // No well-formed tag.
    return undefined;
  }
}

/** Whether the locale has a decimal comma, and so a semicolon between the cells of CSV. */
export function hasDecimalComma(locale: string): boolean {
  const parts = new Intl.NumberFormat(locale).formatToParts(1.5);
  return parts.some(({ type, value }) => type === 'decimal' && value === ',');
}

/** A word that a POSIX shell gives on to a program as it is. */
export function quotedForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Quoted only where a shell would read something into it. */
export function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : quotedForShell(text);
}

/** A part of an address without its percent-encoding; undefined: a % in it stands for nothing. */
export function decodedPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
