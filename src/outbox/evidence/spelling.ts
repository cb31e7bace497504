/**
 * How a service shows a reference that was sent to it. A spelling is a small set of changes, made
 * in a fixed order: what of the characters is kept, some of them replaced or dropped, accents,
 * spaces, then a text before and behind it, and a cut. Capital and small letters, outer and double
 * spaces and the form of Unicode make no difference anywhere, so no spelling names them.
 */
import { z } from 'zod';

/** A text beside the reference; with `isShape` its digits stand for any number. */
const affixSchema = z.object({ text: z.string(), isShape: z.boolean() });

export const spellingSchema = z.object({
  /** `words`: letters, digits and spaces; `alnum`: letters and digits; `none`: nothing of it. */
  keep: z.enum(['all', 'words', 'alnum', 'digits', 'none']),
  /** Single characters and what stands in their place; an empty text drops them. */
  swap: z.record(z.string(), z.string()),
  /** `spelt`: ä is ae; `plain`: ä is a; `lost`: ä is a question mark. */
  accents: z.enum(['kept', 'plain', 'spelt', 'lost']),
  /** Double spaces make no difference, but for a cut behind them. */
  spaces: z.enum(['kept', 'single']),
  prefix: affixSchema,
  suffix: affixSchema,
  /** Characters that are left; null: all. */
  cut: z.int().nullable(),
  /** Whether the cut comes before what stands beside the reference. */
  cutsFirst: z.boolean(),
});

export type Spelling = z.output<typeof spellingSchema>;
export type Affix = Spelling['prefix'];

export const NO_AFFIX: Affix = { text: '', isShape: false };

/** As it was sent. */
export const AS_SENT: Spelling = {
  keep: 'all',
  swap: {},
  accents: 'kept',
  spaces: 'kept',
  prefix: NO_AFFIX,
  suffix: NO_AFFIX,
  cut: null,
  cutsFirst: false,
};

/** Without what makes no difference to a cut either. */
export function trimReference(text: string): string {
  return text.normalize('NFC').trim().toLowerCase();
}

/** Letters, digits and signs of ASCII, without a space: most references and barcodes are. */
const SIMPLE = /^[!-~]*$/;

/** The way references of ours and of the service are compared. */
export function foldReference(text: string): string {
  if (SIMPLE.test(text)) return text.toLowerCase();
  return trimReference(text).replace(/\s+/gu, ' ');
}

const DROPPED: Readonly<Record<Spelling['keep'], RegExp | undefined>> = {
  all: undefined,
  words: /[^\p{L}\p{M}\p{N}\s]/gu,
  alnum: /[^\p{L}\p{M}\p{N}]/gu,
  digits: /[^0-9]/g,
  none: /./gsu,
};

const SPELT: Readonly<Record<string, string>> = {
  ...{ ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss', æ: 'ae', ø: 'oe', å: 'aa', œ: 'oe', þ: 'th', ð: 'd' },
};
const UNMARKED: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', ø: 'o', œ: 'oe', þ: 'th', ð: 'd', ł: 'l', đ: 'd', ı: 'i' },
};

function withoutAccents(text: string, accents: Spelling['accents']): string {
  if (accents === 'kept') return text;
  if (accents === 'lost') return text.replace(/[^ -~]/gu, '?');
  const named = accents === 'spelt' ? SPELT : UNMARKED;
  const spelt = [...text].map((letter) => named[letter] ?? letter).join('');
  return spelt.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC');
}

/** The first so many characters. */
function take(text: string, count: number): string {
  return text.length <= count ? text : [...text].slice(0, count).join('');
}

/** What is left of the reference, without a cut and without what stands beside it. */
export function coreOf(
  { keep, swap, accents, spaces }: Pick<Spelling, 'keep' | 'swap' | 'accents' | 'spaces'>,
  sent: string,
): string {
  const text = spaces === 'single' ? foldReference(sent) : trimReference(sent);
  const dropped = DROPPED[keep];
  const kept = dropped ? text.replace(dropped, '') : text;
  const isSwapped = Object.keys(swap).length > 0;
  const swapped = isSwapped ? [...kept].map((one) => swap[one] ?? one).join('') : kept;
  return withoutAccents(swapped, accents);
}

function hasShape({ prefix, suffix }: Spelling): boolean {
  return prefix.isShape || suffix.isShape;
}

/** What is shown for it; undefined where that is not one text. */
export function spell(spelling: Spelling, sent: string): string | undefined {
  if (hasShape(spelling)) return undefined;
  const { prefix, suffix, cut, cutsFirst } = spelling;
  const core = coreOf(spelling, sent);
  const inner = cut !== null && cutsFirst ? take(core, cut).trim() : core;
  const whole = prefix.text + inner + suffix.text;
  return foldReference(cut !== null && !cutsFirst ? take(whole, cut) : whole);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function patternOf({ text, isShape }: Affix): string {
  return isShape ? escaped(text).replace(/\d+/g, '\\d+') : escaped(text);
}

/** Whether the service would show it so. */
export function accepts(spelling: Spelling, sent: string, shown: string): boolean {
  const text = spell(spelling, sent);
  const folded = foldReference(shown);
  if (text !== undefined) return text === folded;
  const { prefix, suffix, cut } = spelling;
  const core = coreOf(spelling, sent);
  const inner = escaped(foldReference(cut === null ? core : take(core, cut)));
  return new RegExp(`^${patternOf(prefix)}${inner}${patternOf(suffix)}$`, 'u').test(folded);
}

/** Whether nothing of the reference is left to tell it from others. */
export function isBlank(spelling: Spelling, sent: string): boolean {
  return spelling.keep === 'none' || coreOf(spelling, sent).trim() === '';
}

function lettersAndDigits(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, '');
}

/** Whether letters or digits of it are lost, so that another reference may be shown the same. */
export function isLossy(spelling: Spelling, sent: string): boolean {
  const { keep, accents, cut, cutsFirst, prefix } = spelling;
  if (keep === 'none') return true;
  const folded = lettersAndDigits(foldReference(sent));
  if (keep === 'digits' && /[^0-9]/.test(folded)) return true;
  if (accents === 'lost' && /[^ -~]/u.test(folded)) return true;
  if (cut === null) return false;
  const core = coreOf(spelling, sent);
  const left = cutsFirst ? cut : cut - [...prefix.text].length;
  return lettersAndDigits(take(core, Math.max(0, left))) !== lettersAndDigits(core);
}
