/**
 * The facts that proposals may ask. Not asked are facts that tell when, or by what haste, a
 * delivery was decided (its age, the accepts of today), names and addresses, free texts, and what
 * comes true by waiting (what day it is, an old order): an open delivery is judged again.
 */

import { unknownCode } from '../../rules/cel/codes.ts';
import type { Facts, LineFacts } from '../../rules/facts/plain.ts';
import type { RuleSet } from '../../rules/rule.ts';
import {
  type ChoiceField,
  type Field,
  type FlagField,
  guardedBy,
  isPlainText,
  type ManyField,
  type NumberField,
  quoted,
} from './field.ts';
import { lineField, numberField, sizeField, stockLeftField } from './numbers.ts';
import { tableFields } from './tables.ts';

type Settings = RuleSet['settings'];

const CREDIT = ['customer.credit'];
const ORDER_PIN = { path: 'order.currency', guards: ['order.currency'] };
const CREDIT_PIN = {
  path: 'customer.credit.currency',
  guards: [...CREDIT, 'customer.credit.currency'],
};

function creditField(name: 'headroom' | 'limit' | 'balance', currency: string): NumberField {
  const path = `customer.credit.${name}`;
  return numberField({
    path,
    unit: 'money',
    guards: [...CREDIT, path],
    pin: { ...CREDIT_PIN, currency },
    read({ customer }) {
      const { credit } = customer ?? {};
      return credit?.currency === currency ? credit[name] : null;
    },
  });
}

/** Amounts, which are compared in one currency at a time. */
function amountFields(currency: string): readonly NumberField[] {
  const pin = { ...ORDER_PIN, currency };
  const own = (facts: Facts, value: number | null | undefined) =>
    facts.order.currency === currency ? value : null;
  const amount = (path: string, read: (facts: Facts) => number | null | undefined) =>
    numberField({ path, unit: 'money', guards: [path], pin, read: (one) => own(one, read(one)) });
  return [
    amount('delivery.amount', ({ delivery }) => delivery.amount),
    amount('order.amount', ({ order }) => order.amount),
    amount('order.freight_amount', ({ order }) => order.freight_amount),
    creditField('headroom', currency),
    creditField('limit', currency),
    creditField('balance', currency),
  ];
}

function numberFields({ base_currency: base }: Settings): readonly NumberField[] {
  const of = (
    path: string,
    read: (facts: Facts) => number | null | undefined,
    {
      unit = 'whole',
      guards = [path],
    }: { unit?: 'whole' | 'money' | 'span'; guards?: string[] } = {},
  ) => numberField({ path, unit, guards, read });
  const inBase = { unit: 'money' } as const;
  const days = 'customer.credit.overdue_days';
  return [
    of('delivery.quantity', ({ delivery }) => delivery.quantity),
    of('delivery.size_quantity', ({ delivery }) => delivery.size_quantity),
    ...(base === undefined
      ? []
      : [
          of('delivery.amount_base', ({ delivery }) => delivery.amount_base, inBase),
          of('order.amount_base', ({ order }) => order.amount_base, inBase),
        ]),
    sizeField(),
    of('order.quantity', ({ order }) => order.quantity),
    of('order.remaining_quantity', ({ order }) => order.remaining_quantity),
    of('order.other_pending', ({ order }) => order.other_pending, { guards: [] }),
    of('order.rejected_before', ({ order }) => order.rejected_before, { guards: [] }),
    of('order.accepted_before', ({ order }) => order.accepted_before, { guards: [] }),
    { ...of('order.age', ({ order }) => order.age, { unit: 'span', guards: [] }), sides: ['<='] },
    of('customer.orders_before', ({ customer }) => customer?.orders_before),
    // Refunds become older than 90 days, and an unpaid invoice older every day.
    { ...of('customer.refunds_90d', ({ customer }) => customer?.refunds_90d), sides: ['>'] },
    {
      ...of(days, ({ customer }) => customer?.credit?.overdue_days, { guards: [...CREDIT, days] }),
      sides: ['<='],
    },
    of('delivery.weight', ({ delivery }) => delivery.weight),
    lineField('price_diff_pct', '<='),
    lineField('price_diff_pct', '>'),
    lineField('list_price_diff_pct', '<='),
    lineField('list_price_diff_pct', '>'),
    lineField('missing', '<='),
    lineField('missing', '>'),
    stockLeftField(),
    lineField('quantity', '<='),
    lineField('quantity', '>'),
  ];
}

interface Choice {
  readonly path: string;
  readonly guards?: readonly string[];
  read(facts: Facts): string | null | undefined;
}

