/**
 * Stock: one number per variant in a typed array, with a count of stocked variants per block, so
 * that the n-th row of a list is found without walking the list.
 */
import type { Catalog, Range } from './catalog.ts';
import { numberAt } from './hash.ts';

const BLOCK_SHIFT = 10;
const BLOCK_ROWS = 1 << BLOCK_SHIFT;
const SALT_STOCK = 40;
const SALT_PRE_ORDER = 41;

export interface Stock {
  of(variant: number): number;
  set(variant: number, quantity: number): void;
  /** Number of pieces of the variant that may still be pre-ordered. */
  preOrderable(variant: number): number;
  takePreOrder(variant: number, quantity: number): void;
  /** Copy of the present quantities; later changes do not show in it. */
  frozen(): Int32Array;
  /** Number of variants in [from, to) with stock. */
  stockedIn(from: number, to: number): number;
  /** The n-th (from 0) stocked variant at or after `from`; -1: there are fewer before `to`. */
  nth(from: number, to: number, n: number): number;
  preOrdered(): ReadonlyMap<number, number>;
  /** Variants whose quantity differs from the initial one, with their present quantity. */
  changes(): [number, number][];
  /** Restores the initial quantities, and then sets these. */
  restore(
    changes: readonly (readonly [number, number])[],
    preOrdered: readonly (readonly [number, number])[],
  ): void;
}

function firstStock(catalog: Catalog): Int32Array {
  const { size, rowsPerStyle } = catalog;
  const out = new Int32Array(catalog.variantCount);
  for (let index = 0; index < size.styles; index += 1) {
    const style = catalog.style(index);
    const ahead = size.seasons > 1 && style.season === catalog.newestSeason;
    if (ahead) continue;
    const bound = style.noos ? 400 : 60;
    const from = index * rowsPerStyle;
    for (let at = from; at < from + rowsPerStyle; at += 1) {
      out[at] = 1 + numberAt(size.seed, at, SALT_STOCK, bound);
    }
  }
  return out;
}

function countBlocks(quantities: Int32Array): Uint16Array {
  const blocks = new Uint16Array((quantities.length >> BLOCK_SHIFT) + 1);
  for (let at = 0; at < quantities.length; at += 1) {
    const block = at >> BLOCK_SHIFT;
    if ((quantities[at] ?? 0) > 0) blocks[block] = (blocks[block] ?? 0) + 1;
  }
  return blocks;
}

function countStocked(quantities: Int32Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at += 1) if ((quantities[at] ?? 0) > 0) count += 1;
  return count;
}

/** Number of stocked variants in [from, to), by counts of whole blocks where possible. */
function countIn(quantities: Int32Array, blocks: Uint16Array, from: number, to: number): number {
  const firstWhole = (from + BLOCK_ROWS - 1) >> BLOCK_SHIFT;
  const endWhole = to >> BLOCK_SHIFT;
  if (firstWhole >= endWhole) return countStocked(quantities, from, to);
  let count = countStocked(quantities, from, firstWhole << BLOCK_SHIFT);
  for (let block = firstWhole; block < endWhole; block += 1) count += blocks[block] ?? 0;
  return count + countStocked(quantities, endWhole << BLOCK_SHIFT, to);
}

/** The n-th stocked variant in [from, to); whole blocks are skipped by their counts. */
function findNth(
  quantities: Int32Array,
  blocks: Uint16Array,
  [from, to]: Range,
  n: number,
): number {
  let left = n;
  let at = from;
  while (at < to) {
    const block = at >> BLOCK_SHIFT;
    const stocked = blocks[block] ?? 0;
    const isWhole = at === block << BLOCK_SHIFT && at + BLOCK_ROWS <= to;
    if (isWhole && stocked <= left) {
      left -= stocked;
      at += BLOCK_ROWS;
      continue;
    }
    if ((quantities[at] ?? 0) > 0) {
      if (left === 0) return at;
      left -= 1;
    }
    at += 1;
  }
  return -1;
}

export function createStock(catalog: Catalog): Stock {
  const quantities = firstStock(catalog);
  let blocks = countBlocks(quantities);
  const taken = new Map<number, number>();
  return {
    of: (variant) => quantities[variant] ?? 0,
    set(variant, quantity) {
      const before = quantities[variant] ?? 0;
      const block = variant >> BLOCK_SHIFT;
      const step = Number(quantity > 0) - Number(before > 0);
      blocks[block] = (blocks[block] ?? 0) + step;
      quantities[variant] = quantity;
    },
    preOrderable(variant) {
      const base = 20 + numberAt(catalog.size.seed, variant, SALT_PRE_ORDER, 200);
      return Math.max(0, base - (taken.get(variant) ?? 0));
    },
    takePreOrder(variant, quantity) {
      taken.set(variant, (taken.get(variant) ?? 0) + quantity);
    },
    preOrdered: () => new Map(taken),
    frozen: () => quantities.slice(),
    stockedIn: (from, to) => countIn(quantities, blocks, from, to),
    nth: (from, to, n) => findNth(quantities, blocks, [from, to], n),
    changes() {
      const out: [number, number][] = [];
      for (const [variant, first] of firstStock(catalog).entries()) {
        const quantity = quantities[variant] ?? 0;
        if (quantity !== first) out.push([variant, quantity]);
      }
      return out;
    },
    restore(changes, preOrdered) {
      quantities.set(firstStock(catalog));
      for (const [variant, quantity] of changes) quantities[variant] = quantity;
      blocks = countBlocks(quantities);
      taken.clear();
      for (const [variant, quantity] of preOrdered) taken.set(variant, quantity);
    },
  };
}
