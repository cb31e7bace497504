/** Lists every fact of one delivery with its value: the quickest way to find a fact's name. */
import { isJsonObject } from '../../lib/json.ts';
import { formatAmount } from '../../lib/money.ts';
import { formatDuration } from '../../lib/units.ts';
import { completeFacts, currenciesOf } from './build.ts';
import type { Facts } from './plain.ts';
import {
  currencyOwner,
  type FieldSpec,
  fieldsOf,
  isRecordName,
  type RecordName,
  ROOT_NAMES,
} from './table.ts';

export interface FactRow {
  /** Path of the fact in a condition; items of a list are numbered: `delivery.lines[0].missing`. */
  readonly path: string;
  /** Value of the fact as text; undefined when it is not known. */
  readonly value: string | undefined;
  readonly about: string;
}

function shown(field: FieldSpec, value: unknown, currency: string): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'number') {
    if (field.type === 'money') return formatAmount(value, currency);
    if (field.type === 'duration') return formatDuration(value);
    if (field.type === 'timestamp') return new Date(value).toISOString();
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function recordRows(
  record: RecordName,
  path: string,
  plain: unknown,
  currencies: ReturnType<typeof currenciesOf>,
): readonly FactRow[] {
  const members = isJsonObject(plain) ? plain : {};
  return Object.entries(fieldsOf(record)).flatMap(([name, field]) => {
    const value = members[name];
    const at = `${path}.${name}`;
    const of = field.of;
    if (!isRecordName(of)) {
      return [
        {
          path: at,
          value: shown(field, value, currencies[currencyOwner(record, name)]),
          about: field.about,
        },
      ];
    }
    const rowsOf = (inner: unknown, path: string) => recordRows(of, path, inner, currencies);
    if (!Array.isArray(value)) return rowsOf(value, at);
    const count = { path: `${at}.size()`, value: String(value.length), about: field.about };
    return [count, ...value.flatMap((item, index) => rowsOf(item, `${at}[${index}]`))];
  });
}

/** All facts of a delivery in the order of the fact table, with the unknown ones. */
export function factRows(facts: Facts): readonly FactRow[] {
  const complete = completeFacts(facts);
  const currencies = currenciesOf(facts);
  return ROOT_NAMES.flatMap((root) => recordRows(root, root, complete[root], currencies));
}
