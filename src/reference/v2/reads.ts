/** Reads resources and collections of V2, page by page. */
import type { PageTokens } from './pages.ts';
import type { Pdm } from './pdm/pdm.ts';
import type { Resource, ResourceId, ResourceType } from './pdm/resources.ts';
import { ProblemError } from './problem.ts';
import { type Query, readQuery } from './query.ts';

export interface ReadDeps {
  readonly pdm: Pdm;
  readonly tokens: PageTokens;
}

/** Address of the request, as far as links need it. */
export interface Address {
  /** Scheme, host and path of the request, without the query. */
  readonly base: string;
  readonly params: URLSearchParams;
}

export function notFound(type: ResourceType, id: string): ProblemError {
  return new ProblemError({ status: 404, code: 'not_found', detail: `${type} ${id} not found` });
}

function linksOf(address: Address, query: Query, token: string, total: number) {
  const { limit, offset } = query.page;
  const at = (to: number): string => {
    const params = new URLSearchParams(address.params);
    params.set('page[token]', token);
    params.set('page[offset]', String(to));
    return `${address.base}?${params}`;
  };
  const lastOffset = Math.max(0, Math.floor((total - 1) / limit) * limit);
  return {
    first: at(0),
    last: at(lastOffset),
    prev: offset === 0 ? null : at(Math.max(0, offset - limit)),
    next: offset + limit < total ? at(offset + limit) : null,
  };
}

/** Reads a page of a collection; `rowsNow` gives the ids when there is no token yet. */
function readPage(
  { pdm, tokens }: ReadDeps,
  type: ResourceType,
  address: Address,
  rowsNow: (query: Query) => readonly string[],
) {
  const query = readQuery(type, address.params);
  const { limit, offset, token } = query.page;
  const scope = `${new URL(address.base).pathname}?${query.frozen}`;
  const pinned =
    token === undefined ? tokens.issue(scope, rowsNow(query)) : tokens.resume(token, scope);
  const rows = pinned.ids
    .slice(offset, offset + limit)
    .map((id) => pdm.get(type, id))
    // A row that was deleted since the token was issued is left out.
    .filter((row): row is Resource => row !== undefined);
  return {
    links: linksOf(address, query, pinned.token, pinned.ids.length),
    ...collectionDocument(rows, query, pdm.get),
    meta: { pageToken: pinned.token },
  };
}

export function readCollection(deps: ReadDeps, type: ResourceType, address: Address) {
  return readPage(deps, type, address, (query) => deps.pdm.list(type, query.filters));
}

/** Ids of the colors of a style; throws 404 where there is no such style. */
export function colorsOfStyle(pdm: Pdm, styleId: string): readonly string[] {
  const style = pdm.get('style', styleId);
  if (!style) throw notFound('style', styleId);
  const data = style.relationships.styleColors?.data;
  return Array.isArray(data) ? data.map(({ id }) => id) : [];
}

export function readStyleColors(deps: ReadDeps, styleId: string, address: Address) {
  const ids = colorsOfStyle(deps.pdm, styleId);
  return readPage(deps, 'styleColor', address, (query) => {
    const found = new Set(deps.pdm.list('styleColor', query.filters));
    return ids.filter((id) => found.has(id));
  });
}

export function readSingle(
  { pdm }: ReadDeps,
  type: ResourceType,
  id: string,
  params: URLSearchParams,
) {
  const query = readQuery(type, params);
  const resource = pdm.get(type, id);
  if (!resource) throw notFound(type, id);
  return singleDocument(resource, query, pdm.get);
}

// Documents of V2: sparse fields, and `included` as an object keyed by type and then by id.

/** Finds a resource by its type and id. */
type Lookup = (type: ResourceType, id: string) => Resource | undefined;

type Included = Record<string, Record<string, Resource>>;

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

function singleDocument(resource: Resource, query: Query, lookup: Lookup) {
  const included = query.include && includedOf([resource], query, lookup);
  return { data: withFields(resource, query.fields), ...(included ? { included } : {}) };
}

function collectionDocument(rows: readonly Resource[], query: Query, lookup: Lookup) {
  const included = query.include && includedOf(rows, query, lookup);
  return {
    data: rows.map((row) => withFields(row, query.fields)),
    ...(included ? { included } : {}),
  };
}
