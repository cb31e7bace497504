/** Resource types of V2: names, attributes, relationships and addresses. */
import type { Json } from '../../../lib/json.ts';

export type ResourceType = keyof typeof RESOURCES;

export interface ResourceId {
  readonly type: ResourceType;
  readonly id: string;
}

export interface Relationship {
  readonly data: ResourceId | readonly ResourceId[] | null;
}

/** Resource object of the wire contract, section 5. */
export interface Resource extends ResourceId {
  readonly attributes: Readonly<Record<string, Json>>;
  readonly relationships: Readonly<Record<string, Relationship>>;
}

export interface ResourceKind {
  /** Last part of the collection's address. */
  readonly path: string;
  readonly attributes: readonly string[];
  /** Type at the other end of each to-one relationship, by its name. */
  readonly toOne: Readonly<Record<string, string>>;
  readonly toMany: Readonly<Record<string, string>>;
}

const RESOURCES = {
  style: {
    path: 'styles',
    attributes: ['styleNo', 'styleName', 'description', 'designer', 'active', 'updatedAt'],
    toOne: { brand: 'brand', type: 'type', gender: 'gender', countryOfOrigin: 'country' },
    toMany: { styleColors: 'styleColor' },
  },
  styleColor: {
    path: 'style-colors',
    attributes: ['active', 'noosType'],
    toOne: { color: 'color' },
    toMany: {},
  },
  color: { path: 'colors', attributes: ['active', 'name', 'code'], toOne: {}, toMany: {} },
  brand: { path: 'brands', attributes: ['name'], toOne: {}, toMany: {} },
  type: { path: 'types', attributes: ['name'], toOne: {}, toMany: {} },
  gender: { path: 'genders', attributes: ['name'], toOne: {}, toMany: {} },
  country: { path: 'countries', attributes: ['name', 'code'], toOne: {}, toMany: {} },
} as const;

export function isResourceType(name: string | undefined): name is ResourceType {
  return name !== undefined && Object.hasOwn(RESOURCES, name);
}

export function kindOf(type: ResourceType): ResourceKind {
  return RESOURCES[type];
}

export function resourceTypes(): ResourceType[] {
  return Object.keys(RESOURCES).filter(isResourceType);
}

/**
 * Type at the other end of a relationship; undefined: the type has no relationship of this name.
 */
export function relatedType(type: ResourceType, relationship: string): ResourceType | undefined {
  const { toOne, toMany } = kindOf(type);
  const kinds = [toOne, toMany].find((names) => Object.hasOwn(names, relationship));
  const name = kinds?.[relationship];
  return isResourceType(name) ? name : undefined;
}

/** Names that `filter[…]` accepts: every attribute, and `…Id` for each to-one relationship. */
export function filtersOf(type: ResourceType): readonly string[] {
  const kind = kindOf(type);
  return [...kind.attributes, ...Object.keys(kind.toOne).map((name) => `${name}Id`)];
}
