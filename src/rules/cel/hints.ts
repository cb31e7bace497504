/**
 * Translates the expression library's terse messages into the words of the person who wrote the
 * condition.
 */

interface Habit {
  readonly pattern: RegExp;
  /** Gives the hint for a match; undefined if the match is no such mistake. */
  readonly hint: (match: RegExpExecArray) => string | undefined;
}

export const DURATION_HINT = 'write days(3), hours(36) or minutes(90)';
export const TIMESTAMP_HINT = 'write timestamp("2026-01-31T00:00:00Z")';
export const CLOCK_HINT = 'use clock.business_hours, clock.weekday or an age';
const BETWEEN_HINT = 'write both comparisons: order.quantity >= 5 && order.quantity <= 10';

/** Pattern of a number as people write it, with any separators; items of a list do not match. */
const NUMBER = String.raw`(?<![\w.,]|[([,] ?)(\d{1,3}(?: \d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)*)`;
const CURRENCY = '[A-Z]{3}|kr|[€$£]';

/** Common mistakes, each searched for in the text around the place where the parser stopped. */
const HABITS: readonly Habit[] = [
  { pattern: /[“”„]|(?<!\d)[‘’]|[‘’](?!\d)/, hint: () => 'use plain quotes: "DK"' },
  {
    pattern: /\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b/,
    hint: ([, day = '', month = '', year = '']) => timestampHint(year, month, day),
  },
  { pattern: /\b\d{1,2}:\d{2}\b/, hint: () => CLOCK_HINT },
  {
    pattern: new RegExp(`${NUMBER} ?(${CURRENCY})(?!\\w)`),
    hint: ([, number = '', unit = '']) => amount(number, unit),
  },
  {
    pattern: new RegExp(`(?<!\\w)(${CURRENCY}) ?${NUMBER.replace('\\w.,', '.,')}`),
    hint: ([, unit = '', number = '']) => amount(number, unit),
  },
  {
    pattern: new RegExp(`${NUMBER} ?(pcs|pieces?|stk|items?|units?)\\b`, 'i'),
    hint: ([, number = '', unit = '']) => {
      const count = plain(number);
      return count && `write ${count} without ${unit}`;
    },
  },
  {
    pattern: new RegExp(`${NUMBER} ?(d|w|y|h|min|(?:day|week|month|year|hour|minute)s?)\\b`, 'i'),
    hint: ([, number = '', unit = '']) => age(number, unit),
  },
  { pattern: new RegExp(NUMBER), hint: ([text]) => divided(text) },
  {
    pattern: /(?<![\w.])\d+(?:[_'’]+\d+)+(?:\.\d+)?/,
    hint: ([text]) => `write ${text.replaceAll(/[_'’]/g, '')} without a thousands separator`,
  },
  { pattern: /(?<![\w.,)\]"])[.,](\d+)/, hint: ([, digits]) => `write 0.${digits}` },
  { pattern: /(?<![\w.])(\d+)\.(?![\w.])/, hint: ([, digits]) => `write ${digits}` },
  { pattern: /\+ ?(\d+(?:\.\d+)?)/, hint: ([, digits]) => `write ${digits} without +` },
  { pattern: /\b(days|hours|minutes) +(\d+)/, hint: (match) => `write ${match[1]}(${match[2]})` },
  { pattern: /≥|≤/, hint: ([sign]) => `write ${sign === '≥' ? '>=' : '<='}` },
  { pattern: /\bin ?\(/, hint: () => 'write in ["DK", "SE"]' },
  { pattern: /\bbetween\b/i, hint: () => BETWEEN_HINT },
  { pattern: /\bcontains\s/i, hint: () => 'write order.comment.contains("urgent")' },
  { pattern: /\bhas(?:\s+\w|\(\s*\w+\s*\))/, hint: () => 'write has(order.season)' },
  { pattern: /(\d+(?:\.\d+)?) ?%/, hint: (match) => `write ${match[1]} without %` },
  { pattern: /<>/, hint: () => 'write != for "is not"' },
  { pattern: /=>/, hint: () => 'write >= for "at least"' },
  { pattern: /=</, hint: () => 'write <= for "at most"' },
  { pattern: /(?<![=!<>])=(?![=<>])/, hint: () => 'write == to compare' },
  { pattern: /\band\b/i, hint: () => 'write && instead of "and"' },
  { pattern: /\bor\b/i, hint: () => 'write || instead of "or"' },
  { pattern: /\bnot in\b/i, hint: () => 'write !(order.country in lists.name)' },
  { pattern: /(?<!\bis )\bnot\b(?! in\b)/i, hint: () => 'write ! instead of "not"' },
  { pattern: /\bis not\b/i, hint: () => 'write != instead of "is not"' },
  { pattern: /\bis\b(?! (?:not|in)\b)/i, hint: () => 'write == instead of "is"' },
];

/** A number as CEL writes it; undefined if its separators are ambiguous. */
function plain(text: string): string | undefined {
  const number = text.replaceAll(' ', '');
  if (/^\d+(\.\d+)?$/.test(number)) return number;
  if (/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(number)) return number.replaceAll(',', '');
  if (/^\d{1,3}(\.\d{3})+(,\d+)?$/.test(number)) {
    return number.replaceAll('.', '').replace(',', '.');
  }
  return /^\d+,\d+$/.test(number) ? number.replace(',', '.') : undefined;
}

/** Hint for a number with other separators than CEL knows; undefined if it has none. */
function divided(text: string): string | undefined {
  const number = plain(text);
  if (number === undefined || number === text) return undefined;
  if (/^\d+,\d+$/.test(text) && number.includes('.')) return `write ${number} with a decimal point`;
  return `write ${number}${number.includes('.') ? '' : ' without a thousands separator'}`;
}

const SIGNS: Readonly<Record<string, readonly [string, string]>> = {
  kr: ['DKK', ', or another krone'],
  '€': ['EUR', ''],
  $: ['USD', ', or another dollar'],
  '£': ['GBP', ''],
};
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

function amount(text: string, unit: string): string | undefined {
  const number = plain(text);
  const [currency, or] = SIGNS[unit] ?? [unit, ''];
  if (number === undefined || !CURRENCIES.has(currency)) return undefined;
  return `write ${number}, and the condition order.currency == "${currency}"${or}`;
}

/** Helper functions for durations, with the minutes of their units. */
const AGES = [
  ['days', 1440],
  ['hours', 60],
  ['minutes', 1],
] as const;

/** Minutes of each unit of time, by the first letters of its name. */
const UNIT_MINUTES = { y: 525_600, mo: 43_200, w: 10_080, d: 1440, h: 60, mi: 1 } as const;

function age(text: string, unit: string): string | undefined {
  const word = unit.toLowerCase();
  const [, each = 0] = Object.entries(UNIT_MINUTES).find(([name]) => word.startsWith(name)) ?? [];
  const minutes = Number(plain(text)) * each;
  const found = AGES.find(([, of]) => minutes % of === 0 && (each >= of || of === 1));
  if (!found) return undefined;
  const [name, of] = found;
  const written = `write ${name}(${minutes / of})`;
  return each < 1440 ? written : `${written}, or ${minutes / 1440} where the fact counts days`;
}

export function timestampHint(year: string, month: string, day: string): string {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}T00:00:00Z`;
  return Number.isNaN(Date.parse(text)) ? TIMESTAMP_HINT : `write timestamp("${text}")`;
}

/** Number of characters before and after an error's place in which a mistake may explain it. */
const AROUND_CHARS = 14;

/** Guesses what the author meant at the place `start`, where the parser stopped. */
export function syntaxHint(text: string, start: number): string | undefined {
  // Quoted texts are blanked, because mistakes in them are none; the positions stay the same.
  const code = text.replaceAll(/"[^"]*"|'[^']*'/g, (quoted) => ' '.repeat(quoted.length));
  // The window around the place is widened to whole words and numbers.
  const head = code.slice(0, Math.max(0, start - AROUND_CHARS)).replace(/[\w.,]+$/, '');
  const tail = /^[\w.,]*/.exec(code.slice(start + AROUND_CHARS))?.[0] ?? '';
  const from = head.length;
  const around = code.slice(from, start + AROUND_CHARS + tail.length);
  let best: { distance: number; hint: string } | undefined;
  for (const { pattern, hint } of HABITS) {
    const match = pattern.exec(around);
    const meant = match && hint(match);
    if (!meant) continue;
    const distance = Math.abs(from + match.index + match[0].length / 2 - start);
    if (!best || distance < best.distance) best = { distance, hint: meant };
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

/** Words for people for a CEL type. */
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
  if (has('string') || has('list<string>')) return 'write texts in double quotes, numbers without';
  return undefined;
}

/**
 * Hint for a whole number times a fraction, which CEL lacks; a division would drop the remainder.
 */
const TIMES_HINT = 'multiply both sides: order.quantity > 4 for order.quantity * 0.5 > 2';

/**
 * Hint for `in` with numbers: `in` compares only numbers of the same type, and those of
 * settings.yaml are decimals.
 */
const IN_HINT = 'write lists.sizes.exists(size, size == order.quantity)';
const NUMBERS: ReadonlySet<string> = new Set(['int', 'double', 'Decimal', 'Money']);

function operatorHint(left: string, operator: string, right: string): string | undefined {
  const isIn = operator === 'in' && NUMBERS.has(left) && right.startsWith('list<');
  if (isIn && NUMBERS.has(right.slice('list<'.length, -1))) return IN_HINT;
  if (left === 'bool' && /^[<>]=?$/.test(operator)) return BETWEEN_HINT;
  if (operator === '*' && [left, right].includes('double')) return TIMES_HINT;
  const isDivided = operator === '/' || operator === '%';
  return isDivided ? 'there is no division; multiply the other side instead' : undefined;
}

/** Turns a type error such as `no such overload: string == int` into a sentence with a hint. */
export function typeProblem(summary: string): { message: string; hint?: string | undefined } {
  const helper = /^found no matching overload for '(days|hours|minutes)\(/.exec(summary)?.[1];
  if (helper !== undefined) {
    const smaller = { days: ', or hours(36)', hours: ', or minutes(90)' }[helper] ?? '';
    const hint = `write ${helper}(3)${smaller}`;
    return { message: `${helper}() takes one whole number`, hint };
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
  const hint = operatorHint(left, operator, right) ?? pairHint([left, right]);
  const words = `${typeWord(left)} ${operator} ${typeWord(right)}`;
  return { message: `these do not go together: ${words}`, hint };
}
