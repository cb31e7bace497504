/**
 * Spellings: how a service shows a reference that was sent to it. A spelling is a small set of
 * changes in a fixed order: kept characters, replaced or dropped ones, accents, spaces, a prefix
 * and a suffix, a cut. Case, outer and double spaces and the Unicode form make no difference.
 */
import { z } from 'zod';

/**
 * A constant text before or after the reference; with `isShape` its digits stand for any number.
 */
const affixSchema = z.object({ text: z.string(), isShape: z.boolean() });

export const spellingSchema = z.object({
  /**
   * Characters of the reference that are shown. `words`: letters, digits and spaces; `alnum`:
   * letters and digits; `none`: nothing of it.
   */
  keep: z.enum(['all', 'words', 'alnum', 'digits', 'none']),
  /** Single characters and their replacements; an empty replacement drops the character. */
  swap: z.record(z.string(), z.string()),
  /**
   * Treatment of accents. `spelt`: ä becomes ae; `plain`: ä becomes a; `lost`: ä becomes a question
   * mark.
   */
  accents: z.enum(['kept', 'plain', 'spelt', 'lost']),
  /** Treatment of double spaces; it makes a difference only for a later cut. */
  spaces: z.enum(['kept', 'single']),
  prefix: affixSchema,
  suffix: affixSchema,
  /** Number of characters that are left after a cut; null: nothing is cut. */
  cut: z.int().nullable(),
  /** Whether the cut comes before prefix and suffix are added. */
  cutsFirst: z.boolean(),
});

export type Spelling = z.output<typeof spellingSchema>;
type Affix = Spelling['prefix'];

const NO_AFFIX: Affix = { text: '', isShape: false };

const AS_SENT: Spelling = {
  keep: 'all',
  swap: {},
  accents: 'kept',
  spaces: 'kept',
  prefix: NO_AFFIX,
  suffix: NO_AFFIX,
  cut: null,
  cutsFirst: false,
};

/** Drops characters that make no difference, not even to a cut. */
function trimReference(text: string): string {
  return text.normalize('NFC').trim().toLowerCase();
}

/** Pattern of ASCII text without spaces, as most references and barcodes are. */
const SIMPLE = /^[!-~]*$/;

/** Form in which references of both sides are compared: equal forms mean equal references. */
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
  // biome-ignore format: a table
  ä: 'ae',
  ö: 'oe',
  ü: 'ue',
  ß: 'ss',
  æ: 'ae',
  ø: 'oe',
  å: 'aa',
  œ: 'oe',
  þ: 'th',
  ð: 'd',
};
const UNMARKED: Readonly<Record<string, string>> = {
  // biome-ignore format: a table
  ß: 'ss',
  æ: 'ae',
  ø: 'o',
  œ: 'oe',
  þ: 'th',
  ð: 'd',
  ł: 'l',
  đ: 'd',
  ı: 'i',
};

function withoutAccents(text: string, accents: Spelling['accents']): string {
  if (accents === 'kept') return text;
  if (accents === 'lost') return text.replace(/[^ -~]/gu, '?');
  const named = accents === 'spelt' ? SPELT : UNMARKED;
  const spelt = [...text].map((letter) => named[letter] ?? letter).join('');
  return spelt.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC');
}

function take(text: string, count: number): string {
  return text.length <= count ? text : [...text].slice(0, count).join('');
}

/** Applies a spelling to a sent reference, without its cut, prefix and suffix. */
function coreOf(
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

/** Returns how the spelling shows a sent reference; undefined if several texts are possible. */
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

export function accepts(spelling: Spelling, sent: string, shown: string): boolean {
  const text = spell(spelling, sent);
  const folded = foldReference(shown);
  if (text !== undefined) return text === folded;
  const { prefix, suffix, cut } = spelling;
  const core = coreOf(spelling, sent);
  const inner = escaped(foldReference(cut === null ? core : take(core, cut)));
  return new RegExp(`^${patternOf(prefix)}${inner}${patternOf(suffix)}$`, 'u').test(folded);
}

/** Whether the spelling leaves nothing of the reference that tells it from others. */
export function isBlank(spelling: Spelling, sent: string): boolean {
  return spelling.keep === 'none' || coreOf(spelling, sent).trim() === '';
}

function lettersAndDigits(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, '');
}

/** Whether the spelling loses letters or digits, so another reference may be shown the same. */
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

// Learning finds the simplest spellings that show every answered reference as it was shown. Several
// may be equally simple: then only the texts on which they agree are known.

