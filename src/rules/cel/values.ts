/** Values of the expression library as JSON that people can read, for records and messages. */
import { Duration } from '@marcbachmann/cel-js/evaluator';
import type { Json } from '../../lib/json.ts';
import { currencyDecimals } from '../../lib/money.ts';
import { formatDuration } from '../../lib/units.ts';
import type { Frame } from '../facts/view.ts';
import { type Code, NotKnown, type NumberCode } from './code.ts';
import { Decimal, formatExact, formatUnits, Money } from './decimal.ts';

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

/** Text of a readable value, for messages. */
export function shownText(json: Json): string {
  return typeof json === 'string' ? json : JSON.stringify(json);
}

type ShownRun = (frame: Frame) => { readonly value: Json } | NotKnown;

/** Number as it is shown, given its units. */
function numberText({ type, places, owner }: NumberCode, units: number, { view }: Frame): Json {
  if (type === 'int') return units;
  if (type === 'double') return Number(formatUnits(units, places, 0));
  const decimals = owner === undefined ? 0 : currencyDecimals(view.currencies[owner]);
  return formatUnits(units, places, decimals);
}

/** Shows the value of compiled code as `readable` shows it; undefined: it has no such value. */
export function shownBy(code: Code): ShownRun | undefined {
  if (code.kind === 'lines') return undefined;
  const shown = (value: Exclude<ReturnType<typeof code.run>, NotKnown>, frame: Frame): Json => {
    if (typeof value !== 'number') return readable(value);
    if (code.kind === 'duration') return formatDuration(value);
    if (code.kind === 'time') return new Date(value).toISOString();
    return code.kind === 'number' ? numberText(code, value, frame) : value;
  };
  const { run } = code;
  return (frame) => {
    const value = run(frame);
    return value instanceof NotKnown ? value : { value: shown(value, frame) };
  };
}
