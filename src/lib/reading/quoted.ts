/**
 * Words of others inside our own sentences, such as the service's in an error: they may name a
 * customer, so they stand between marks, and readers who may not see names get a mask instead.
 */
import { isJsonObject, tryParseJson } from '../json.ts';

/** Replaces everything that a reader may not see. */
export const MASK = '•••';

/** A quotation; one that was cut off ends with the text. */
const QUOTATION = /‹[^›]*(?:›|$)/g;

/** Beginnings of quotations without marks, as 0.1.0 wrote them: they go to the end of the text. */
const UNMARKED = new RegExp(
  '(: HTTP \\d{3}: |cannot be understood: it says |not the answer of the service: ' +
    '|cannot be understood: (?=[^‹]*JSON))(?!‹|without a word)[\\s\\S]*$',
);

/** Signs of a text that may quote somebody, for a cheap first look. */
export const QUOTE_SIGNS = [
  '‹',
  ': HTTP ',
  'cannot be understood: ',
  'not the answer of the service: ',
] as const;

/** A name that cannot be a sentence about somebody: letters, digits and a few signs. */
const PLAIN = /^[\w.:=[\]$@/-]{1,80}$/;

/** The words of somebody else, as our own sentences quote them. */
export function quoted(words: string): string {
  return `‹${words.toWellFormed().replaceAll(/[‹›]/g, '"')}›`;
}

/** A name or value of somebody else: as it is where it is one plain word, else quoted. */
export function quotedUnlessPlain(name: string): string {
  return PLAIN.test(name) ? name : quoted(name);
}

function masked(text: string): string {
  const known = text.includes('‹') ? text.replaceAll(QUOTATION, `‹${MASK}›`) : text;
  return known.replace(UNMARKED, `$1‹${MASK}›`);
}

/** The value, also a text of JSON, with a mask in the place of all that it quotes. */
export function withoutQuotes<T>(value: T): T {
  return cleared(value) as T;
}

function cleared(value: unknown): unknown {
  if (typeof value === 'string') {
    const parsed = /^\s*[[{]/.test(value) ? tryParseJson(value) : undefined;
    if (typeof parsed !== 'object') return masked(value);
    const text = JSON.stringify(cleared(parsed));
    return text === JSON.stringify(parsed) ? value : text;
  }
  if (Array.isArray(value)) return value.map(cleared);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [masked(name), cleared(member)]),
  );
}
