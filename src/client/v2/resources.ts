/**
 * V2's resource types with their modelled attributes and relationships. Other members are kept.
 * Modelled ones may be absent, because sparse fieldsets omit members. Source: docs/wire.md, "V2
 * (JSON:API)".
 */
import { z } from 'zod';
import { keyText } from '../key-text.ts';

const identitySchema = z.looseObject({ type: z.string().min(1), id: z.string().min(1) });
export type ResourceId = z.infer<typeof identitySchema>;

const text = z.string().nullish();
const flag = z.boolean().nullish();
const toOne = z.looseObject({ data: identitySchema.nullish() }).nullish();
const id = keyText;
const toMany = z.looseObject({ data: z.array(identitySchema).nullish() }).nullish();

/** Schema of attributes or relationships; a resource without any may write null. */
function membersOf<T extends z.ZodRawShape>(shape: T) {
  return z.preprocess((members) => members ?? {}, z.looseObject(shape));
}

const schemas = {
  style: z.looseObject({
    type: z.literal('style'),
    id,
    attributes: membersOf({
      styleNo: text,
      styleName: text,
      description: text,
      designer: text,
      active: flag,
      updatedAt: text,
    }),
    relationships: membersOf({
      brand: toOne,
      type: toOne,
      gender: toOne,
      countryOfOrigin: toOne,
      styleColors: toMany,
    }),
  }),
  /** Style colour; its `noosType` is none or noos. */
  styleColor: z.looseObject({
    type: z.literal('styleColor'),
    id,
    attributes: membersOf({ active: flag, noosType: text }),
    relationships: membersOf({ color: toOne }),
  }),
  color: z.looseObject({
    type: z.literal('color'),
    id,
    attributes: membersOf({ active: flag, name: text, code: text }),
    relationships: membersOf({}),
  }),
  brand: z.looseObject({
    type: z.literal('brand'),
    id,
    attributes: membersOf({ name: text }),
    relationships: membersOf({}),
  }),
  type: z.looseObject({
    type: z.literal('type'),
    id,
    attributes: membersOf({ name: text }),
    relationships: membersOf({}),
  }),
  gender: z.looseObject({
    type: z.literal('gender'),
    id,
    attributes: membersOf({ name: text }),
    relationships: membersOf({}),
  }),
  country: z.looseObject({
    type: z.literal('country'),
    id,
    attributes: membersOf({ name: text, code: text }),
    relationships: membersOf({}),
  }),
} as const;

export type ResourceType = keyof typeof schemas;
export type ResourceOf<T extends ResourceType> = z.infer<(typeof schemas)[T]>;

export const resourceSchemas: { readonly [T in ResourceType]: z.ZodType<ResourceOf<T>> } = schemas;

export function isResourceType(name: string): name is ResourceType {
  return Object.hasOwn(schemas, name);
}

/** Paths of the resource types below `/pdm`, unless configured otherwise. */
export const RESOURCE_PATHS: Readonly<Record<ResourceType, string>> = {
  style: 'styles',
  styleColor: 'style-colors',
  color: 'colors',
  brand: 'brands',
  type: 'types',
  gender: 'genders',
  country: 'countries',
};

/** Names of the modelled attributes and relationships, for sparse fieldsets. */
export function modelledFields(type: ResourceType): readonly string[] {
  const { attributes, relationships } = schemas[type].shape;
  return [attributes, relationships].flatMap((members) => Object.keys(members.out.shape));
}