export function choiceField({ path, guards = [path], read }: Choice): ChoiceField {
  const usable = new Map<string, boolean>();
  const isUsable = (value: string): boolean => {
    const isCountry = path === 'order.country';
    return isPlainText(value) && !(isCountry && unknownCode('country', value) !== undefined);
  };
  const field = (facts: Facts): string | null => {
    const value = read(facts) ?? null;
    if (value === null) return null;
    const known = usable.get(value) ?? isUsable(value);
    usable.set(value, known);
    return known ? value : null;
  };
  return {
    kind: 'choice',
    name: path,
    reads: [path],
    text(values, guarded) {
      const [first = '', second] = values;
      const list = `[${values.map(quoted).join(', ')}]`;
      const condition = second === undefined ? `${path} == ${quoted(first)}` : `${path} in ${list}`;
      return guardedBy(guarded ? guards : [], condition);
    },
    read: field,
  };
}

/** Fact that tells days apart, as the clock does. */
export const PACKED_ON = 'delivery.weekday';

const CHOICES: readonly ChoiceField[] = [
  choiceField({ path: 'order.country', read: ({ order }) => order.country }),
  choiceField({ path: 'order.account_no', read: ({ order }) => order.account_no }),
  choiceField({ path: 'order.currency', read: ({ order }) => order.currency }),
  choiceField({
    path: 'customer.credit.currency',
    guards: [...CREDIT, 'customer.credit.currency'],
    read: ({ customer }) => customer?.credit?.currency,
  }),
  choiceField({ path: 'order.freight_type', read: ({ order }) => order.freight_type }),
  choiceField({ path: 'order.season', read: ({ order }) => order.season }),
  choiceField({ path: 'order.status', read: ({ order }) => order.status }),
  choiceField({ path: PACKED_ON, read: ({ delivery }) => delivery.weekday }),
];

interface Flag {
  readonly name: string;
  readonly reads: readonly string[];
  readonly condition: string;
  /** The opposite, where `!(condition)` reads badly. */
  readonly opposite?: string;
  readonly guards?: readonly string[];
  read(facts: Facts): boolean | null | undefined;
}

function flagField(flag: Flag): FlagField {
  const { name, reads, condition, guards = [], read } = flag;
  const simple = /^[\w.]+(\([\w.]+\))?$/.test(condition);
  const { opposite = simple ? `!${condition}` : `!(${condition})` } = flag;
  return {
    kind: 'flag',
    name,
    reads,
    text: (value, guarded) => guardedBy(guarded ? guards : [], value ? condition : opposite),
    read: (facts) => read(facts) ?? null,
  };
}

function pathFlag(path: string, read: Flag['read']): FlagField {
  return flagField({ name: path, reads: [path], condition: path, guards: [path], read });
}

/** Whether a fact is known at all; its value is not shown. */
function hasFlag(path: string, read: (facts: Facts) => unknown): FlagField {
  const isKnown = (facts: Facts): boolean => {
    const value = read(facts);
    return value !== null && value !== undefined && value !== '';
  };
  return flagField({
    name: `has ${path}`,
    reads: [path],
    condition: `has(${path})`,
    read: isKnown,
  });
}

/** Asked in the one direction only: the other comes true by waiting. */
function windowFlag(
  name: string,
  condition: string,
  isTrue: (lines: readonly LineFacts[], now: number) => boolean,
) {
  return flagField({
    name,
    reads: ['delivery.lines.window_from', 'delivery.lines.window_to', 'clock.now'],
    condition,
    read: ({ delivery, clock }) => isTrue(delivery.lines, clock.now) || null,
  });
}

type LineFlag = 'noos' | 'style_active' | 'color_active' | 'gtin';

function lineFlag(name: LineFlag, value: boolean): FlagField {
  const path = `delivery.lines.${name}`;
  const body = `has(line.${name}) && ${value ? '' : '!'}line.${name}`;
  return flagField({
    name: `a line ${value ? '' : 'not '}${name}`,
    reads: [path],
    condition: `delivery.lines.exists(line, ${body})`,
    read: ({ delivery }) => delivery.lines.some((line) => line[name] === value),
  });
}

const FITS = 'delivery.amount <= customer.credit.headroom';

