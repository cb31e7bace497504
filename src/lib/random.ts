/** Injected randomness: random numbers and ids come from here, so that a seed replays a run. */
import { randomBytes } from 'node:crypto';

export interface Random {
  /** Gives a uniform number in [0, 1). */
  next(): number;
  /** Gives a uniform integer in [min, max], both included. */
  int(min: number, max: number): number;
  /** Gives a random element; the list must not be empty. */
  pick<T>(list: readonly T[]): T;
  /** Gives true with probability `p`. */
  chance(p: number): boolean;
  bytes(length: number): Buffer;
}

function fromNext(next: () => number, bytes: (length: number) => Buffer): Random {
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    int,
    bytes,
    chance: (p) => next() < p,
    pick(list) {
      const item = list[int(0, list.length - 1)];
      if (item === undefined) throw new RangeError('pick from an empty list');
      return item;
    },
  };
}

export function systemRandom(): Random {
  // A random number has 48 bits, because more could round up to 1.
  return fromNext(
    () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
    (length) => randomBytes(length),
  );
}

/** A deterministic generator (mulberry32): same seed, same sequence, on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return fromNext(next, (length) => {
    const out = Buffer.alloc(length);
    for (let index = 0; index < length; index += 1) out[index] = Math.floor(next() * 256);
    return out;
  });
}

const BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * Makes a ULID: 10 characters of time, 16 random ones. Such an id sorts by creation time and reads
 * well in a log. Source: github.com/ulid/spec.
 */
export function createId(nowMs: number, random: Random): string {
  let time = '';
  for (let rest = nowMs, index = 0; index < 10; index += 1) {
    time = `${BASE32[rest % 32]}${time}`;
    rest = Math.floor(rest / 32);
  }
  let tail = '';
  for (const byte of random.bytes(16)) tail += BASE32[byte % 32];
  return time + tail;
}
