/**
 * What the wire contract names, as a table: every path with its methods and query parameters.
 * Strict mode refuses the rest. It is written from the contract and not from the routes, so that
 * a route that takes more than it should is found too.
 */

interface ContractRow {
  readonly method: string;
  /** As the contract writes it, with its base. */
  readonly name: string;
  readonly path: RegExp;
  readonly query: readonly string[];
}

const PRICES = ['detailed', 'detailedPricing'];
const ON_ORDER = [...PRICES, 'includeVariantsOnOrder'];
const SEARCH = ['brandName', 'styleNo', 'page', 'limit'];

function rowsOf(base: string) {
  return (methods: string, path: string, query: readonly string[] = []): ContractRow[] => {
    const expression = new RegExp(`^${base}${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    const name = base + path;
    return methods.split(' ').map((method) => ({ method, name, path: expression, query }));
  };
}

const v1 = rowsOf('/api/v1');
const v2 = rowsOf('/api/v2');

const V1_ROWS: readonly ContractRow[] = [
  ...v1('POST', '/auth/login'),
  ...v1('GET', '/brands'),
  ...v1('GET', '/freight'),
  ...v1('GET', '/seasons', ['brandName']),
  ...v1('GET', '/orders', ['beforeOrderId']),
  ...v1('POST', '/orders'),
  ...v1('GET', '/orders/{order}'),
  ...v1('GET', '/orders/{order}/deliveries'),
  ...v1('GET POST', '/orders/{order}/deliveries/{delivery}'),
  ...v1('GET', '/orders/{order}/refunds'),
  ...v1('GET POST', '/orders/{order}/refunds/{refund}'),
  ...v1('GET POST', '/orders/{order}/pending-refunds'),
  ...v1('GET', '/orders/{order}/pending-refunds/{refund}'),
  ...v1('GET', '/variants/stock', [...SEARCH, 'search', ...ON_ORDER]),
  ...v1('GET', '/variants/stock/{barcode}', ON_ORDER),
  ...v1('GET', '/variants/season', ['seasonName', ...SEARCH, ...PRICES]),
  ...v1('GET', '/variants/season/{barcode}', ['seasonName', ...PRICES]),
  ...v1('GET', '/variants', [...SEARCH, 'search', ...ON_ORDER]),
  ...v1('GET', '/variants/{barcode}', ON_ORDER),
  ...v1('POST', '/webhook-portal'),
  ...v1('GET', '/openapi.json'),
  ...v1('GET', '/docs'),
];

const V2_PATHS = ['styles', 'colors', 'style-colors', 'brands', 'types', 'genders', 'countries'];
const V2_NAMES = ['brands', 'types'];
/** Filters and fields stand for all of their kind. */
const V2_SINGLE = ['include', 'fields_*'];
const V2_PAGED = [...V2_SINGLE, 'filter[*]', 'page[limit]', 'page[token]', 'page[offset]'];

const V2_ROWS: readonly ContractRow[] = [
  ...v2('POST', '/auth/login'),
  ...v2('POST', '/webhook-portal'),
  ...v2('GET', '/openapi.json'),
  ...v2('GET', '/docs'),
  ...V2_PATHS.flatMap((path) => v2('GET', `/pdm/${path}`, V2_PAGED)),
  ...V2_PATHS.flatMap((path) => v2('GET', `/pdm/${path}/{id}`, V2_SINGLE)),
  ...v2('GET', '/pdm/styles/{id}/style-colors', V2_PAGED),
  ...v2('POST', '/pdm/styles', V2_SINGLE),
  ...v2('PATCH', '/pdm/styles/{id}', V2_SINGLE),
  ...V2_NAMES.flatMap((path) => v2('POST', `/pdm/${path}`, V2_SINGLE)),
  ...V2_NAMES.flatMap((path) => v2('PATCH', `/pdm/${path}/{id}`, V2_SINGLE)),
  ...V2_NAMES.flatMap((path) => v2('DELETE', `/pdm/${path}/{id}`)),
];

/** A named path stands before one with a parameter in its place: the first that matches counts. */
export const CONTRACT: readonly ContractRow[] = [...V1_ROWS, ...V2_ROWS];

/** `fields_style` as the row has it: `fields_*`. */
export function parameterKind(name: string): string {
  return name.replace(/^fields_\w+$/, 'fields_*').replace(/^filter\[\w+\]$/, 'filter[*]');
}

/** Why the contract has no such request, one sentence each. */
interface Breaches {
  /** There is no such path, or not with this method. */
  readonly endpoint: readonly string[];
  readonly parameters: readonly string[];
}

/** The row of a request as the contract writes it: `POST /api/v1/orders/{order}/refunds`. */
export function requestName(method: string, path: string): string {
  return `${method} ${CONTRACT.find((entry) => entry.path.test(path))?.name ?? path}`;
}

/** `also` are parameters of older levels, which the contract names for other paths only. */
export function contractBreaches(
  method: string,
  path: string,
  query: string,
  also: readonly string[] = [],
): Breaches {
  const first = CONTRACT.find((entry) => entry.path.test(path));
  if (!first) return { endpoint: [`${path}: no such path`], parameters: [] };
  const row = CONTRACT.find((entry) => entry.name === first.name && entry.method === method);
  if (!row) return { endpoint: [`${path}: no ${method} here`], parameters: [] };
  const parameters: string[] = [];
  const seen = new Set<string>();
  for (const name of new URLSearchParams(query).keys()) {
    const named = [...row.query, ...also].includes(parameterKind(name));
    if (!named) parameters.push(`${name}: no such parameter of ${method} ${path}`);
    else if (seen.has(name)) parameters.push(`${name}: given more than once`);
    seen.add(name);
  }
  return { endpoint: [], parameters };
}
