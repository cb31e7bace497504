/**
 * Finds the simplest spellings by which every one of some answered references comes back as it
 * was shown. Several may be equally simple: what they agree on is known, the rest is not.
 */
import {
  type Affix,
  AS_SENT,
  accepts,
  coreOf,
  foldReference,
  NO_AFFIX,
  type Spelling,
  trimReference,
} from './spelling.ts';

export interface Pair {
  readonly sent: string;
  /** Empty: the service shows none. */
  readonly shown: string;
}

/** How references are changed before a cut and before what stands beside them. */
type Base = Pick<Spelling, 'keep' | 'swap' | 'accents' | 'spaces'>;

/** What is left of them by a base, and what is shown; all of it folded. */
interface Prepared {
  readonly cores: readonly string[];
  readonly shown: readonly string[];
  /** The longest that is shown, with all its spaces. */
  readonly longest: number;
}

const WHOLE: Base = { keep: 'all', swap: {}, accents: 'kept', spaces: 'kept' };

/** Signs that are shown nowhere although they were sent. */
function lostSigns(pairs: readonly Pair[]): string[] {
  const signs = new Set(pairs.flatMap(({ sent }) => foldReference(sent).match(/[^\p{L}\p{N}]/gu)));
  return [...signs].flatMap((sign) =>
    sign !== null &&
    pairs.every(({ sent, shown }) => !sent.includes(sign) || !foldReference(shown).includes(sign))
      ? [sign]
      : [],
  );
}

/** What stands in their places, where nothing else has moved. */
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
    ...[keep !== 'all', Object.keys(swap).length > 0, accents !== 'kept', spaces !== 'kept'],
    ...[prefix.text !== '', suffix.text !== '', cut !== null, prefix.isShape, suffix.isShape],
  ];
  return parts.filter(Boolean).length;
}

/** The fewest changes are the simplest; of these, those with the least text beside it. */
function costOf(spelling: Spelling): number {
  const { prefix, suffix } = spelling;
  return changes(spelling) + Math.min(prefix.text.length + suffix.text.length, 999) / 1_000;
}

/** Digits beside digits would be another number. */
function isApart(left: string, right: string): boolean {
  return !(/\d$/.test(left) && /^\d/.test(right));
}

/** A text before it and one behind it, as the first of them shows it. */
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

/** Cut to the longest that is shown, with the same text before each or behind each. */
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

/** Nothing of different references is left, but maybe a text that is always the same. */
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
    // What leaves nothing of a reference could show it as anything.
    if (cores.includes('')) continue;
    yield { ...AS_SENT, ...base };
    if (cores.every((core, index) => core === shown[index])) continue;
    yield* besides(base, { cores, shown, longest });
    yield* cuts(base, { cores, shown, longest });
  }
}

/** The simplest ones that explain all of these; none where nothing does. */
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

/** Those that the pairs are explained by, from the newest on, as far as one spelling reaches. */
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

/** Whether one change makes this of it; else it may well be another reference. */
export function isPlausible(pair: Pair): boolean {
  const [simplest] = explain([pair]);
  return simplest !== undefined && changes(simplest) <= 1;
}
