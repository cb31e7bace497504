/** Sets of values that one fact may have: intervals of numbers, and choices of texts. */

/** Numbers from `low` to `high`; an end that is open does not belong to the interval. */
export interface Interval {
  readonly kind: 'interval';
  readonly low: number;
  readonly high: number;
  readonly lowOpen: boolean;
  readonly highOpen: boolean;
}

/** Choice of texts: the listed ones, or all but these. A flag is the text `true` or `false`. */
export interface Choice {
  readonly kind: 'choice';
  readonly values: ReadonlySet<string>;
  readonly except: boolean;
}

export type Region = Interval | Choice;

export function interval(
  low: number,
  high: number,
  open: { readonly low?: boolean; readonly high?: boolean } = {},
): Interval {
  return { kind: 'interval', low, high, lowOpen: open.low ?? false, highOpen: open.high ?? false };
}

export function choice(values: Iterable<string>, except = false): Choice {
  return { kind: 'choice', values: new Set(values), except };
}

/** Narrows an interval to its whole numbers: `> 3` is `>= 4`. */
export function wholeNumbers(region: Interval): Interval {
  const low = region.lowOpen ? Math.floor(region.low) + 1 : Math.ceil(region.low);
  const high = region.highOpen ? Math.ceil(region.high) - 1 : Math.floor(region.high);
  return interval(low, high);
}

export function isEmpty(region: Region): boolean {
  if (region.kind === 'choice') return !region.except && region.values.size === 0;
  const { low, high, lowOpen, highOpen } = region;
  return low > high || (low === high && (lowOpen || highOpen));
}

function intersectIntervals(a: Interval, b: Interval): Interval {
  const low = Math.max(a.low, b.low);
  const high = Math.min(a.high, b.high);
  const lowOpen = [a, b].some((one) => one.low === low && one.lowOpen);
  const highOpen = [a, b].some((one) => one.high === high && one.highOpen);
  return interval(low, high, { low: lowOpen, high: highOpen });
}

function intersectChoices(a: Choice, b: Choice): Choice {
  if (!a.except && !b.except) return choice(a.values.intersection(b.values));
  if (a.except && b.except) return choice(a.values.union(b.values), true);
  const [listed, excluded] = a.except ? [b, a] : [a, b];
  return choice(listed.values.difference(excluded.values));
}

/**
 * Values that are in both sets; undefined if one has numbers and the other texts, which the type
 * check of conditions rules out.
 */
export function intersect(a: Region, b: Region): Region | undefined {
  if (a.kind === 'interval') return b.kind === 'interval' ? intersectIntervals(a, b) : undefined;
  return b.kind === 'choice' ? intersectChoices(a, b) : undefined;
}

/** Whether every value of `inner` is in `outer`. */
export function isWithin(inner: Region, outer: Region): boolean {
  if (isEmpty(inner)) return true;
  const both = intersect(inner, outer);
  if (both === undefined) return false;
  if (both.kind === 'choice' && inner.kind === 'choice') {
    return both.except === inner.except && both.values.symmetricDifference(inner.values).size === 0;
  }
  if (both.kind !== 'interval' || inner.kind !== 'interval') return false;
  const sameLow = both.low === inner.low && both.lowOpen === inner.lowOpen;
  return sameLow && both.high === inner.high && both.highOpen === inner.highOpen;
}

export function union(a: Region, b: Region): Region | undefined {
  if (a.kind !== 'choice' || b.kind !== 'choice' || a.except || b.except) return undefined;
  return choice(a.values.union(b.values));
}

/** Values that are not in the set; undefined if they are no single interval or choice. */
export function complement(region: Region): Region | undefined {
  if (region.kind === 'choice') return choice(region.values, !region.except);
  if (region.low === -Infinity) {
    return interval(region.high, Infinity, { low: !region.highOpen });
  }
  return region.high === Infinity
    ? interval(-Infinity, region.low, { high: !region.lowOpen })
    : undefined;
}
