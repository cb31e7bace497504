/**
 * Cuts a description down to a level: removes members that came later, and schemas that are then
 * unused.
 */
import { isJsonObject } from '../../lib/json.ts';
import {
  hasBodyMember,
  hasDetails,
  hasMember,
  type LevelledShape,
  needsAddress,
  needsFreight,
} from '../dialect/levels.ts';
import type { Account } from '../dialect/variants.ts';

type Members = Record<string, unknown>;

/** Kinds of objects, by a member that only they have. */
const MARKS: Readonly<Record<string, LevelledShape>> = {
  orderLineItems: 'order',
  freightAmount: 'freight',
  refundedLineItems: 'refund',
  orderStatus: 'created',
  variantType: 'variant',
  styleNo: 'variant',
};

function members(value: unknown): Members {
  return isJsonObject(value) ? value : {};
}

function shapeOf(properties: Members): LevelledShape | undefined {
  const mark = Object.keys(MARKS).find((name) => Object.hasOwn(properties, name));
  return mark === undefined ? undefined : MARKS[mark];
}

function isKept(name: string, properties: Members, { level, dialect }: Account): boolean {
  const shape = shapeOf(properties);
  if (!hasBodyMember(level, name)) return false;
  if (shape !== undefined && !hasMember(level, shape, name)) return false;
  // Only the body of a new order has both spellings of freight.
  const isBody = Object.hasOwn(properties, 'Freight') && /^freight$/i.test(name);
  return !isBody || dialect.freightSpelling === 'both' || dialect.freightSpelling === name;
}

/** Members that the body of a new order must have at this level. */
function mandatory(properties: Members, { level, dialect }: Account): string[] {
  if (!Object.hasOwn(properties, 'Freight')) return [];
  const freight = dialect.freightSpelling === 'Freight' ? 'Freight' : 'freight';
  return [
    ...(needsFreight(level) ? [freight] : []),
    ...(needsAddress(level) ? ['shippingAddress'] : []),
  ];
}

function cutObject(schema: Members, account: Account): Members {
  const properties = members(schema.properties);
  const kept = (name: string): boolean => isKept(name, properties, account);
  const isDetails = Object.hasOwn(properties, 'styleNo');
  const named = (name: string): string =>
    isDetails ? (account.dialect.detailNames[name] ?? name) : name;
  const own = Array.isArray(schema.required) ? schema.required.map(String).filter(kept) : [];
  const required = [...own.map(named), ...mandatory(properties, account)];
  const { required: _all, ...rest } = schema;
  return {
    ...rest,
    properties: Object.fromEntries(
      Object.entries(properties)
        .filter(([name]) => kept(name))
        .map(([name, value]) => [named(name), cut(value, account)]),
    ),
    ...(required.length > 0 ? { required } : {}),
  };
}

function cut(value: unknown, account: Account): unknown {
  if (Array.isArray(value)) return value.map((one) => cut(one, account));
  if (!isJsonObject(value)) return value;
  if (isJsonObject(value.properties)) return cutObject(value, account);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cut(one, account)]));
}

/** Puts the members of a variant's details beside its own. */
function flattened(schemas: Members): Members {
  const { Variant, VariantDetails } = schemas;
  if (!isJsonObject(Variant)) return schemas;
  const { details: _inside, ...own } = members(Variant.properties);
  const properties = { ...members(members(VariantDetails).properties), ...own };
  return { ...schemas, Variant: { ...Variant, properties } };
}

function isUsed(name: string, document: unknown): boolean {
  return JSON.stringify(document).includes(`"#/components/schemas/${name}"`);
}

/** Removes schemas that nothing refers to, and then those to which only such schemas referred. */
function withoutUnused(document: Members): Members {
  const components = members(document.components);
  const schemas = members(components.schemas);
  const used = Object.entries(schemas).filter(([name]) => isUsed(name, document));
  const next = { ...document, components: { ...components, schemas: Object.fromEntries(used) } };
  return used.length === Object.keys(schemas).length ? next : withoutUnused(next);
}

export function cutToAccount(document: object, account: Account): object {
  const whole = members(cut(document, account));
  const components = members(whole.components);
  const schemas = members(components.schemas);
  const isFlat = !hasDetails(account.level) || account.dialect.detailsFlat;
  const shown = isFlat ? flattened(schemas) : schemas;
  return withoutUnused({ ...whole, components: { ...components, schemas: shown } });
}
