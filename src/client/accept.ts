/**
 * Checks whether a value has the shape of a schema, without copying it: zod copies each row that it
 * checks, which for a million mostly valid rows costs as much as the rest of reading them. Rejected
 * values go to zod, which gives the reason. Acceptors are derived from the schema itself, so that a
 * shape is described once; a schema that does more than check types (transforms, strips members,
 * refines anything but strings and numbers) has none.
 */
import { z } from 'zod';
import { isJsonObject } from '../lib/json.ts';

type Accepts = (value: unknown) => boolean;

const COMPLEX = undefined;

function refineOf(check: unknown): Accepts | undefined {
  if (!(check instanceof z.core.$ZodCustom)) return COMPLEX;
  const { fn } = check._zod.def;
  return (value) => fn(value) === true;
}

function ofString({ _zod: { def } }: z.ZodString): Accepts | undefined {
  let lengthMin = 0;
  const refines: Accepts[] = [];
  for (const check of def.checks ?? []) {
    const refine = refineOf(check);
    if (refine) refines.push(refine);
    else if (check instanceof z.core.$ZodCheckMinLength) {
      lengthMin = Math.max(lengthMin, check._zod.def.minimum);
    } else return COMPLEX;
  }
  if (def.coerce) return COMPLEX;
  const isText: Accepts = (value) => typeof value === 'string' && value.length >= lengthMin;
  if (refines.length === 0) return isText;
  return (value) => isText(value) && refines.every((accepts) => accepts(value));
}

function ofNumber(schema: z.ZodNumber): Accepts | undefined {
  const { checks = [], coerce } = schema._zod.def;
  if (coerce) return COMPLEX;
  if (schema instanceof z.ZodNumberFormat) {
    const isSafe = schema._zod.def.format === 'safeint' && checks.length === 0;
    return isSafe ? Number.isSafeInteger : COMPLEX;
  }
  const [refine, more] = checks;
  if (refine === undefined) return Number.isFinite;
  const accepts = refineOf(refine);
  if (!accepts || more !== undefined) return COMPLEX;
  return (value) => Number.isFinite(value) && accepts(value);
}

function ofUnion(schema: z.ZodUnion): Accepts | undefined {
  const accepts = schema._zod.def.options.map(ofSchema);
  if (accepts.some((one) => one === COMPLEX)) return COMPLEX;
  return (value) => accepts.some((one) => one?.(value));
}

function ofArray(schema: z.ZodArray): Accepts | undefined {
  const accepts = ofSchema(schema._zod.def.element);
  return accepts && ((value) => Array.isArray(value) && value.every(accepts));
}

/**
 * Builds the acceptor of an object schema; only schemas that keep unknown members have one, because
 * stripping members needs a copy.
 */
function ofObject(schema: z.ZodObject): Accepts | undefined {
  const { shape, catchall } = schema._zod.def;
  if (!(catchall instanceof z.ZodUnknown)) return COMPLEX;
  const members: { readonly name: string; readonly accepts: Accepts }[] = [];
  for (const [name, member] of Object.entries(shape)) {
    const accepts = ofSchema(member);
    if (!accepts) return COMPLEX;
    members.push({ name, accepts });
  }
  return (value) => {
    // Zod drops a member of this name from its copy, so the original must not be used.
    if (!isJsonObject(value) || Object.hasOwn(value, '__proto__')) return false;
    for (const { name, accepts } of members) if (!accepts(value[name])) return false;
    return true;
  };
}

function ofSchema(schema: z.core.$ZodType): Accepts | undefined {
  if (schema instanceof z.ZodOptional) {
    const accepts = ofSchema(schema.unwrap());
    return accepts && ((value) => value === undefined || accepts(value));
  }
  if (schema instanceof z.ZodNullable) {
    const accepts = ofSchema(schema.unwrap());
    return accepts && ((value) => value === null || accepts(value));
  }
  if (schema instanceof z.ZodString) return ofString(schema);
  if (schema instanceof z.ZodNumber) return ofNumber(schema);
  if ((schema._zod.def.checks ?? []).length > 0) return COMPLEX;
  if (schema instanceof z.ZodBoolean) return (value) => typeof value === 'boolean';
  if (schema instanceof z.ZodUnknown) return () => true;
  if (schema instanceof z.ZodArray) return ofArray(schema);
  if (schema instanceof z.ZodUnion) return ofUnion(schema);
  return schema instanceof z.ZodObject ? ofObject(schema) : COMPLEX;
}

/** Builds the acceptor of a schema; undefined when the schema does more than check types. */
export function acceptorOf<T>(
  schema: z.core.$ZodType<T>,
): ((value: unknown) => value is T) | undefined {
  const accepts = ofSchema(schema);
  return accepts && ((value): value is T => accepts(value));
}
