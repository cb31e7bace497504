/** Reads resources and collections of V2, page by page. */
import { collectionDocument, singleDocument } from './document.ts';
import type { PageTokens } from './pages.ts';
import type { Pdm } from './pdm/pdm.ts';
import type { Resource, ResourceType } from './pdm/resources.ts';
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
