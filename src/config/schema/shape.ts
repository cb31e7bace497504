/** Outline of the configuration's schema: its settings, and which of them are secret. */
import { z } from 'zod';
import type { Path } from '../source/tree.ts';
import type { FieldMeta } from './fields.ts';

const META: z.ZodType<FieldMeta> = z.object({
  expected: z.string(),
  example: z.string(),
  secret: z.boolean().optional(),
});

/** Gives the description of what a person should write for a setting; undefined for a section. */
export function metaOf(schema: z.core.$ZodType): FieldMeta | undefined {
  const parsed = META.safeParse(z.globalRegistry.get(schema));
  if (parsed.success) return parsed.data;
  const inner = unwrapped(schema);
  return inner === undefined ? undefined : metaOf(inner);
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return schema.unwrap();
  return schema instanceof z.ZodPipe ? schema.in : undefined;
}

/** Gives the settings of a section by name; undefined when the schema is no section. */
export function membersOf(
  schema: z.core.$ZodType,
): Readonly<Record<string, z.core.$ZodType>> | undefined {
  if (schema instanceof z.ZodObject) return schema.shape;
  const inner = unwrapped(schema);
  return inner === undefined ? undefined : membersOf(inner);
}

function memberOf(schema: z.core.$ZodType, name: string): z.core.$ZodType | undefined {
  const members = membersOf(schema);
  return members && Object.hasOwn(members, name) ? members[name] : undefined;
}

function itemOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodArray) return schema.element;
  const inner = unwrapped(schema);
  return inner === undefined ? undefined : itemOf(inner);
}

/** Finds the schema of the setting or section at `path`; undefined when nothing may stand there. */
export function schemaAt(schema: z.core.$ZodType, path: Path): z.core.$ZodType | undefined {
  let current: z.core.$ZodType | undefined = schema;
  for (const step of path) {
    if (current === undefined) return undefined;
    current = typeof step === 'number' ? itemOf(current) : memberOf(current, step);
  }
  return current;
}

/** Whether a value may be shown: only that of a setting (not of a section) that is no secret. */
export function mayBeShown(schema: z.core.$ZodType, path: Path): boolean {
  const at = schemaAt(schema, path);
  const meta = at && metaOf(at);
  return meta !== undefined && meta.secret !== true;
}
