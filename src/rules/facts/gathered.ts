/**
 * Tells which facts of a past decision were not gathered. Rules may ask for a fact that no rule
 * read at that time, or that an earlier version did not have: it is absent then, while a fact that
 * was gathered and has no value is null. To take the one for the other would make a condition false
 * about which nothing is known.
 */
import { isJsonObject } from '../../lib/json.ts';
import type { Facts } from './plain.ts';
import {
  type FieldSpec,
  fieldsOf,
  isRecordName,
  type RecordName,
  ROOT_NAMES,
  type RootName,
} from './table.ts';

/** Stored facts from which a derived one is computed, as far as they may not have been gathered. */
const DERIVED_FROM: Readonly<Record<string, string>> = {
  'delivery.weight': 'delivery.lines.weight',
  'delivery.lines.list_price_diff_pct': 'delivery.lines.list_price',
};

/** Facts that are stored only when they have a value. */
const ONLY_WITH_VALUE = ['delivery.unread', 'order.base_rate', 'order.base_currency'];

/** Facts of a customer that the ERP tells; an account that it does not know has none. */
const OF_ERP = ['account_no', 'blocked', 'credit', 'extra'];

/** A fact that rules read, as a way through the records. */
interface Way {
  readonly path: string;
  readonly record: RootName;
  readonly names: readonly string[];
}

/** Whether the record has the fact that is `at` names further. */
function isGathered(record: RecordName, plain: unknown, names: Way['names'], at: number): boolean {
  if (Array.isArray(plain)) {
    const own = at === names.length - 1 ? names[at] : undefined;
    // The lines of a delivery are many, and mostly all have it.
    const has = (item: unknown) => own && isJsonObject(item) && item[own] !== undefined;
    return plain.every((item) => has(item) || isGathered(record, item, names, at));
  }
  if (!isJsonObject(plain)) return plain === null;
  const name = names[at] ?? '';
  const value = plain[name];
  const isLast = at === names.length - 1;
  if (isLast && value !== undefined) return true;
  if (record === 'customer' && OF_ERP.includes(name) && plain.account_no === undefined) return true;
  const field: FieldSpec | undefined = fieldsOf(record)[name];
  if (value === undefined) return field?.derived === true;
  if (value === null) return true;
  if (isRecordName(field?.of)) return isGathered(field.of, value, names, at + 1);
  return isJsonObject(value) && value[names[at + 1] ?? ''] !== undefined;
}

/** Facts for which version 0.1.0 stored null also when it did not gather them. */
const NULL_BEFORE = ['type', 'weight', 'country_of_origin'];

function isKnown(facts: Facts, { record, names }: Way): boolean {
  const [name = '', inner = ''] = names;
  if (record === 'customer' && facts.customer === null && !OF_ERP.includes(name)) {
    return (facts.order.account_no ?? null) === null;
  }
  if (!isGathered(record, facts[record], names, 0)) return false;
  if (facts.feed !== undefined || !NULL_BEFORE.includes(inner)) return true;
  const { lines } = facts.delivery;
  const isTold = ({ type, weight, country_of_origin: origin }: (typeof lines)[number]): boolean =>
    [type, weight, origin].some((value) => (value ?? null) !== null);
  return lines.length === 0 || lines.some(isTold);
}

function wayOf(path: string): readonly Way[] {
  const [root, ...names] = (DERIVED_FROM[path] ?? path).split('.');
  const record = ROOT_NAMES.find((name) => name === root);
  const isFact = record !== undefined && names.length > 0 && !ONLY_WITH_VALUE.includes(path);
  return isFact ? [{ path, record, names }] : [];
}

const ALL_GATHERED: ReadonlySet<string> = new Set();

/** Makes a function that gives those of the facts with these paths that were not gathered. */
export function notGatheredOf(paths: readonly string[]): (facts: Facts) => ReadonlySet<string> {
  const ways = paths.flatMap(wayOf);
  return (facts) => {
    const missing = ways.filter((way) => !isKnown(facts, way));
    return missing.length === 0 ? ALL_GATHERED : new Set(missing.map(({ path }) => path));
  };
}
