/**
 * Random numbers by address: the same (seed, place, salt) always gives the same number, so that a
 * million variants need no memory for values that can be computed again.
 */

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Uniformly distributed 32 bits for this address (seed, place, salt). */
export function hashAt(seed: number, place: number, salt: number): number {
  return mix(mix(mix(seed + 0x9e3779b9) ^ (place + 0x85ebca6b)) ^ Math.imul(salt + 1, 0xc2b2ae35));
}

/** Uniform integer in [0, bound) for this address. */
export function numberAt(seed: number, place: number, salt: number, bound: number): number {
  return hashAt(seed, place, salt) % bound;
}

/** Element of a list (not empty) at this index, which starts over after the list's end. */
export function elementAt<T>(list: readonly T[], index: number): T {
  const item = list[index % list.length];
  if (item === undefined) throw new RangeError('an element of an empty list');
  return item;
}
