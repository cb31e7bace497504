/** Values of the expression library as JSON that people can read, for records and messages. */
import { Duration } from '@marcbachmann/cel-js/evaluator';
import type { Json } from '../../lib/json.ts';
import { currencyDecimals } from '../../lib/money.ts';
import { formatDuration } from '../../lib/units.ts';
import { Decimal, formatExact, Money } from './decimal.ts';

/** Maximum of a list's items that are shown; for a longer list its length is added. */
const ITEMS_MAX = 10;

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/**
 * Readable JSON of a value: amounts and percentages as decimal text, durations as `2d 3h`, times as
 * ISO text.
 */
export function readable(value: unknown): Json {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value);
  if (value instanceof Money) return formatExact(value, currencyDecimals(value.currency));
  if (value instanceof Decimal) return formatExact(value);
  if (value instanceof Duration) return formatDuration(value.valueOf());
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) {
    const shown = value.slice(0, ITEMS_MAX).map(readable);
    return value.length > ITEMS_MAX ? [...shown, `… ${value.length} in all`] : shown;
  }
  if (value instanceof Map) return readable(Object.fromEntries(value));
  if (!isRecord(value)) return String(value);
  const out: Record<string, Json> = {};
  for (const [name, member] of Object.entries(value)) out[name] = readable(member);
  return out;
}

/** Readable text of a value, for messages. */
export function readableText(value: unknown): string {
  const json = readable(value);
  return typeof json === 'string' ? json : JSON.stringify(json);
}
