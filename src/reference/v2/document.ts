/** Documents of V2: sparse fields, and `included` as an object keyed by type and then by id. */
import type { Resource, ResourceId, ResourceType } from './pdm/resources.ts';
import type { Query } from './query.ts';

/** Finds a resource by its type and id. */
export type Lookup = (type: ResourceType, id: string) => Resource | undefined;

export type Included = Record<string, Record<string, Resource>>;

function withFields(resource: Resource, fields: Query['fields']): Resource {
  const asked = fields.get(resource.type);
  if (!asked) return resource;
  const kept = <T>(members: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(members).filter(([name]) => asked.has(name)));
  return {
    ...resource,
    attributes: kept(resource.attributes),
    relationships: kept(resource.relationships),
  };
}

function targets(resource: Resource, relationship: string): readonly ResourceId[] {
  const data = resource.relationships[relationship]?.data ?? null;
  if (data === null) return [];
  return 'type' in data ? [data] : data;
}

/** Follows one include path; every resource on the way is included, not only the last. */
function collect(
  from: readonly Resource[],
  path: readonly string[],
  lookup: Lookup,
  found: Map<string, Resource>,
): void {
  const [step, ...rest] = path;
  if (step === undefined) return;
  const next: Resource[] = [];
  for (const { type, id } of from.flatMap((resource) => targets(resource, step))) {
    const resource = found.get(`${type}/${id}`) ?? lookup(type, id);
    if (!resource) continue;
    found.set(`${type}/${id}`, resource);
    next.push(resource);
  }
  collect(next, rest, lookup, found);
}

function includedOf(primary: readonly Resource[], query: Query, lookup: Lookup): Included {
  const found = new Map<string, Resource>();
  for (const path of query.include ?? []) collect(primary, path, lookup, found);
  const out: Included = {};
  for (const resource of found.values()) {
    const ofType = out[resource.type] ?? {};
    ofType[resource.id] = withFields(resource, query.fields);
    out[resource.type] = ofType;
  }
  return out;
}

export function singleDocument(resource: Resource, query: Query, lookup: Lookup) {
  const included = query.include && includedOf([resource], query, lookup);
  return { data: withFields(resource, query.fields), ...(included ? { included } : {}) };
}

export function collectionDocument(rows: readonly Resource[], query: Query, lookup: Lookup) {
  const included = query.include && includedOf(rows, query, lookup);
  return {
    data: rows.map((row) => withFields(row, query.fields)),
    ...(included ? { included } : {}),
  };
}
