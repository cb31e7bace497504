/** Rules that each of several engines can be given, each in its own language. */

/** A test of the lines: whether one of them has more, or less, than the limit. */
export interface LineTest {
  readonly field: 'missing' | 'price_diff_pct' | 'quantity';
  readonly sign: '>' | '<=';
  readonly limit: number;
}

/** One condition in all languages, with what is shown of it. */
export interface EngineCondition {
  readonly own: string;
  /** CEL of facts that are all numbers, texts or truths. */
  readonly cel: string;
  readonly zen: string;
  /** Condition of json-rules-engine; a fact is named by its path. */
  readonly json: object;
  /** Paths of the facts behind it. */
  readonly values: readonly string[];
  /** Lines that decide it, where it asks about lines. */
  readonly lines?: LineTest;
}

export interface EngineRule {
  readonly id: string;
  readonly action: 'accept' | 'hold';
  readonly when: readonly EngineCondition[];
}

const SIGNS = { '>': 'greaterThan', '<=': 'lessThanInclusive' } as const;

/** Path of a fact as ours has it. */
function ownPath(path: string): string {
  return path.replace(/^customer\.(overdue_days|headroom)$/, 'customer.credit.$1');
}

function number(path: string, sign: '>' | '<=', limit: number): EngineCondition {
  return {
    own: `${ownPath(path)} ${sign} ${limit}`,
    cel: `${path} ${sign} ${limit}.0`,
    zen: `${path} ${sign} ${limit}`,
    json: { fact: path, operator: SIGNS[sign], value: limit },
    values: [path],
  };
}

function truth(path: string, wanted: boolean): EngineCondition {
  return {
    own: wanted ? path : `!${path}`,
    cel: wanted ? path : `!${path}`,
    zen: wanted ? path : `not ${path}`,
    json: { fact: path, operator: 'equal', value: wanted },
    values: [path],
  };
}

function among(path: string, texts: readonly string[]): EngineCondition {
  const list = JSON.stringify(texts);
  return {
    own: `${path} in ${list}`,
    cel: `${path} in ${list}`,
    zen: `${path} in ${list}`,
    json: { fact: path, operator: 'in', value: texts },
    values: [path],
  };
}

function above(left: string, right: string): EngineCondition {
  return {
    own: `${ownPath(left)} > ${ownPath(right)}`,
    cel: `${left} > ${right}`,
    zen: `${left} > ${right}`,
    json: { fact: left, operator: SIGNS['>'], value: { fact: right } },
    values: [left, right],
  };
}

function anyLine(field: LineTest['field'], sign: LineTest['sign'], limit: number): EngineCondition {
  return {
    own: `delivery.lines.exists(line, line.${field} ${sign} ${limit})`,
    cel: `delivery.lines.exists(line, line.${field} ${sign} ${limit}.0)`,
    zen: `some(delivery.lines, #.${field} ${sign} ${limit})`,
    json: { fact: 'delivery.lines', operator: 'anyLine', value: { field, sign, limit } },
    values: [],
    lines: { field, sign, limit },
  };
}

function noLine(field: LineTest['field'], limit: number): EngineCondition {
  return {
    own: `delivery.lines.all(line, line.${field} <= ${limit})`,
    cel: `delivery.lines.all(line, line.${field} <= ${limit}.0)`,
    zen: `all(delivery.lines, #.${field} <= ${limit})`,
    json: { fact: 'delivery.lines', operator: 'noLine', value: { field, sign: '>', limit } },
    values: [],
    lines: { field, sign: '>', limit },
  };
}

function begins(path: string, part: string): EngineCondition {
  return {
    own: `${path}.startsWith("${part}")`,
    cel: `${path}.startsWith("${part}")`,
    zen: `startsWith(${path}, "${part}")`,
    json: { fact: path, operator: 'begins', value: part },
    values: [path],
  };
}

const CUSTOMS = ['NO', 'GB', 'CH'];
const DKK: EngineCondition = {
  own: 'order.currency == "DKK"',
  cel: 'order.currency == "DKK"',
  zen: 'order.currency == "DKK"',
  json: { fact: 'order.currency', operator: 'equal', value: 'DKK' },
  values: ['order.currency'],
};

/** Conditions of a rule; the number makes each one another. */
const KINDS: readonly ((at: number) => readonly EngineCondition[])[] = [
  (at) => [
    among('order.country', ['DK', 'SE', 'DE']),
    number('delivery.amount', '<=', 60_000 - at),
    noLine('missing', 0),
    noLine('price_diff_pct', 2),
    truth('order.preorder', false),
    DKK,
  ],
  (at) => [anyLine('missing', '>', at), truth('order.preorder', false)],
  (at) => [anyLine('price_diff_pct', '>', 5 + at)],
  (at) => [among('order.country', CUSTOMS), number('delivery.quantity', '>', 40 + at)],
  (at) => [number('delivery.amount', '>', 80_000 + at), DKK],
  (at) => [number('customer.overdue_days', '>', 14 + at)],
  (at) => [truth('customer.blocked', true), number('order.quantity', '>', at)],
  (at) => [above('delivery.amount', 'customer.headroom'), number('order.quantity', '>', at)],
  (at) => [begins('order.freight_type', `Pick-up ${at}`), among('order.country', CUSTOMS)],
  (at) => [above('order.delivered_quantity', 'order.quantity'), number('order.quantity', '>', at)],
];

export function conditionsOf(count: number): readonly EngineRule[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `r${String(at).padStart(2, '0')}`,
    action: at % KINDS.length === 0 ? 'accept' : 'hold',
    when: KINDS[at % KINDS.length]?.(at) ?? [],
  }));
}
