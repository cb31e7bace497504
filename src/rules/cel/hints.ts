/** The library's terse texts, in the words of the person who wrote the condition. */

interface Habit {
  readonly pattern: RegExp;
  readonly hint: (match: RegExpExecArray) => string;
}

/** What people write, looked for in the text around the place where the parser stopped. */
const HABITS: readonly Habit[] = [
  { pattern: /[“”„‘’]/, hint: () => 'use plain quotes: "DK"' },
  {
    pattern: /\b\d{1,3}(,\d{3})+\b/,
    hint: ([text]) => `write ${plain(text)} without a thousands separator`,
  },
  { pattern: /\d+,\d+/, hint: ([text]) => `write ${text.replace(',', '.')} with a decimal point` },
  { pattern: /(\d+(?:\.\d+)?) ?%/, hint: (match) => `write ${match[1]} without %` },
  { pattern: /<>/, hint: () => 'write != for "is not"' },
  { pattern: /=>/, hint: () => 'write >= for "at least"' },
  { pattern: /=</, hint: () => 'write <= for "at most"' },
  { pattern: /(?<![=!<>])=(?![=<>])/, hint: () => 'write == to compare' },
  { pattern: /\band\b/i, hint: () => 'write && instead of "and"' },
  { pattern: /\bor\b/i, hint: () => 'write || instead of "or"' },
  { pattern: /\bnot in\b/i, hint: () => 'write !(order.country in lists.name)' },
  { pattern: /\bnot\b/i, hint: () => 'write ! instead of "not"' },
  { pattern: /\bis\b/i, hint: () => 'write == instead of "is"' },
];

function plain(text: string): string {
  return text.replaceAll(',', '');
}

/** Characters before and after the place of an error in which a habit may explain it. */
const AROUND_CHARS = 14;

/** What the author probably meant where the parser stopped at `start`. */
export function syntaxHint(text: string, start: number): string | undefined {
  // Quoted texts are not the author's grammar: blank them, keeping positions.
  const code = text.replaceAll(/"[^"]*"|'[^']*'/g, (quoted) => ' '.repeat(quoted.length));
  const from = Math.max(0, start - AROUND_CHARS);
  let best: { distance: number; hint: string } | undefined;
  for (const { pattern, hint } of HABITS) {
    const match = pattern.exec(code.slice(from, start + AROUND_CHARS));
    if (!match) continue;
    const distance = Math.abs(from + match.index + match[0].length / 2 - start);
    if (!best || distance < best.distance) best = { distance, hint: hint(match) };
  }
  return best && `did you mean: ${best.hint}?`;
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'a text',
  int: 'a whole number',
  double: 'a number',
  bool: 'yes or no (true, false)',
  Money: 'an amount',
  Decimal: 'a decimal number',
  'google.protobuf.Duration': 'a duration',
  'google.protobuf.Timestamp': 'a point in time',
};

/** Name of a CEL type for people. */
export function typeWord(type: string): string {
  return WORDS[type] ?? (type.startsWith('list<') ? 'a list' : type);
}

function pairHint(types: readonly string[]): string | undefined {
  const has = (part: string): boolean => types.some((type) => type.endsWith(part));
  if (has('Duration')) return 'write days(3), hours(36) or minutes(90)';
  if (has('Timestamp')) return 'write timestamp("2026-01-31T00:00:00Z")';
  if (has('bool')) return 'compare with true or false, without quotes';
  if (has('string')) return 'write texts in double quotes, numbers without';
  return undefined;
}

/** `no such overload: string == int` as a sentence with a hint. */
export function typeProblem(summary: string): { message: string; hint?: string | undefined } {
  const match = /^no such overload: (\S+(?:<.*>)?) (\S+) (\S+(?:<.*>)?)$/.exec(summary);
  if (!match) return { message: summary };
  const [, left = '', operator = '', right = ''] = match;
  const hint =
    operator === '/' || operator === '%'
      ? 'there is no division; multiply the other side instead'
      : pairHint([left, right]);
  const words = `${typeWord(left)} ${operator} ${typeWord(right)}`;
  return { message: `these do not go together: ${words}`, hint };
}
