/** Numbers among the facts: pieces, amounts, percentages, durations, and their largest in lines. */
import { decimalOf } from '../../lib/money.ts';
import { completeLine } from '../../rules/facts/build.ts';
import type { Facts, LineFacts } from '../../rules/facts/plain.ts';
import { type Given, guardedBy, mergeGiven, type NumberField, quoted, type Side } from './field.ts';

const BOTH: readonly Side[] = ['<=', '>'];
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Multiples of powers of ten, of their halves and quarters, from the largest to the smallest. */
function decimalGranules(smallest: number, largest: number): readonly number[] {
  const granules: number[] = [];
  for (let power = largest; power >= smallest; power /= 10) {
    granules.push(power);
    if (power / 2 >= smallest) granules.push(power / 2);
  }
  return granules;
}

const WHOLE = decimalGranules(1, 1_000_000).filter((one) => Number.isInteger(one));
/** In units (lib/money.ts); the smallest is a hundredth. */
const MONEY = decimalGranules(100, 10_000_000_0000).filter((one) => one % 100 === 0);
const HUNDREDTHS = [1000, 500, 100, 50, 10, 5, 1, 0.5, 0.1, 0.05, 0.01];
const SPANS = [30, 10, 7, 5, 1]
  .map((days) => days * DAY_MS)
  .concat([
    ...[12, 6, 1].map((hours) => hours * HOUR_MS),
    ...[30, 10, 1].map((minutes) => minutes * MINUTE_MS),
  ]);

interface Unit {
  readonly granules: readonly number[];
  readonly step: number;
  literal(value: number): string;
  given(value: number): unknown;
}

function spanText(ms: number): string {
  if (ms % DAY_MS === 0) return `days(${ms / DAY_MS})`;
  return ms % HOUR_MS === 0 ? `hours(${ms / HOUR_MS})` : `minutes(${ms / MINUTE_MS})`;
}

function fourDecimals(value: number): string {
  return String(Number(value.toFixed(4)));
}

const UNITS = {
  whole: { granules: WHOLE, step: 1, literal: String, given: (value) => value },
  money: {
    granules: MONEY,
    step: 100,
    literal: (units) => String(decimalOf(units)),
    given: decimalOf,
  },
  percent: {
    granules: HUNDREDTHS,
    step: 0.01,
    literal: fourDecimals,
    given: fourDecimals,
  },
  span: {
    granules: SPANS,
    step: MINUTE_MS,
    literal: spanText,
    given: (ms) => `${Math.floor(ms / 1_000)}s`,
  },
} satisfies Readonly<Record<string, Unit>>;

/** Facts in which a path has this value. */
export function givenPath(path: string, value: unknown): Given {
  const [name = '', ...rest] = path.split('.');
  return { [name]: rest.length === 0 ? value : givenPath(rest.join('.'), value) };
}

interface Pin {
  /** Path of the currency. */
  readonly path: string;
  readonly guards: readonly string[];
  readonly currency: string;
}

interface Described {
  readonly path: string;
  readonly unit: keyof typeof UNITS;
  /** Paths that a condition must ask for by `has` to be known. */
  readonly guards?: readonly string[];
  readonly pin?: Pin;
  read(facts: Facts): number | null | undefined;
}

export function numberField({ path, unit, guards = [], pin, read }: Described): NumberField {
  const { granules, step, literal, given }: Unit = UNITS[unit];
  const givenAt = (value: number): Given => {
    const of = givenPath(path, given(value));
    return pin ? mergeGiven([of, givenPath(pin.path, pin.currency)]) : of;
  };
  return {
    kind: 'number',
    name: pin ? `${path} ${pin.currency}` : path,
    reads: pin ? [path, pin.path] : [path],
    sides: BOTH,
    pin,
    granules,
    step,
    before(guarded) {
      if (!pin) return [];
      const text = `${pin.path} == ${quoted(pin.currency)}`;
      return [guarded ? guardedBy(pin.guards, text) : text];
    },
    text: (side, limit, guarded) =>
      guardedBy(guarded ? guards : [], `${path} ${side} ${literal(limit)}`),
    read: (facts) => read(facts) ?? null,
    givenAt,
  };
}

export function sizeField(): NumberField {
  const givenAt = (value: number): Given => ({
    delivery: { lines: Array.from({ length: value }, () => ({})) },
  });
  return {
    ...numberField({
      path: 'delivery.lines.size()',
      unit: 'whole',
      read: ({ delivery }) => delivery.lines.length,
    }),
    reads: ['delivery.lines'],
    givenAt,
  };
}

type LineNumber = 'price_diff_pct' | 'list_price_diff_pct' | 'missing' | 'quantity' | 'discount';

const LINE_UNITS: Readonly<Record<LineNumber, keyof typeof UNITS>> = {
  price_diff_pct: 'percent',
  list_price_diff_pct: 'percent',
  discount: 'percent',
  missing: 'whole',
  quantity: 'whole',
};

/** Pieces that each line leaves in stock: at least so many, as it lacks at most the opposite. */
export function stockLeftField(): NumberField {
  const paths = ['delivery.lines.stock_free', 'delivery.lines.quantity'];
  const lacks = ({ quantity, stock_free: free }: LineFacts): number =>
    typeof quantity === 'number' && typeof free === 'number' ? quantity - free : Number.NaN;
  return {
    ...lineField('missing', '<='),
    name: 'delivery.lines.stock_free left',
    reads: paths,
    text(_, limit, guarded) {
      const body = `line.stock_free - line.quantity >= ${-limit}`;
      const guards = guarded ? ['line.stock_free', 'line.quantity'] : [];
      return `delivery.lines.all(line, ${guardedBy(guards, body)})`;
    },
    read({ delivery: { lines } }) {
      const most = Math.max(...lines.map(lacks));
      return Number.isFinite(most) ? most : null;
    },
    givenAt: (value) => ({ delivery: { lines: [{ quantity: 1, stock_free: 1 - value }] } }),
  };
}

const ONE_LINE = [
  { name: 'no line', given: { delivery: { lines: [] } }, isIn: false },
  { name: 'one line', given: { delivery: { lines: [{}] } }, isIn: true },
];

function lineNumbers(lines: readonly LineFacts[], name: LineNumber): readonly number[] {
  return lines.flatMap((line) => {
    const { [name]: value } = completeLine(line);
    return value === null || value === undefined ? [] : [Number(value)];
  });
}

/**
 * The largest number of the lines. "Some line is above" is known if one is; "all lines are at or
 * below" only if each is known.
 */
export function lineField(name: LineNumber, side: Side): NumberField {
  const { granules, step, literal, given }: Unit = UNITS[LINE_UNITS[name]];
  const path = `delivery.lines.${name}`;
  const givenAt = (value: number): Given => ({ delivery: { lines: [{ [name]: given(value) }] } });
  return {
    kind: 'number',
    name: `${path} ${side}`,
    reads: [path],
    sides: [side],
    granules,
    step,
    // Each line of none is at or below.
    before: () => (side === '<=' ? ['delivery.lines.size() > 0'] : []),
    besides: side === '<=' ? ONE_LINE : [],
    text(_, limit, guarded) {
      const body = `line.${name} ${side} ${literal(limit)}`;
      const loop = side === '>' ? 'exists' : 'all';
      return `delivery.lines.${loop}(line, ${guardedBy(guarded ? [`line.${name}`] : [], body)})`;
    },
    read({ delivery: { lines } }) {
      const known = lineNumbers(lines, name);
      if (known.length === 0 || (side === '<=' && known.length < lines.length)) return null;
      return Math.max(...known);
    },
    givenAt,
  };
}
