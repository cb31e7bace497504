/**
 * Stock: one number per variant in a typed array, with a count of stocked variants per block, so
 * that the n-th row of a list is found without walking the list.
 */
import type { Catalog } from './catalog.ts';
import { numberAt } from './hash.ts';

const BLOCK_SHIFT = 10;
const SALT_STOCK = 40;
const SALT_PRE_ORDER = 41;

export interface Stock {
  of(variant: number): number;
  set(variant: number, quantity: number): void;
  /** What may still be ordered ahead of the season. */
  preOrderable(variant: number): number;
  takePreOrder(variant: number, quantity: number): void;
  /** Quantities as they are now; later changes do not show. */
  frozen(): Int32Array;
  /** Variants of [from, to) with stock. */
  stockedIn(from: number, to: number): number;
  /** The n-th (from 0) stocked variant at or after `from`, or -1 before `to` is reached. */
  nth(from: number, to: number, n: number): number;
  preOrdered(): ReadonlyMap<number, number>;
  /** Variants whose quantity is not the one the world began with, with their quantity. */
  changes(): [number, number][];
  /** Back to the beginning, then these quantities. */
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

/** Visits [from, to) in whole blocks where it can: `visit(from, to, stocked or undefined)`. */
function* spans(from: number, to: number, blocks: Uint16Array) {
  let at = from;
  while (at < to) {
    const block = at >> BLOCK_SHIFT;
    const end = Math.min((block + 1) << BLOCK_SHIFT, to);
    const whole = at === block << BLOCK_SHIFT && end === (block + 1) << BLOCK_SHIFT;
    yield { at, end, stocked: whole ? (blocks[block] ?? 0) : undefined };
    at = end;
  }
}

function countStocked(quantities: Int32Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at += 1) if ((quantities[at] ?? 0) > 0) count += 1;
  return count;
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
    stockedIn(from, to) {
      let count = 0;
      for (const span of spans(from, to, blocks)) {
        count += span.stocked ?? countStocked(quantities, span.at, span.end);
      }
      return count;
    },
    nth(from, to, n) {
      let left = n;
      for (const span of spans(from, to, blocks)) {
        if (span.stocked !== undefined && span.stocked <= left) {
          left -= span.stocked;
          continue;
        }
        for (let at = span.at; at < span.end; at += 1) {
          if ((quantities[at] ?? 0) <= 0) continue;
          if (left === 0) return at;
          left -= 1;
        }
      }
      return -1;
    },
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
