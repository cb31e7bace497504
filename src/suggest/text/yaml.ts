/** Parts of a rule file as text, in the form in which people write them. */

/** A text in single quotes, as conditions and messages are written; in double ones if it must. */
export function single(text: string): string {
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)) return JSON.stringify(text);
  return `'${text.replaceAll("'", "''")}'`;
}

/** A value in flow form: `{ order: { country: "NO" } }`. */
export function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const members = Object.entries(value).map(([name, member]) => `${name}: ${flow(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** A list of texts in single quotes below a key. */
export function listed(key: string, texts: readonly string[]): readonly string[] {
  if (texts.length === 0) return [];
  return [`    ${key}:`, ...texts.map((text) => `      - ${single(text)}`)];
}
