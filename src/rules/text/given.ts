/**
 * Facts as people write them in rule tests (decimals, "3d", ISO times), and their conversion to
 * plain facts. Schema and conversion are both derived from the fact table.
 */
import { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import { amountUnits } from '../../lib/money.ts';
import { parseDuration, parseExactTime } from '../../lib/units.ts';
import {
  type FieldSpec,
  fieldsOf,
  isRecordName,
  type RecordName,
  ROOT_NAMES,
  ROOTS,
} from '../facts/table.ts';
import { duration } from './timing.ts';

const AMOUNT_HINT = 'write an amount such as 1234.50, without a currency';
const MONEY = z
  .union([z.number(), z.string().regex(/^-?\d+(\.\d{1,4})?$/, AMOUNT_HINT)])
  .refine((value) => /^-?\d+(\.\d{1,4})?$/.test(String(value)), 'at most four decimals')
  .refine((value) => amountUnits(Number(value)) !== null, 'too large to be exact');
const PERCENT = z.union([z.number().nonnegative(), z.string().regex(/^\d+(\.\d+)?$/)]);
const EXTRA = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));
const TIMESTAMP = z
  .string()
  .refine(
    (text) => text.includes('T') && parseExactTime(text) !== undefined,
    'write a time such as 2026-03-01T08:00:00Z',
  );

function fieldSchema(field: FieldSpec): z.ZodType {
  if (isRecordName(field.of)) {
    const inner = recordSchema(field.of);
    return field.type === 'records' ? z.array(inner) : inner;
  }
  switch (field.type) {
    case 'bool':
      return z.boolean();
    case 'int':
      return z.int();
    case 'money':
      return MONEY;
    case 'percent':
    case 'decimal':
      return PERCENT;
    case 'duration':
      return duration;
    case 'timestamp':
      return TIMESTAMP;
    case 'extra':
      return EXTRA;
    case 'strings':
      return z.array(z.string());
    case 'enum':
      return z.enum(field.values ?? []);
    default:
      return z.string();
  }
}

function recordSchema(record: RecordName): z.ZodType {
  const shape: Record<string, z.ZodType> = {};
  for (const [name, field] of Object.entries(fieldsOf(record))) {
    const schema = fieldSchema(field);
    const nullable = field.optional || field.derived ? schema.nullable() : schema;
    shape[name] = nullable.optional().describe(field.about);
  }
  return z.strictObject(shape);
}

/** Schema of a test's `given:`: any part of the facts; a null makes a fact unknown. */
export function givenSchema(): z.ZodObject<Record<string, z.ZodType>> {
  const shape: Record<string, z.ZodType> = {};
  for (const root of ROOT_NAMES) {
    const schema = recordSchema(root);
    shape[root] = (ROOTS[root].optional ? schema.nullable() : schema).optional();
  }
  return z.strictObject(shape);
}

function plainScalar(field: FieldSpec, value: unknown): unknown {
  switch (field.type) {
    case 'money':
      return amountUnits(Number(value));
    case 'percent':
    case 'decimal':
      return String(value);
    case 'duration':
      return parseDuration(String(value));
    case 'timestamp':
      return parseExactTime(String(value));
    default:
      return value;
  }
}

/** Converts a checked part of the facts to plain units. */
export function plainPart(record: RecordName, written: unknown): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  const fields = fieldsOf(record);
  for (const [name, value] of Object.entries(isJsonObject(written) ? written : {})) {
    const field = fields[name];
    if (!field) continue;
    if (value === null || value === undefined) out[name] = null;
    else if (!isRecordName(field.of)) out[name] = plainScalar(field, value);
    else {
      const of = field.of;
      out[name] = Array.isArray(value)
        ? value.map((item) => plainPart(of, item))
        : plainPart(of, value);
    }
  }
  return out;
}