export interface Pair {
  readonly sent: string;
  /** Reference as the service shows it; empty: it shows none. */
  readonly shown: string;
}

/** Part of a spelling that is applied before cut, prefix and suffix. */
type Base = Pick<Spelling, 'keep' | 'swap' | 'accents' | 'spaces'>;

/** References to which the base of a spelling was applied, and the shown references; all folded. */
interface Prepared {
  readonly cores: readonly string[];
  readonly shown: readonly string[];
  /** Number of characters in the longest shown reference, with all its spaces. */
  readonly longest: number;
}

const WHOLE: Base = { keep: 'all', swap: {}, accents: 'kept', spaces: 'kept' };

/** Special characters that were sent and are never shown. */
function lostSigns(pairs: readonly Pair[]): string[] {
  const signs = new Set(pairs.flatMap(({ sent }) => foldReference(sent).match(/[^\p{L}\p{N}]/gu)));
  return [...signs].flatMap((sign) =>
    sign !== null &&
    pairs.every(({ sent, shown }) => !sent.includes(sign) || !foldReference(shown).includes(sign))
      ? [sign]
      : [],
  );
}

/** Replacements of lost special characters, as far as the rest of the reference did not move. */
function signsInPlace(lost: readonly string[], pairs: readonly Pair[]): Record<string, string> {
  const swap: Record<string, string> = {};
  for (const pair of pairs) {
    const [sent, shown] = [[...foldReference(pair.sent)], [...foldReference(pair.shown)]];
    if (sent.length !== shown.length) continue;
    for (const [index, sign] of sent.entries()) {
      if (lost.includes(sign)) swap[sign] ??= shown[index] ?? '';
    }
  }
  return swap;
}

function keeps(pairs: readonly Pair[]): Base[] {
  const lost = lostSigns(pairs);
  const dropped = Object.fromEntries(lost.map((sign) => [sign, '']));
  const kinds = (['words', 'alnum', 'digits'] as const).map((keep) => ({ ...WHOLE, keep }));
  return [
    WHOLE,
    ...(lost.length > 0 ? [{ ...WHOLE, swap: dropped }] : []),
    ...(lost.length > 0 ? [{ ...WHOLE, swap: signsInPlace(lost, pairs) }] : []),
    ...kinds,
  ];
}

function basesFor(pairs: readonly Pair[]): Base[] {
  const isAscii = pairs.every(({ sent }) => /^[ -~]*$/.test(sent));
  const accents = isAscii ? (['kept'] as const) : (['kept', 'plain', 'spelt', 'lost'] as const);
  const hasRuns = pairs.some(({ sent }) => /\s\s/u.test(sent.trim()));
  const spaces = hasRuns ? (['kept', 'single'] as const) : (['kept'] as const);
  return keeps(pairs).flatMap((base) =>
    accents.flatMap((one) => spaces.map((way) => ({ ...base, accents: one, spaces: way }))),
  );
}

function changes({ keep, swap, accents, spaces, prefix, suffix, cut }: Spelling): number {
  const parts = [
    keep !== 'all',
    Object.keys(swap).length > 0,
    accents !== 'kept',
    spaces !== 'kept',
    prefix.text !== '',
    suffix.text !== '',
    cut !== null,
    prefix.isShape,
    suffix.isShape,
  ];
  return parts.filter(Boolean).length;
}

/** Cost of a spelling: the number of changes, then the length of prefix and suffix. */
function costOf(spelling: Spelling): number {
  const { prefix, suffix } = spelling;
  return changes(spelling) + Math.min(prefix.text.length + suffix.text.length, 999) / 1_000;
}

/**
 * Whether two texts may follow each other in a spelling: digits beside digits would be another
 * number.
 */
function isApart(left: string, right: string): boolean {
  return !(/\d$/.test(left) && /^\d/.test(right));
}

/** Yields the prefixes and suffixes around the reference, as the first pair shows them. */
function* affixes({ cores, shown }: Prepared): Generator<{ prefix: string; suffix: string }> {
  const [core = '', text = ''] = [cores[0], shown[0]];
  if (core === '') return;
  for (let at = text.indexOf(core); at >= 0; at = text.indexOf(core, at + 1)) {
    const prefix = text.slice(0, at);
    const suffix = text.slice(at + core.length);
    if (isApart(prefix, core) && isApart(core, suffix)) yield { prefix, suffix };
  }
}

