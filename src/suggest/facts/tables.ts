/** Limits that stand in tables of the settings by one key, such as a limit for each country. */
import { decimalOf } from '../../lib/money.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { type FlagField, type Given, mergeGiven } from './field.ts';
import { givenPath } from './numbers.ts';

type Settings = RuleSet['settings'];

/** Units (lib/money.ts) in one of a currency. */
const UNITS_PER_ONE = 10_000;

interface Measured {
  readonly path: string;
  /** Size of a step at a limit, and of one in the table, in the unit of the fact. */
  readonly step: number;
  readonly scale: number;
  /** Keys by which a number of the table has a meaning for the fact. */
  readonly keys: readonly string[];
  read(facts: Facts): number | null;
  shown(value: number): unknown;
}

const MEASURED: readonly Measured[] = [
  {
    path: 'delivery.amount',
    step: 100,
    scale: UNITS_PER_ONE,
    keys: ['order.currency'],
    read: ({ delivery }) => delivery.amount ?? null,
    shown: decimalOf,
  },
  {
    path: 'order.amount',
    step: 100,
    scale: UNITS_PER_ONE,
    keys: ['order.currency'],
    read: ({ order }) => order.amount ?? null,
    shown: decimalOf,
  },
  {
    path: 'delivery.quantity',
    step: 1,
    scale: 1,
    keys: ['order.country', 'order.season', 'order.account_no'],
    read: ({ delivery }) => delivery.quantity ?? null,
    shown: (value) => value,
  },
];

const KEYS: Readonly<Record<string, (facts: Facts) => string | null>> = {
  'order.currency': ({ order }) => order.currency ?? null,
  'order.country': ({ order }) => order.country ?? null,
  'order.season': ({ order }) => order.season ?? null,
  'order.account_no': ({ order }) => order.account_no ?? null,
};

function fieldOf(table: string, rows: ReadonlyMap<string, number>, of: Measured, key: string) {
  const { path, step, scale, read, shown } = of;
  const cellOf = (facts: Facts): number | undefined => {
    const name = KEYS[key]?.(facts) ?? null;
    const cell = name === null ? undefined : rows.get(name);
    return cell === undefined ? undefined : Math.round(cell * scale);
  };
  const given = (facts: Facts, value: number | null): Given => {
    const asked = givenPath(path, value === null ? null : shown(value));
    return mergeGiven([asked, givenPath(key, KEYS[key]?.(facts) ?? null)]);
  };
  const condition = (side: string) => `${path} ${side} tables.${table}[${key}]`;
  const guards = (guarded: boolean) => (guarded ? `has(${key}) && has(${path}) && ` : '');
  const field: FlagField = {
    kind: 'flag',
    name: `${path} in tables.${table} by ${key}`,
    reads: [path, key],
    isAcceptOnly: true,
    text: (value, guarded) => `${guards(guarded)}${condition(value ? '<=' : '>')}`,
    read(facts) {
      const [value, cell] = [read(facts), cellOf(facts)];
      return value === null || cell === undefined ? null : value <= cell;
    },
    limit(facts) {
      const cell = cellOf(facts);
      if (cell === undefined) return undefined;
      return { at: given(facts, cell), beyond: given(facts, cell + step) };
    },
  };
  return field;
}

/** Whether a table has numbers only, so that a fact can be compared with each cell. */
function hasNumbers(rows: ReadonlyMap<string, number>): boolean {
  return rows.size > 0 && rows.values().every((value) => Number.isFinite(value));
}

/** Comparisons with tables of the settings; those with several keys or days are left to people. */
export function tableFields({ tables }: Settings): readonly FlagField[] {
  return Object.entries(tables).flatMap(([table, written]) => {
    const rows = new Map<string, number>();
    for (const [key, value] of Object.entries(written)) {
      rows.set(key, typeof value === 'number' ? value : Number.NaN);
    }
    if (!hasNumbers(rows)) return [];
    return MEASURED.flatMap((of) => of.keys.map((key) => fieldOf(table, rows, of, key)));
  });
}
