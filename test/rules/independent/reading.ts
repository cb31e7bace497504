/**
 * Value of a condition, by docs/rules.md alone: true, false, or undefined where a fact that it
 * needs is not known.
 */
import type { Facts } from '../../../src/rules/facts/plain.ts';
import { type Condition, lengthMs } from './conditions.ts';
import { amountOf, compare, type Exact, exactOf, minus, plus, times, whole } from './exact.ts';
import type { Fact } from './pages.ts';
import type { Cell } from './tables.ts';
import { follows, membersOf } from './world.ts';

type Value =
  | { readonly kind: 'truth'; readonly is: boolean }
  | { readonly kind: 'text'; readonly text: string }
  /** `currency` of an amount; a number has none. */
  | { readonly kind: 'number'; readonly of: Exact; readonly currency?: string | undefined }
  | { readonly kind: 'length' | 'time'; readonly ms: number }
  | { readonly kind: 'list'; readonly items: readonly Value[] }
  | { readonly kind: 'lines'; readonly count: number };

export interface Setting {
  readonly facts: ReadonlyMap<string, Fact>;
  readonly delivery: Facts;
  list(name: string): readonly Cell[];
  cell(table: string, keys: readonly string[]): Cell | undefined;
}

type Line = ReadonlyMap<string, unknown>;

const truth = (is: boolean): Value => ({ kind: 'truth', is });
const text = (written: string): Value => ({ kind: 'text', text: written });

function ofCell(cell: Cell): Value {
  if (typeof cell === 'boolean') return truth(cell);
  return typeof cell === 'string' ? text(cell) : { kind: 'number', of: exactOf(cell.number) };
}

/** The plain value at a path: of the line of a loop, or of the delivery. */
function plainAt({ delivery }: Setting, path: string, line: Line | undefined): unknown {
  const names = path.split('.');
  if (names[0] === 'line') return line?.get(names[1] ?? '');
  return names.reduce<unknown>((value, name) => membersOf(value).get(name), delivery);
}

/** An amount in a currency that is not known is like itself only. */
function currencyAt(setting: Setting, path: string): string {
  const owner = path === 'delivery.currency' ? 'order.currency' : path;
  const code = plainAt(setting, owner, undefined);
  return typeof code === 'string' ? code : `?${owner}`;
}

function extraOf(value: unknown): Value | undefined {
  if (typeof value === 'boolean') return truth(value);
  if (typeof value === 'string') return text(value);
  return typeof value === 'number' ? { kind: 'number', of: exactOf(String(value)) } : undefined;
}

function typed(setting: Setting, fact: Fact, value: unknown): Value | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean') return truth(value);
  if (Array.isArray(value)) return { kind: 'list', items: value.map((one) => text(String(one))) };
  if (typeof value === 'string') {
    return fact.kind === 'number' ? { kind: 'number', of: exactOf(value) } : text(value);
  }
  const currency = fact.kind === 'amount' ? currencyAt(setting, fact.currency) : undefined;
  if (typeof value === 'object') {
    return 'top' in value && 'bottom' in value && typeof value.top === 'bigint'
      ? { kind: 'number', of: { top: value.top, bottom: BigInt(String(value.bottom)) }, currency }
      : undefined;
  }
  const number = Number(value);
  if (fact.kind === 'duration') return { kind: 'length', ms: number };
  if (fact.kind === 'point in time') return { kind: 'time', ms: number };
  const of = fact.kind === 'amount' ? amountOf(number) : whole(number);
  return { kind: 'number', of, currency };
}

function factOf(setting: Setting, path: string, line: Line | undefined): Value | undefined {
  if (path === 'delivery.lines') {
    return { kind: 'lines', count: setting.delivery.delivery.lines.length };
  }
  if (path.startsWith('customer.extra.')) return extraOf(plainAt(setting, path, undefined));
  const fact = setting.facts.get(path);
  if (!fact) return undefined;
  const derived = follows(setting.delivery, path, path.startsWith('line.') ? line : undefined);
  return typed(setting, fact, derived === null ? plainAt(setting, path, line) : derived);
}