function besides(base: Base, prepared: Prepared): Spelling[] {
  const found: Spelling[] = [];
  for (const { prefix, suffix } of affixes(prepared)) {
    for (const isShape of [false, true]) {
      const affix = (text: string): Affix =>
        /\d/.test(text) ? { text, isShape } : { ...NO_AFFIX, text };
      found.push({ ...AS_SENT, ...base, prefix: affix(prefix), suffix: affix(suffix) });
    }
  }
  return found;
}

/** Spellings that cut to the longest shown length, each with the same prefix or suffix. */
function cuts(base: Base, { cores, shown, longest }: Prepared): Spelling[] {
  const [core = '', text = ''] = [cores[0], shown[0]];
  const found: Spelling[] = [{ ...AS_SENT, ...base, cut: longest }];
  for (let length = 1; length < text.length; length += 1) {
    const prefix = text.slice(0, length);
    if (core.startsWith(text.slice(length)) && isApart(prefix, core)) {
      found.push({ ...AS_SENT, ...base, prefix: { ...NO_AFFIX, text: prefix }, cut: longest });
    }
    const suffix = text.slice(-length);
    const inner = text.slice(0, -length);
    if (core.startsWith(inner.trim()) && isApart(inner, suffix)) {
      const cut = longest - [...suffix].length;
      const cutsFirst = true;
      found.push({ ...AS_SENT, ...base, suffix: { ...NO_AFFIX, text: suffix }, cut, cutsFirst });
    }
  }
  return found;
}

function explainsAll(spelling: Spelling, pairs: readonly Pair[]): boolean {
  return pairs.every(({ sent, shown }) => accepts(spelling, sent, shown));
}

/** Spelling that shows one constant text for all references. */
function constant(pairs: readonly Pair[]): Spelling[] {
  const [text = '', other] = new Set(pairs.map(({ shown }) => foldReference(shown)));
  const differ = new Set(pairs.map(({ sent }) => foldReference(sent))).size > 1;
  if (other !== undefined || (text !== '' && !differ)) return [];
  return [{ ...AS_SENT, keep: 'none', prefix: { ...NO_AFFIX, text } }];
}

function* hypotheses(pairs: readonly Pair[]): Generator<Spelling> {
  const shown = pairs.map((pair) => foldReference(pair.shown));
  const longest = Math.max(...pairs.map((pair) => [...trimReference(pair.shown)].length));
  for (const base of basesFor(pairs)) {
    const cores = pairs.map(({ sent }) => foldReference(coreOf(base, sent)));
    // A base that leaves nothing of a reference would explain any shown text.
    if (cores.includes('')) continue;
    yield { ...AS_SENT, ...base };
    if (cores.every((core, index) => core === shown[index])) continue;
    yield* besides(base, { cores, shown, longest });
    yield* cuts(base, { cores, shown, longest });
  }
}

/** Returns the simplest spellings that explain all pairs; none if no spelling does. */
export function explain(pairs: readonly Pair[]): Spelling[] {
  if (pairs.length === 0) return [];
  if (pairs.every(({ shown }) => foldReference(shown) === '')) return constant(pairs);
  let least = Number.POSITIVE_INFINITY;
  const found = new Map<string, Spelling>();
  for (const spelling of hypotheses(pairs)) {
    const cost = costOf(spelling);
    if (cost > least || !explainsAll(spelling, pairs)) continue;
    if (cost < least) found.clear();
    least = cost;
    found.set(JSON.stringify(spelling), spelling);
  }
  return found.size > 0 ? [...found.values()] : constant(pairs);
}

/** Explains the pairs from the newest on, as many as one spelling can explain. */
export function explainNewest(newestFirst: readonly Pair[]): {
  readonly spellings: readonly Spelling[];
  readonly explained: number;
} {
  const all = explain(newestFirst);
  if (all.length > 0) return { spellings: all, explained: newestFirst.length };
  let spellings: readonly Spelling[] = [];
  let explained = 0;
  for (let count = 1; count <= newestFirst.length; count += 1) {
    const pairs = newestFirst.slice(0, count);
    const left = spellings.filter((one) => explainsAll(one, pairs));
    const next = left.length > 0 ? left : explain(pairs);
    if (next.length === 0) break;
    spellings = next;
    explained = count;
  }
  return { spellings, explained };
}

/** Whether a single change explains the pair; else the shown text may well be another reference. */
export function isPlausible(pair: Pair): boolean {
  const [simplest] = explain([pair]);
  return simplest !== undefined && changes(simplest) <= 1;
}
