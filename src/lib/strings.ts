/**
 * Helpers for strings: absent and equal texts, codes, encodings, locales, display, words of a
 * shell.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { isUtf8 } from 'node:buffer';

/** Turns an empty text into null, because it says no more than an absent one. */
export function emptyToNull(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/** Normalizes a name for comparison in rules; null: none. */
export function nameOf(text: string | null | undefined): string | null {
  return emptyToNull(nameKey(text ?? ''));
}

/**
 * Upper-cases a country or currency code, as rules and the ERP write them. Any other text stays
 * unchanged: it is odd, but not absent.
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

/**
 * Countries and territories that have no postal codes, or whose addresses are whole without one:
 * in Ireland and Panama there are codes that few people write.
 */
const WITHOUT_CODES: ReadonlySet<string> = new Set(
  (
    'AE AG AO AW BF BI BJ BO BQ BS BW BZ CD CF CG CI CK CM CW DJ DM ER FJ GA GD GH GM GQ GY HK ' +
    'IE JM KI KM KN KP LC ML MO MR MS MW NR NU PA QA RW SB SC SL SR SS ST SX SY TD TG TK TL TO ' +
    'TT TV UG VU WS YE ZW'
  ).split(' '),
);

/** Countries and territories that are one city, which an address need not name. */
const CITIES: ReadonlySet<string> = new Set(['GI', 'HK', 'MC', 'MO', 'SG', 'SM', 'VA']);

/** Whether an address in the country needs a postal code; one in an unknown country does. */
export function needsPostalCode(country: string | null | undefined): boolean {
  return !WITHOUT_CODES.has(country ?? '');
}

/** Whether an address in the country needs a city; one in an unknown country does. */
export function needsCity(country: string | null | undefined): boolean {
  return !CITIES.has(country ?? '');
}

export function currencyOf(text: string | null | undefined): string | null {
  return codeOf(text, 3);
}

/**
 * Normalizes surrounding spaces and Unicode form of a name. The service treats such names as
 * different, people do not: lookups treat them as equal, and requests use the service's spelling.
 */
export function nameKey(name: string): string {
  return name.normalize('NFC').trim();
}

/** Normalizes a text for comparison without regard to case, in any script. */
export function caseKey(text: string): string {
  return nameKey(text).toLowerCase();
}

/**
 * Lists likely spellings of a reference for a lookup by NOCASE, which knows ASCII letters only.
 */
export function caseSpellings(text: string): readonly string[] {
  const key = caseKey(text);
  const forms = [text, key, key.toUpperCase(), key.replace(/\s+/gu, ' ')];
  return [...new Set(forms.flatMap((form) => [form, form.normalize('NFD')]))];
}

/** Finds the spelling of a name among these: the exact one, else the only equivalent one. */
export function spellingIn(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name;
  const key = nameKey(name);
  const same = new Set(names.filter((other) => nameKey(other) === key));
  const [only] = same;
  return same.size === 1 ? only : undefined;
}

const BEFORE = ['', ' '];
const BEHIND = ['', ' ', '  ', '\t', '\u00a0'];

/**
 * Lists likely spellings of a name for a database lookup, with the extra spaces that accounts use.
 */
export function spellingsOf(name: string): readonly string[] {
  const key = nameKey(name);
  const forms = new Set([key, key.normalize('NFD')]);
  const spelt = [...forms].flatMap((form) =>
    BEFORE.flatMap((before) => BEHIND.map((behind) => before + form + behind)),
  );
  return [...new Set([name, ...spelt])];
}

// A file that a person writes must be UTF-8, because another encoding changes its words.

/** Line and column, from 1, of the first bytes that are not UTF-8; undefined: all are valid. */
export function notUtf8At(
  bytes: Buffer,
): { readonly line: number; readonly column: number } | undefined {
  if (isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  const before = text.slice(0, text.indexOf('\ufffd')).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Matches control characters, and those that reverse the writing direction. */
const STEERING = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
const ESCAPES: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Writes a character as a JSON escape. */
function escapeOf(character: string): string {
  return ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Escapes characters of a foreign text that a terminal would obey, except `kept` (line feeds, say).
 */
export function visible(text: string, kept = ''): string {
  return text.replace(STEERING, (one) => (kept.includes(one) ? one : escapeOf(one)));
}

/** Gives the canonical form of a locale such as `de-DE`; undefined: the locale is unknown. */
export function knownLocale(text: string): string | undefined {
  try {
    return Intl.NumberFormat.supportedLocalesOf(text)[0];
  } catch {
    // The text is no well-formed locale.
    return undefined;
  }
}

/** Whether the locale has a decimal comma, and so a semicolon between the cells of CSV. */
export function hasDecimalComma(locale: string): boolean {
  const parts = new Intl.NumberFormat(locale).formatToParts(1.5);
  return parts.some(({ type, value }) => type === 'decimal' && value === ',');
}

/** Quotes a word so that a POSIX shell passes it to a program as it is. */
export function quotedForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Quotes a word only where a shell would change it. */
export function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : quotedForShell(text);
}

/** Name of a member as an option of a command has it. */
export function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (one) => `-${one.toLowerCase()}`);
}

/** Decodes the percent-encoding in part of an address; undefined: a % in it stands for nothing. */
export function decodedPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** Language of texts, and of numbers where nobody's language is known. */
const LOCALE = 'en-GB';

/** Most formats that are kept: browsers may name any language. */
const FORMATS_MAX = 200;

const reader = new AsyncLocalStorage<string>();

/** Runs what writes for a reader of this language; empty: not known. */
export function inLocale<T>(locale: string, run: () => T): T {
  return reader.run(locale === '' ? LOCALE : locale, run);
}

export function localeOfReader(): string {
  return reader.getStore() ?? LOCALE;
}

/** Keeps what `make` makes for the reader's language, by a key of its own. */
export function perLocale<T>(make: (locale: string, key: string) => T): (key?: string) => T {
  const made = new Map<string, T>();
  return (key = '') => {
    const locale = localeOfReader();
    const name = `${locale} ${key}`;
    const known = made.get(name) ?? make(locale, key);
    if (made.size >= FORMATS_MAX) made.clear();
    made.set(name, known);
    return known;
  };
}

const whole = perLocale((locale) => new Intl.NumberFormat(locale));

/** Number with its noun, as in `1,204 rows`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${whole().format(count)} ${count === 1 ? one : many}`;
}

/** Pattern of SQL's LIKE, with a backslash to escape, that finds a text anywhere, literally. */
export function containing(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
}
