/** The library's terse texts, in the words of the person who wrote the condition. */

interface Habit {
  readonly pattern: RegExp;
  readonly hint: (match: RegExpExecArray) => string;
}

export const DURATION_HINT = 'write days(3), hours(36) or minutes(90)';
export const TIMESTAMP_HINT = 'write timestamp("2026-01-31T00:00:00Z")';
export const CLOCK_HINT = 'use clock.business_hours, clock.weekday or an age';
const BETWEEN_HINT = 'write both comparisons: order.quantity >= 5 && order.quantity <= 10';

/** What people write, looked for in the text around the place where the parser stopped. */
const HABITS: readonly Habit[] = [
  { pattern: /[“”„‘’]/, hint: () => 'use plain quotes: "DK"' },
  { pattern: /\b\d{1,2}\.\d{1,2}\.\d{4}\b/, hint: () => TIMESTAMP_HINT },
  { pattern: /\b\d{1,2}:\d{2}\b/, hint: () => CLOCK_HINT },
  {
    pattern: /\b\d{1,3}(\.\d{3})+,\d+/,
    hint: ([text]) => `write ${text.replaceAll('.', '').replace(',', '.')}`,
  },
  {
    pattern: /\b\d{1,3}([, ]\d{3})+\b/,
    hint: ([text]) => `write ${plain(text)} without a thousands separator`,
  },
  {
    pattern: /\b(\d+(?:\.\d+)?) ?(?!(?:and|or|in|is|not|then)\b)([a-z]+)\b/i,
    hint: ([, number = '', unit = '']) => withoutUnit(number, unit),
  },
  { pattern: /\b([A-Z]{3}|kr) ?(\d+)/, hint: ([, unit = '', number = '']) => amount(number, unit) },
  { pattern: /[€$£] ?(\d+)/, hint: ([, number = '']) => amount(number, 'EUR') },
  { pattern: /\b(days|hours|minutes) +(\d+)/, hint: (match) => `write ${match[1]}(${match[2]})` },
  { pattern: /≥|≤/, hint: ([sign]) => `write ${sign === '≥' ? '>=' : '<='}` },
  { pattern: /\bin ?\(/, hint: () => 'write in ["DK", "SE"]' },
  { pattern: /\bbetween\b/i, hint: () => BETWEEN_HINT },
  { pattern: /\bcontains\s/i, hint: () => 'write order.comment.contains("urgent")' },
  { pattern: /\bhas(?:\s+\w|\(\s*\w+\s*\))/, hint: () => 'write has(order.season)' },
  {
    pattern: /(?<![\d.])\d+,\d+/,
    hint: ([text]) => `write ${text.replace(',', '.')} with a decimal point`,
  },
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
  return text.replaceAll(/[, ]/g, '');
}

function amount(number: string, unit: string): string {
  const currency = /^[A-Z]{3}$/.test(unit) ? unit : 'DKK';
  return `write ${number}, and the condition order.currency == "${currency}"`;
}

/** Days of the units that people count ages in. */
const UNIT_DAYS: Readonly<Record<string, number>> = { d: 1, w: 7, m: 30, y: 365 };

function withoutUnit(number: string, unit: string): string {
  const word = unit.toLowerCase();
  if (/^(kr|[a-z]{3})$/.test(word) && (word === 'kr' || unit === unit.toUpperCase())) {
    return amount(number, unit);
  }
  if (/^(h|hours?)$/.test(word)) return `write hours(${number})`;
  if (/^(min|minutes?)$/.test(word)) return `write minutes(${number})`;
  if (!/^(d|days?|w|weeks?|months?|y|years?)$/.test(word)) return `write ${number} without ${unit}`;
  const days = Number(number) * (UNIT_DAYS[word.charAt(0)] ?? 1);
  return `write days(${days}), or ${days} where the fact counts days`;
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
  if (has('Duration')) {
    if (types[0] !== 'int') return DURATION_HINT;
    return 'compare what counts days with a number, an age with days(3), hours(36) or minutes(90)';
  }
  if (has('Timestamp')) return TIMESTAMP_HINT;
  if (has('Money') && has('string')) {
    return 'write the amount as a number, and the condition order.currency == "DKK"';
  }
  if (has('bool')) return 'compare with true or false, without quotes';
  if (has('string')) return 'write texts in double quotes, numbers without';
  return undefined;
}

function operatorHint(left: string, operator: string): string | undefined {
  if (left === 'bool' && /^[<>]=?$/.test(operator)) return BETWEEN_HINT;
  if (operator === '*') return 'multiply or divide by a whole number: order.quantity / 2';
  const isDivided = operator === '/' || operator === '%';
  return isDivided ? 'there is no division; multiply the other side instead' : undefined;
}

/** `no such overload: string == int` as a sentence with a hint. */
export function typeProblem(summary: string): { message: string; hint?: string | undefined } {
  const helper = /^found no matching overload for '(days|hours|minutes)\(/.exec(summary)?.[1];
  if (helper !== undefined) {
    return { message: `${helper}() takes one whole number`, hint: `write ${helper}(3)` };
  }
  if (summary === 'has() invalid argument') {
    return { message: 'has() asks for one fact of a group', hint: 'write has(order.season)' };
  }
  if (summary.startsWith('no such overload: !')) {
    const hint = 'put brackets around what it denies: !(order.country in ["DK", "SE"])';
    return { message: `! stands before ${typeWord(summary.slice(19))}`, hint };
  }
  const match = /^no such overload: (\S+(?:<.*>)?) (\S+) (\S+(?:<.*>)?)$/.exec(summary);
  if (!match) return { message: summary };
  const [, left = '', operator = '', right = ''] = match;
  const hint = operatorHint(left, operator) ?? pairHint([left, right]);
  const words = `${typeWord(left)} ${operator} ${typeWord(right)}`;
  return { message: `these do not go together: ${words}`, hint };
}
