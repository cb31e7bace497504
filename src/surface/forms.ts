/** Rows of declared lists in the forms that programs and people read. */
import { z } from 'zod';
import type { CsvCell } from '../lib/csv.ts';
import { isJsonObject } from '../lib/json.ts';
import { formatDecimal } from '../lib/money.ts';
import { formatDuration } from '../lib/units.ts';
import type { Given } from './given.ts';
import type { ListHead, Shown } from './lists.ts';
import { memberOf, unwrapped } from './members.ts';

/** Epoch ms as programs read them: ISO 8601, UTC; null: there is no time. */
export function isoTime(at: unknown): string | null {
  return typeof at === 'number' ? new Date(at).toISOString() : null;
}

function mapped(
  declared: z.core.$ZodType,
  value: unknown,
  timeOf: (value: unknown) => unknown,
): unknown {
  const schema = unwrapped(declared);
  if (value === null || value === undefined) return value;
  if (memberOf(schema)?.kind === 'time') return timeOf(value);
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((one) => mapped(schema.element, one, timeOf));
  }
  if (schema instanceof z.ZodObject && isJsonObject(value)) {
    const members = Object.entries(value).map(([name, one]) => {
      const inner = schema.shape[name];
      return [name, inner === undefined ? one : mapped(inner, one, timeOf)];
    });
    return Object.fromEntries(members);
  }
  return value;
}

/** The value as programs of the console read it: times are ISO 8601, in UTC. */
export function toWire(schema: z.core.$ZodType, value: unknown): unknown {
  return mapped(schema, value, isoTime);
}

/** The value that a console wrote, with times as epoch ms. */
export function fromWire(schema: z.core.$ZodType, value: unknown): unknown {
  return mapped(schema, value, (at) => (typeof at === 'string' ? Date.parse(at) : at));
}

/** Gives a schema made from another the description that stands at the other itself. */
function describedAs<T extends z.ZodType>(schema: z.ZodType, made: T): T {
  const { description } = z.globalRegistry.get(schema) ?? {};
  return description === undefined ? made : made.meta({ description });
}

/** The schema of a value as {@link toWire} writes it. */
export function wireSchema(schema: z.ZodObject): z.ZodObject;
export function wireSchema(schema: z.core.$ZodType): z.core.$ZodType;
export function wireSchema(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodNullable) {
    return describedAs(schema, z.nullable(wireSchema(schema.unwrap())));
  }
  if (schema instanceof z.ZodOptional) {
    return describedAs(schema, z.optional(wireSchema(schema.unwrap())));
  }
  if (schema instanceof z.ZodArray) return z.array(wireSchema(schema.element));
  if (schema instanceof z.ZodObject) {
    const members = Object.entries(schema.shape).map(([name, one]) => [name, wireSchema(one)]);
    const { id, description = '' } = z.globalRegistry.get(schema) ?? {};
    const wire = z.strictObject(Object.fromEntries(members));
    return id === undefined ? wire : namedSchema(id, wire, description);
  }
  const { kind, about } = memberOf(schema) ?? {};
  if (kind !== 'time') return schema;
  return about === undefined ? z.iso.datetime() : z.iso.datetime().meta({ description: about });
}

/** Schemas with a name in the description, each of which is one object however often it is used. */
const named = new Map<string, z.ZodObject>();

function namedSchema(id: string, schema: z.ZodObject, description: string): z.ZodObject {
  const known = named.get(id) ?? schema.meta({ id, ...(description !== '' && { description }) });
  named.set(id, known);
  return known;
}

function cellFor(schema: z.core.$ZodType, value: unknown): CsvCell {
  if (memberOf(schema)?.kind === 'time') return isoTime(value);
  if (value === undefined) return null;
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'boolean') return value;
  const isTexts = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return isTexts ? value.join(' ') : JSON.stringify(value);
}

interface CsvColumn {
  readonly title: string;
  cell(row: Given): CsvCell;
}

function columnsOf([name, schema]: readonly [string, z.core.$ZodType]): readonly CsvColumn[] {
  const member = memberOf(schema);
  const inner = unwrapped(schema);
  if (member?.isSpread && inner instanceof z.ZodObject) {
    const declared = Object.entries(inner.shape).filter(([, one]) => memberOf(one));
    return declared.flatMap(columnsOf).map(({ title, cell }) => ({
      title,
      cell: (row) => cell({ ...Object(row[name]) }),
    }));
  }
  const title = member?.csv ?? name.replaceAll(/[A-Z]/g, (one) => `_${one.toLowerCase()}`);
  return [{ title, cell: (row) => cellFor(schema, row[name]) }];
}

/** Rows as CSV: a column for each member, in the order of the declaration. */
export function csvTable({ row }: ListHead, rows: readonly Given[]) {
  const columns = Object.entries(row.shape).flatMap(columnsOf);
  return {
    columns: columns.map(({ title }) => title),
    rows: rows.map((of) => columns.map(({ cell }) => cell(of))),
  };
}

/** Text of a cell for people at a terminal; null: there is no value. */
export function textCell({ title, kind, name, member, text }: Shown, row: Given, now: number) {
  const value = name === undefined ? undefined : row[name];
  if (typeof value === 'number' && kind === 'time') {
    if (member?.isAge !== true) return isoTime(value);
    const age = formatDuration(Math.max(0, now - value));
    return title === 'Age' ? age : `${age} ago`;
  }
  if (typeof value === 'number' && kind === 'duration') return formatDuration(value);
  if (typeof value === 'boolean') return value ? 'yes' : null;
  const currency = member?.currency === undefined ? null : row[member.currency];
  const unit = typeof currency === 'string' ? currency : null;
  const isAmount = typeof value === 'number' && kind === 'money';
  const shown = isAmount ? formatDecimal(value, unit) : text(row, now);
  return shown !== null && typeof currency === 'string' ? `${shown} ${currency}` : shown;
}
