/**
 * Members that decide: status, quantities, barcodes, amounts. One that cannot be read is null, and
 * is named with its row, because a guess could accept what must not be accepted. Every other member
 * that may be absent costs itself; one that may not is a key, and costs the row.
 */
import { z } from 'zod';

const deciding = z.registry();

export function doesDecide(schema: z.core.$ZodType): boolean {
  return deciding.has(schema);
}

/** A member that may be absent. */
export function decides<T extends z.ZodType>(schema: T): T {
  // Members share their schemas, and not what they decide.
  const own = schema.clone();
  deciding.add(own);
  return own;
}

/** A member that every row has: null where it cannot be read. */
export function alwaysDecides<Out>(schema: z.ZodType<Out>): z.ZodType<Out | null> {
  return decides(schema);
}
