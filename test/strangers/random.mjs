// A small seeded generator (mulberry32): the same seed gives the same world, ids and tokens.
export function generator(seed) {
  let a = seed >>> 0;
  const next = () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const int = (low, high) => low + Math.floor(next() * (high - low + 1));
  const pick = (list) => list[int(0, list.length - 1)];
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  const text = (length, alphabet = letters) => {
    let out = '';
    while (out.length < length) out += alphabet[int(0, alphabet.length - 1)];
    return out;
  };
  const bytes = (length) => Buffer.from(Array.from({ length }, () => int(0, 255)));
  return { next, int, pick, text, bytes };
}
