/** Checks rows of a list one by one: a bad row is set aside with its reason, never thrown. */
import type { z } from 'zod';
import { cutDeep, isJsonObject, isTooDeep } from '../lib/json.ts';
import { sizeOfLongRow } from '../lib/json-rows/long-row.ts';
import type { Decimals } from './tolerant/decimals.ts';
import { tolerantReaderOf } from './tolerant/reader.ts';

/** A row that goes to quarantine, with the reason. */
export interface Reject {
  /** The row as received, without parts nested too deep or too long; text when it is not JSON. */
  readonly raw: unknown;
  /** Path of the faulty member in the row, joined by dots; empty: the row itself. */
  readonly path: string;
  readonly reason: string;
}

export interface CheckedRows<T> {
  readonly rows: readonly T[];
  readonly rejects: readonly Reject[];
}

/** Path and reason of a schema's first complaint. */
export function firstProblem(error: z.core.$ZodError): Omit<Reject, 'raw'> {
  const issue = error.issues[0];
  const path = issue?.path.map(String).join('.') ?? '';
  return { path, reason: issue?.message ?? 'not the shape of the contract' };
}

/** Rejects a row that is nested too deep for the database; undefined: the row is not. */
export function tooDeep(raw: unknown): Reject | undefined {
  if (!isTooDeep(raw)) return undefined;
  // Each member is checked inside a list, because alone it has one bracket less than in the row.
  const members = isJsonObject(raw) ? Object.entries(raw) : [];
  const path = members.find(([, member]) => isTooDeep([member]))?.[0] ?? '';
  // The copy keeps one bracket too many, so that it is not taken for the whole row.
  return { raw: cutDeep(raw, 0), path, reason: 'it is nested too deep' };
}

/** Reason why a row is lost: what the schema says of the indispensable member. */
function problemOf(schema: z.ZodType, raw: unknown, lost: string): Omit<Reject, 'raw'> {
  const size = sizeOfLongRow(raw);
  if (size !== undefined) return { path: '', reason: `it is too long: ${size} bytes` };
  const { error } = schema.safeParse(raw);
  const own = error?.issues.filter(({ path }) => path.map(String).join('.') === lost);
  const reason = own?.[0]?.message ?? 'it cannot be read';
  return { path: lost, reason };
}

export type ReadRow<T> = (
  raw: unknown,
) => { readonly value: T } | { readonly problem: Omit<Reject, 'raw'> };

/**
 * Builds a reader of rows by the schema, else by their meaning (tolerant/reader.ts) and by how the
 * account writes decimals. `accepts` is for long lists: rows that it accepts are used without a
 * copy.
 */
export function rowReader<T>(
  schema: z.ZodType<T>,
  decimals?: Decimals,
  accepts?: (raw: unknown) => raw is T,
): ReadRow<T> {
  let tolerant: ReturnType<typeof tolerantReaderOf<T>> | undefined;
  return (raw) => {
    if (accepts?.(raw)) return { value: raw };
    if (!accepts) {
      const parsed = schema.safeParse(raw);
      if (parsed.success) return { value: parsed.data };
    }
    // Most accounts do not need the tolerant reader, so it is built late.
    tolerant ??= tolerantReaderOf(schema, decimals);
    const read = sizeOfLongRow(raw) === undefined ? tolerant(raw) : { lost: '' };
    return 'value' in read ? read : { problem: problemOf(schema, raw, read.lost) };
  };
}

/**
 * Reads rows and sets bad ones aside; `mayBeDeep`: some may be nested too deep for the database.
 */
export function readRows<T>(
  read: ReadRow<T>,
  raws: readonly unknown[],
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
    const found = read(raw);
    if ('value' in found) rows.push(found.value);
    else rejects.push({ raw, ...found.problem });
  }
  return { rows, rejects };
}

export function checkRows<T>(
  schema: z.ZodType<T>,
  raws: readonly unknown[],
  decimals?: Decimals,
): CheckedRows<T> {
  return readRows(rowReader(schema, decimals), raws);
}
