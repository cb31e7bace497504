/** Schemas of V2, by which bodies are read, answers described and tests checked. */
import { z } from 'zod';
import type { ResourceType } from './pdm/resources.ts';

const identity = (type: ResourceType) =>
  z.strictObject({ type: z.literal(type), id: z.string().min(1) });
const toOne = (type: ResourceType) => z.strictObject({ data: identity(type) });
const toMany = (type: ResourceType) => z.strictObject({ data: z.array(identity(type)) });

/**
 * Schema of a resource. Its members are optional, because `fields_<type>` may leave out any of
 * them.
 */
function resource<A extends z.ZodRawShape, R extends z.ZodRawShape>(
  type: ResourceType,
  attributes: A,
  relationships: R,
) {
  return z
    .strictObject({
      type: z.literal(type),
      id: z.string(),
      attributes: z.strictObject(attributes).partial(),
      relationships: z.strictObject(relationships).partial(),
    })
    .meta({ id: `${type.charAt(0).toUpperCase()}${type.slice(1)}Resource` });
}

const name = z.string().trim().min(1).max(200);

const resourceSchemas = {
  style: resource(
    'style',
    {
      styleNo: z.string(),
      styleName: z.string(),
      description: z.string(),
      designer: z.string(),
      active: z.boolean(),
      updatedAt: z.iso.datetime(),
    },
    {
      brand: toOne('brand'),
      type: toOne('type'),
      gender: toOne('gender'),
      countryOfOrigin: toOne('country'),
      styleColors: toMany('styleColor'),
    },
  ),
  styleColor: resource(
    'styleColor',
    { active: z.boolean(), noosType: z.enum(['none', 'noos']) },
    { color: toOne('color') },
  ),
  color: resource('color', { active: z.boolean(), name: z.string(), code: z.string() }, {}),
  brand: resource('brand', { name: z.string() }, {}),
  type: resource('type', { name: z.string() }, {}),
  gender: resource('gender', { name: z.string() }, {}),
  country: resource('country', { name: z.string(), code: z.string() }, {}),
} as const;

/** Schema of the included resources, keyed by type, then by id. */
const included = z
  .strictObject({
    style: z.record(z.string(), resourceSchemas.style),
    styleColor: z.record(z.string(), resourceSchemas.styleColor),
    color: z.record(z.string(), resourceSchemas.color),
    brand: z.record(z.string(), resourceSchemas.brand),
    type: z.record(z.string(), resourceSchemas.type),
    gender: z.record(z.string(), resourceSchemas.gender),
    country: z.record(z.string(), resourceSchemas.country),
  })
  .partial()
  .meta({ id: 'Included', description: 'Resources by type, then by id' });

const link = z.string().nullable();
const links = z
  .strictObject({ first: link, last: link, prev: link, next: link })
  .meta({ id: 'PageLinks' });

export function singleSchema(type: ResourceType) {
  return z.strictObject({ data: resourceSchemas[type], included: included.optional() });
}

export function collectionSchema(type: ResourceType) {
  return z.strictObject({
    links,
    data: z.array<z.ZodType>(resourceSchemas[type]),
    meta: z.strictObject({ pageToken: z.string().optional() }).optional(),
    included: included.optional(),
  });
}

export const errorsSchema = z
  .strictObject({
    errors: z.array(
      z.strictObject({
        status: z.string().regex(/^[45]\d\d$/),
        code: z.string(),
        title: z.string(),
        detail: z.string(),
        source: z
          .strictObject({ parameter: z.string().optional(), pointer: z.string().optional() })
          .optional(),
      }),
    ),
  })
  .meta({ id: 'Errors' });

export const loginBody = z
  .strictObject({ clientId: z.string().min(1), clientSecret: z.string().min(1) })
  .meta({ id: 'LogIn' });

export const loginAnswer = z.strictObject({
  data: z.strictObject({ token: z.string(), expiresAt: z.iso.datetime() }),
});

export const portalAnswer = z.strictObject({
  data: z.strictObject({ url: z.url(), expiresAt: z.iso.datetime() }),
});

const styleAttributes = z.strictObject({
  styleNo: name,
  styleName: name,
  description: z.string().max(10_000).optional(),
  designer: z.string().max(200).optional(),
  active: z.boolean().optional(),
});
const styleRelations = z.strictObject({
  brand: toOne('brand'),
  type: toOne('type').optional(),
  gender: toOne('gender').optional(),
  countryOfOrigin: toOne('country').optional(),
});

export const styleCreateBody = z
  .strictObject({
    data: z.strictObject({
      type: z.literal('style'),
      attributes: styleAttributes,
      relationships: styleRelations,
    }),
  })
  .meta({ id: 'StyleCreate' });

/**
 * Schema of a change of a style, which cannot change its brand: variants and prices depend on it.
 */
export const stylePatchBody = z
  .strictObject({
    data: z.strictObject({
      type: z.literal('style'),
      id: z.string(),
      attributes: styleAttributes.partial().optional(),
      relationships: styleRelations.omit({ brand: true }).partial().optional(),
    }),
  })
  .meta({ id: 'StylePatch' });

export function nameCreateBody(type: 'brand' | 'type') {
  const attributes = z.strictObject({ name });
  return z.strictObject({ data: z.strictObject({ type: z.literal(type), attributes }) });
}

export function namePatchBody(type: 'brand' | 'type') {
  const attributes = z.strictObject({ name }).partial().optional();
  return z.strictObject({
    data: z.strictObject({ type: z.literal(type), id: z.string(), attributes }),
  });
}
