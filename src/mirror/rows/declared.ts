/**
 * Entities declared once: of each column the member of the service's record that it holds, and how
 * that is read. The columns of a table, and the way from a record to a row, follow.
 */
import { isJsonObject } from '../../lib/json.ts';
import type { SqlRow, SqlValue } from '../../store/bulk.ts';
import { type Members, membersOf, type OpenRecord } from '../members.ts';
import type { EntityDefinition, MirrorRow } from './prepared.ts';

/** Reads one column; the members that it takes are no longer left for `extra`. */
export type Read = (left: Members, record: OpenRecord) => SqlValue;
type Columns = Readonly<Record<string, Read>>;

type Kind = 'text' | 'name' | 'integer' | 'money' | 'flag' | 'time';

/** Reader of a member by its path, such as `freight.freightType`. */
function member(kind: Kind, path: string): Read {
  const above = path.split('.');
  const name = above.pop() ?? '';
  return (left) => above.reduce((of, one) => of.object(one), left)[kind](name);
}

export const text = (path: string): Read => member('text', path);
/** A name, of which an empty one is none. */
export const name = (path: string): Read => member('name', path);
export const integer = (path: string): Read => member('integer', path);
export const money = (path: string): Read => member('money', path);
export const flag = (path: string): Read => member('flag', path);
export const time = (path: string): Read => member('time', path);

/** A member as JSON; `missing` stands for one that is absent. */
export function json(path: string, missing: string): Read {
  const above = path.split('.');
  const last = above.pop() ?? '';
  return (left) => above.reduce((of, one) => of.object(one), left).json(last, missing);
}

/** A text of an object that is kept whole in another column. */
export function copyOf(object: string, path: string): Read {
  return (_left, record) => membersOf(record[object]).text(path);
}

export function trimmed(read: Read): Read {
  return (left, record) => {
    const value = read(left, record);
    return typeof value === 'string' ? value.trim() : value;
  };
}

export function orElse(read: Read, missing: SqlValue): Read {
  return (left, record) => read(left, record) ?? missing;
}

interface Declared extends Omit<EntityDefinition, 'columns' | 'lines'> {
  readonly columns: Columns;
  readonly lines?: {
    readonly table: NonNullable<EntityDefinition['lines']>['table'];
    /** Member of the record that has the lines. */
    readonly member: string;
    readonly columns: Columns;
  };
}

function valuesOf(columns: Columns, left: Members, record: OpenRecord): SqlRow {
  const values: Record<string, SqlValue> = {};
  for (const column of Object.keys(columns)) {
    values[column] = columns[column]?.(left, record) ?? null;
  }
  return values;
}

/** Lines with their numbers first and their unmodelled members last, in the order of the list. */
function linesOf(columns: Columns, items: unknown): SqlRow[] {
  return (Array.isArray(items) ? items : []).map((item: OpenRecord, index) => {
    const left = membersOf(item);
    const values = valuesOf(columns, left, item);
    return { line_no: index + 1, ...values, extra: JSON.stringify(left.rest()) };
  });
}

export function declared<T extends Declared>({ columns, lines, ...definition }: T) {
  return {
    ...definition,
    columns: Object.keys(columns),
    ...(lines && {
      lines: { ...lines, columns: ['line_no', ...Object.keys(lines.columns), 'extra'] },
    }),
    toRow(came: unknown): MirrorRow {
      const record: OpenRecord = isJsonObject(came) ? came : {};
      const { [lines?.member ?? '']: items, ...head } = record;
      const left = membersOf(head);
      const values = valuesOf(columns, left, record);
      const extra = left.rest();
      return lines ? { values, extra, lines: linesOf(lines.columns, items) } : { values, extra };
    },
  };
}
