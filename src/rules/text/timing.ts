/**
 * Parses the short phrases under `hold:` and `reject:`, such as `2 business days` or `next business
 * open`.
 */

import { z } from 'zod';
import { parseDuration } from '../../lib/units.ts';
import { fieldsOf, isRecordName, ROOT_NAMES } from '../facts/table.ts';

const DURATION = 'write a duration such as 90m, 36h or 3d';
export const duration = z
  .string(DURATION)
  .refine((text) => parseDuration(text) !== undefined, DURATION);

export const mode = z.enum(['off', 'shadow', 'live']);

export const count = z.int().positive();

/** A length of time; business time is counted by the calendar of the rule set. */
export type Span =
  | { readonly kind: 'duration'; readonly ms: number }
  | { readonly kind: 'business-days'; readonly days: number }
  | { readonly kind: 'business-hours'; readonly hours: number };

/** Events that make the rules look at a held delivery again before its time is up. */
export type Until =
  | Span
  | { readonly kind: 'business-open' }
  | { readonly kind: 'changes'; readonly path: string };

export function parseSpan(text: string): Span | undefined {
  const business = /^(\d{1,3}) business (day|hour)s?$/.exec(text);
  if (business) {
    const count = Number(business[1]);
    if (count === 0) return undefined;
    return business[2] === 'day'
      ? { kind: 'business-days', days: count }
      : { kind: 'business-hours', hours: count };
  }
  const ms = parseDuration(text);
  return ms === undefined || ms === 0 ? undefined : { kind: 'duration', ms };
}

/** Every path of the fact table, records included: `customer.credit`, `delivery.lines.missing`. */
export function factPaths(): readonly string[] {
  const paths: string[] = [];
  function add(record: Parameters<typeof fieldsOf>[0], prefix: string): void {
    for (const [name, field] of Object.entries(fieldsOf(record))) {
      paths.push(`${prefix}.${name}`);
      if (isRecordName(field.of)) add(field.of, `${prefix}.${name}`);
    }
  }
  for (const root of ROOT_NAMES) {
    paths.push(root);
    add(root, root);
  }
  return paths;
}

export function parseUntil(text: string): Until | undefined {
  if (text === 'next business open') return { kind: 'business-open' };
  const change = /^([a-z_.]+) changes$/.exec(text);
  if (!change) return parseSpan(text);
  const path = change[1] ?? '';
  return factPaths().includes(path) ? { kind: 'changes', path } : undefined;
}
