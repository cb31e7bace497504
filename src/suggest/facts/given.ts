/** Facts of real deliveries as a test gives them: only those that are asked, and no names. */
import { isJsonObject, membersOf } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import {
  type FieldSpec,
  fieldsOf,
  isRecordName,
  type RecordName,
  ROOT_NAMES,
} from '../../rules/facts/table.ts';
import { type Given, mergeGiven } from './field.ts';

/** Texts that may tell of a person; that there is one is all that is given. */
const PRIVATE = ['zip', 'city', 'company', 'comment', 'reference'];
const SHOWN_INSTEAD = 'masked';
/** Lines that a test gives in full; of more, those that differ. */
const LINES_MAX = 20;

function shownValue(name: string, { type }: FieldSpec, value: unknown): unknown {
  if (PRIVATE.includes(name)) return typeof value === 'string' ? SHOWN_INSTEAD : value;
  if (typeof value !== 'number') return value;
  if (type === 'money') return decimalOf(value);
  if (type === 'duration') return `${Math.floor(value / 1_000)}s`;
  return type === 'timestamp' ? new Date(value).toISOString() : value;
}

function fewer(lines: readonly Given[]): readonly Given[] {
  if (lines.length <= LINES_MAX) return lines;
  return [...new Map(lines.map((line) => [JSON.stringify(line), line])).values()];
}

/** Facts below a record along some ways, each a list of names. */
function partOf(
  record: RecordName,
  plain: unknown,
  ways: readonly (readonly string[])[],
  named: readonly string[],
): unknown {
  if (Array.isArray(plain)) {
    return fewer(plain.map((item) => membersOf(partOf(record, item, ways, named))));
  }
  if (!isJsonObject(plain)) return null;
  const byName = Map.groupBy(ways, ([name = '']) => name);
  const part: Record<string, unknown> = {};
  for (const [name, some] of byName) {
    const field = fieldsOf(record)[name];
    if (!field) continue;
    const value = plain[name] ?? null;
    const inner = some.map(([, ...rest]) => rest).filter((rest) => rest.length > 0);
    if (isRecordName(field.of)) part[name] = value && partOf(field.of, value, inner, named);
    else if (field.type === 'extra') part[name] = extraOf(value, inner, named);
    else part[name] = shownValue(name, field, value);
  }
  return part;
}

/** Facts that the ERP adds may be any text: only what stands in a condition is shown. */
function extraOf(
  value: unknown,
  ways: readonly (readonly string[])[],
  named: readonly string[],
): unknown {
  const members = isJsonObject(value) ? value : {};
  const isNamed = (text: string): boolean =>
    named.some((one) => one.includes(`"${text}"`) || one.includes(`'${text}'`));
  const shown = (one: unknown): unknown =>
    typeof one === 'string' && !isNamed(one) ? SHOWN_INSTEAD : one;
  return Object.fromEntries(ways.map(([name = '']) => [name, shown(members[name] ?? null)]));
}

/** The facts at these paths, as people write them; the facts are complete. */
export function givenAt(facts: Facts, paths: readonly string[], named: readonly string[]): Given {
  const parts = ROOT_NAMES.flatMap((root): readonly Given[] => {
    const own = paths.map((path) => path.split('.')).filter(([name]) => name === root);
    const ways = own.map(([, ...rest]) => rest).filter((rest) => rest.length > 0);
    return ways.length === 0 ? [] : [{ [root]: partOf(root, facts[root], ways, named) }];
  });
  return mergeGiven(parts);
}
