/**
 * Compares names regardless of surrounding spaces and Unicode form. The service treats such names
 * as different, people do not: lookups treat them as equal, and requests use the service's
 * spelling.
 */

/** Equal for all spellings of a name. */
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