const FLAGS: readonly FlagField[] = [
  pathFlag('order.preorder', ({ order }) => order.preorder),
  pathFlag('order.address_complete', ({ order }) => order.address_complete),
  pathFlag('order.canceled', ({ order }) => order.canceled),
  pathFlag('customer.blocked', ({ customer }) => customer?.blocked),
  pathFlag('season.listed', ({ season }) => season?.listed),
  hasFlag('order.comment', ({ order }) => order.comment),
  hasFlag('order.season', ({ order }) => order.season),
  hasFlag('order.similar_within', ({ order }) => order.similar_within),
  hasFlag('order.repeated_within', ({ order }) => order.repeated_within),
  hasFlag('customer.credit', ({ customer }) => customer?.credit),
  lineFlag('noos', true),
  lineFlag('style_active', false),
  lineFlag('color_active', false),
  windowFlag(
    'a line before its window',
    'delivery.lines.exists(line, has(line.window_from) && clock.now < line.window_from)',
    (lines, now) => lines.some(({ window_from: from }) => typeof from === 'number' && now < from),
  ),
  windowFlag(
    'no line behind its window',
    '!delivery.lines.exists(line, has(line.window_to) && clock.now >= line.window_to)',
    (lines, now) => !lines.some(({ window_to: to }) => typeof to === 'number' && now >= to),
  ),
  flagField({
    name: 'amount within credit',
    reads: [
      'delivery.amount',
      'order.currency',
      'customer.credit.headroom',
      'customer.credit.currency',
    ],
    condition: FITS,
    opposite: 'delivery.amount > customer.credit.headroom',
    guards: ['delivery.amount', ...CREDIT, 'customer.credit.headroom'],
    read({ delivery, order, customer }) {
      const { headroom, currency } = customer?.credit ?? {};
      if (typeof delivery.amount !== 'number' || typeof headroom !== 'number') return null;
      return (order.currency ?? null) === null || order.currency !== currency
        ? null
        : delivery.amount <= headroom;
    },
  }),
];

type LineText =
  | 'brand'
  | 'category'
  | 'type'
  | 'gender'
  | 'season'
  | 'delivery_name'
  | 'style_no'
  | 'country_of_origin';

function manyField(name: LineText): ManyField {
  const path = `delivery.lines.${name}`;
  const read = ({ delivery }: Facts): readonly string[] => {
    const values = new Set<string>();
    for (const { [name]: value } of delivery.lines) {
      if (typeof value === 'string' && isPlainText(value)) values.add(value);
    }
    return [...values];
  };
  return {
    kind: 'many',
    name: path,
    reads: [path],
    text: (value) =>
      `delivery.lines.exists(line, has(line.${name}) && line.${name} == ${quoted(value)})`,
    read,
  };
}

const MANY: readonly ManyField[] = [
  ...(['brand', 'category', 'type', 'gender', 'season', 'delivery_name'] as const).map(manyField),
  ...(['style_no', 'country_of_origin'] as const).map(manyField),
  {
    kind: 'many',
    name: 'order.delivery_names',
    reads: ['order.delivery_names'],
    text: (value) => `order.delivery_names.exists(name, name == ${quoted(value)})`,
    read: ({ order }) => order.delivery_names.filter(isPlainText),
  },
];

/** Facts that the ERP adds to its customers, as the settings declare them. */
function extraFields({ customer_fields: declared }: Settings): readonly Field[] {
  return Object.entries(declared).flatMap(([name, type]): readonly Field[] => {
    const path = `customer.extra.${name}`;
    const value = ({ customer }: Facts) => customer?.extra?.[name] ?? null;
    const text = (facts: Facts) => {
      const found = value(facts);
      return typeof found === 'string' ? found : null;
    };
    if (type === 'text') return [choiceField({ path, read: text })];
    if (type === 'true/false') {
      return [
        pathFlag(path, (facts) =>
          typeof value(facts) === 'boolean' ? value(facts) === true : null,
        ),
      ];
    }
    const number = (facts: Facts) => {
      const found = value(facts);
      return typeof found === 'number' ? found : null;
    };
    const unit = type === 'decimal' ? 'percent' : 'whole';
    return [numberField({ path, unit, guards: [path], read: number })];
  });
}

/** Whether a fact is in a list of the settings, as far as it is written there. */
function listFields({ lists, list_sources: sources }: Settings): readonly FlagField[] {
  const asked = CHOICES.filter(({ name }) =>
    ['order.country', 'order.account_no', 'order.season', 'order.freight_type'].includes(name),
  );
  return Object.entries(lists).flatMap(([list, values]) => {
    if (Object.hasOwn(sources, list) || !values.every((one) => typeof one === 'string')) return [];
    const within = new Set<unknown>(values);
    return asked.map(({ name, read }) =>
      flagField({
        name: `${name} in lists.${list}`,
        reads: [name],
        condition: `${name} in lists.${list}`,
        guards: [name],
        read(facts) {
          const value = read(facts);
          return value === null ? null : within.has(value);
        },
      }),
    );
  });
}

export interface FieldsWanted {
  readonly settings: Settings;
  /** Currencies of the orders, the most frequent first. */
  readonly currencies: readonly string[];
}

/** Every fact that may be asked, under these settings. */
export function fieldsFor({ settings, currencies }: FieldsWanted): readonly Field[] {
  return [
    ...numberFields(settings),
    ...currencies.flatMap(amountFields),
    ...CHOICES,
    ...FLAGS,
    ...MANY,
    ...extraFields(settings),
    ...listFields(settings),
    ...tableFields(settings),
  ];
}
