/**
 * Marks decisive members: status, quantities, barcodes, amounts. An unreadable one is null, and is
 * named with its row, because a guess could accept what must not be accepted. Any other optional
 * member is merely dropped; an unreadable key loses the row.
 */
import { z } from 'zod';

const deciding = z.registry();

export function doesDecide(schema: z.core.$ZodType): boolean {
  return deciding.has(schema);
}

/** Marks an optional member as decisive: null, and named with its row, when unreadable. */
export function decides<T extends z.ZodType>(schema: T): T {
  // Members share schemas, so the mark is put on a clone.
  const own = schema.clone();
  deciding.add(own);
  return own;
}

/** Marks a required member as decisive: null instead of a lost row when unreadable. */
export function alwaysDecides<Out>(schema: z.ZodType<Out>): z.ZodType<Out | null> {
  return decides(schema);
}
