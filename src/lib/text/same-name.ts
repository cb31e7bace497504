/**
 * Names that are the same but for the spaces around them and the Unicode form of their letters. The
 * service tells such names apart, and a person does not: they are looked for as the same, and sent
 * as the service spells them.
 */

/** The same for all spellings of a name. Most are plain, and fast to tell. */
export function nameKey(name: string): string {
  return name.normalize('NFC').trim();
}

/** The one of these names that is this one: as it is, else the only one that is the same. */
export function spellingIn(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name;
  const key = nameKey(name);
  const same = new Set(names.filter((other) => nameKey(other) === key));
  const [only] = same;
  return same.size === 1 ? only : undefined;
}

const BEFORE = ['', ' '];
const BEHIND = ['', ' ', '  ', '\t', '\u00a0'];

/** Spellings that a database can be asked for; the spaces that accounts have are among them. */
export function spellingsOf(name: string): readonly string[] {
  const key = nameKey(name);
  const forms = new Set([key, key.normalize('NFD')]);
  const spelt = [...forms].flatMap((form) =>
    BEFORE.flatMap((before) => BEHIND.map((behind) => before + form + behind)),
  );
  return [...new Set([name, ...spelt])];
}