/** Looks only at the last name; an empty text is not known. */
function has(setting: Setting, path: string, line: Line | undefined): boolean | undefined {
  const group = path.replace(/\.\w+$/, '');
  if (group.includes('.') && plainAt(setting, group, line) == null) return undefined;
  if (/^customer\.(credit|extra)$/.test(path)) return plainAt(setting, path, undefined) != null;
  const value = factOf(setting, path, line);
  return value !== undefined && !(value.kind === 'text' && value.text === '');
}

/** Negative, zero, positive; undefined where the two cannot be compared. */
function order(a: Value, b: Value): number | undefined {
  if (a.kind === 'number' && b.kind === 'number') {
    const [left, right] = [a.currency, b.currency];
    const differ = left !== undefined && right !== undefined && left !== right;
    return differ ? undefined : compare(a.of, b.of);
  }
  if (a.kind === 'text' && b.kind === 'text') {
    if (a.text === b.text) return 0;
    return a.text < b.text ? -1 : 1;
  }
  if (a.kind === 'truth' && b.kind === 'truth') return Number(a.is) - Number(b.is);
  return 'ms' in a && 'ms' in b ? a.ms - b.ms : undefined;
}

const HOLDS = {
  '==': (sign: number) => sign === 0,
  '!=': (sign: number) => sign !== 0,
  '<': (sign: number) => sign < 0,
  '<=': (sign: number) => sign <= 0,
  '>': (sign: number) => sign > 0,
  '>=': (sign: number) => sign >= 0,
} as const;

type Relation = Extract<Condition, { readonly is: 'relation' }>;

function related({ sign }: Relation, left: Value, right: Value): boolean | undefined {
  if (sign === 'in') {
    const items = right.kind === 'list' ? right.items : [];
    return items.some((item) => order(left, item) === 0);
  }
  const found = order(left, right);
  return found === undefined ? undefined : HOLDS[sign](found);
}

function number(of: Exact, currency: string | undefined): Value {
  return { kind: 'number', of, currency };
}

/** Whole numbers divide without a remainder, towards zero. */
function divided(sign: '/' | '%', a: Exact, b: Exact): Value | undefined {
  if (b.top === 0n) return undefined;
  const [left, right] = [a.top / a.bottom, b.top / b.bottom];
  return number(whole(sign === '/' ? left / right : left % right), undefined);
}

type Sum = Extract<Condition, { readonly is: 'sum' }>;

function summed({ sign }: Sum, a: Value, b: Value): Value | undefined {
  if ('ms' in a && 'ms' in b) {
    const ms = sign === '+' ? a.ms + b.ms : a.ms - b.ms;
    return { kind: a.kind === b.kind ? 'length' : 'time', ms };
  }
  if (a.kind === 'text' && b.kind === 'text') return text(a.text + b.text);
  if (a.kind !== 'number' || b.kind !== 'number') return undefined;
  if (a.currency !== undefined && b.currency !== undefined && a.currency !== b.currency) {
    return undefined;
  }
  const currency = a.currency ?? b.currency;
  if (sign === '+') return number(plus(a.of, b.of), currency);
  if (sign === '-') return number(minus(a.of, b.of), currency);
  return sign === '*' ? number(times(a.of, b.of), currency) : divided(sign, a.of, b.of);
}

/** Joins values: a decisive one is enough, whatever is not known of the others. */
export function joined(
  values: readonly (boolean | undefined)[],
  decisive: boolean,
): boolean | undefined {
  if (values.includes(decisive)) return decisive;
  return values.includes(undefined) ? undefined : !decisive;
}

function textIn(value: Value | undefined): string | undefined {
  return value?.kind === 'text' ? value.text : undefined;
}

function sizeOf(value: Value | undefined): Value | undefined {
  if (value?.kind === 'lines') return number(whole(value.count), undefined);
  if (value?.kind === 'list') return number(whole(value.items.length), undefined);
  return value?.kind === 'text' ? number(whole([...value.text].length), undefined) : undefined;
}

type Part = Extract<Condition, { readonly is: 'part' }>;

