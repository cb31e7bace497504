/** Rows of a list, checked one by one: a bad row is put aside with its reason, never thrown. */
import type { z } from 'zod';
import { cutDeep, isJsonObject, isTooDeep } from '../lib/json.ts';
import { sizeOfLongRow } from '../lib/json-rows/long-row.ts';

/** A row for quarantine. */
export interface Reject {
  /** The row as it came, but for what is nested too deep or too long; text when it is no JSON. */
  readonly raw: unknown;
  /** Where in the row, members joined by dots; empty: the row itself. */
  readonly path: string;
  readonly reason: string;
}

export interface CheckedRows<T> {
  readonly rows: readonly T[];
  readonly rejects: readonly Reject[];
}

/** Where and why a schema refused something. */
export function firstProblem(error: z.core.$ZodError): Omit<Reject, 'raw'> {
  const issue = error.issues[0];
  const path = issue?.path.map(String).join('.') ?? '';
  return { path, reason: issue?.message ?? 'not the shape of the contract' };
}

/** A row of which nothing could be written; undefined: it is none. */
export function tooDeep(raw: unknown): Reject | undefined {
  if (!isTooDeep(raw)) return undefined;
  // Each by itself has one bracket less.
  const members = isJsonObject(raw) ? Object.entries(raw) : [];
  const path = members.find(([, member]) => isTooDeep([member]))?.[0] ?? '';
  // One bracket too many stays: what is left must not be taken for the row.
  return { raw: cutDeep(raw, 0), path, reason: 'it is nested too deep' };
}

/** `accepts` of long lists: what it accepts is taken as it is, and not copied. */
export function checkRows<T>(
  schema: z.ZodType<T>,
  raws: readonly unknown[],
  accepts?: (raw: unknown) => raw is T,
  mayBeDeep = true,
): CheckedRows<T> {
  const rows: T[] = [];
  const rejects: Reject[] = [];
  for (const raw of raws) {
    const deep = mayBeDeep ? tooDeep(raw) : undefined;
    if (deep) {
      rejects.push(deep);
      continue;
    }
    if (accepts?.(raw)) {
      rows.push(raw);
      continue;
    }
    const parsed = schema.safeParse(raw);
    if (parsed.success) {
      rows.push(parsed.data);
      continue;
    }
    const size = sizeOfLongRow(raw);
    const tooLong = { path: '', reason: `it is too long: ${size} bytes` };
    rejects.push({ raw, ...(size === undefined ? firstProblem(parsed.error) : tooLong) });
  }
  return { rows, rejects };
}