function partOf(setting: Setting, { how, of, part }: Part, line: Line | undefined) {
  const whole = textIn(meaningOf(setting, of, line));
  const wanted = textIn(meaningOf(setting, part, line));
  if (whole === undefined || wanted === undefined) return undefined;
  if (how === 'contains') return truth(whole.includes(wanted));
  return truth(how === 'startsWith' ? whole.startsWith(wanted) : whole.endsWith(wanted));
}

type Loop = Extract<Condition, { readonly is: 'loop' }>;

function loop(setting: Setting, { how, over, name, body }: Loop): Value | undefined {
  const wanted = how === 'exists';
  if (over === 'delivery.lines') {
    const lines = setting.delivery.delivery.lines.map(membersOf);
    return known(
      joined(
        lines.map((line) => truthOf(setting, body, line)),
        wanted,
      ),
    );
  }
  const list = factOf(setting, over, undefined);
  if (list?.kind !== 'list') return undefined;
  const named = list.items.map((item) => new Map([[name, item]]));
  return known(
    joined(
      named.map((items) => truthOf({ ...setting, items }, body, undefined)),
      wanted,
    ),
  );
}

function known(is: boolean | undefined): Value | undefined {
  return is === undefined ? undefined : truth(is);
}

interface Items {
  /** Values of the names of a loop over texts. */
  readonly items?: ReadonlyMap<string, Value>;
}

/** The value of a part of a condition; undefined where it is not known. */
function meaningOf(
  setting: Setting & Items,
  condition: Condition,
  line: Line | undefined,
): Value | undefined {
  const value = (part: Condition) => meaningOf(setting, part, line);
  switch (condition.is) {
    case 'fact':
      return setting.items?.get(condition.path) ?? factOf(setting, condition.path, line);
    case 'text':
      return text(condition.value);
    case 'number':
      return number(exactOf(condition.value), undefined);
    case 'truth':
      return truth(condition.value);
    case 'length':
      return { kind: 'length', ms: lengthMs(condition) };
    case 'time':
      return { kind: 'time', ms: condition.at };
    case 'values':
      return { kind: 'list', items: condition.items.flatMap((item) => value(item) ?? []) };
    case 'list':
      return { kind: 'list', items: setting.list(condition.name).map(ofCell) };
    case 'cell': {
      const keys = condition.keys.map((key) => textIn(value(key)));
      const asked = keys.flatMap((key) => (key === undefined ? [] : [key]));
      const cell = asked.length < keys.length ? undefined : setting.cell(condition.table, asked);
      return cell === undefined ? undefined : ofCell(cell);
    }
    case 'has':
      return known(has(setting, condition.path, line));
    case 'lower': {
      const of = textIn(value(condition.of));
      return of === undefined ? undefined : text(of.toLowerCase());
    }
    case 'size':
      return sizeOf(value(condition.of));
    case 'part':
      return partOf(setting, condition, line);
    case 'loop':
      return loop(setting, condition);
    default:
      return ofTwo(setting, condition, line);
  }
}

type Joining = Extract<Condition, { readonly is: 'and' | 'or' | 'not' | 'relation' | 'sum' }>;

function ofTwo(setting: Setting & Items, condition: Joining, line: Line | undefined) {
  if (condition.is === 'not') {
    const is = truthOf(setting, condition.of, line);
    return known(is === undefined ? undefined : !is);
  }
  if (condition.is === 'and' || condition.is === 'or') {
    const sides = condition.sides.map((side) => truthOf(setting, side, line));
    return known(joined(sides, condition.is === 'or'));
  }
  const [left, right] = condition.sides.map((side) => meaningOf(setting, side, line));
  if (!left || !right) return undefined;
  return condition.is === 'sum'
    ? summed(condition, left, right)
    : known(related(condition, left, right));
}

/** Whether it is true; undefined: neither true nor false. */
export function truthOf(
  setting: Setting & Items,
  condition: Condition,
  line?: Line,
): boolean | undefined {
  const value = meaningOf(setting, condition, line);
  return value?.kind === 'truth' ? value.is : undefined;
}
