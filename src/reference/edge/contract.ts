/**
 * What the wire contract names, as a table: every path with its methods and query parameters.
 * Strict mode refuses the rest. It is written from the contract and not from the routes, so that
 * a route that takes more than it should is found too.
 */

interface ContractRow {
  readonly method: string;
  readonly path: RegExp;
  readonly query: readonly string[];
}

const PRICES = ['detailed', 'detailedPricing'];
const ON_ORDER = [...PRICES, 'includeVariantsOnOrder'];
const SEARCH = ['brandName', 'styleNo', 'page', 'limit'];
const DOCUMENT = [/^include$/, /^fields_\w+$/];

function row(methods: string, path: string, query: readonly string[] = []): ContractRow[] {
  const expression = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  return methods.split(' ').map((method) => ({ method, path: expression, query }));
}

const V1_ROWS: readonly ContractRow[] = [
  ...row('POST', '/auth/login'),
  ...row('GET', '/brands'),
  ...row('GET', '/freight'),
  ...row('GET', '/seasons', ['brandName']),
  ...row('GET', '/orders', ['beforeOrderId']),
  ...row('POST', '/orders'),
  ...row('GET', '/orders/{order}'),
  ...row('GET', '/orders/{order}/deliveries'),
  ...row('GET POST', '/orders/{order}/deliveries/{delivery}'),
  ...row('GET', '/orders/{order}/refunds'),
  ...row('GET POST', '/orders/{order}/refunds/{refund}'),
  ...row('GET POST', '/orders/{order}/pending-refunds'),
  ...row('GET', '/orders/{order}/pending-refunds/{refund}'),
  ...row('GET', '/variants/stock', [...SEARCH, 'search', ...ON_ORDER]),
  ...row('GET', '/variants/stock/{barcode}', ON_ORDER),
  ...row('GET', '/variants/season', ['seasonName', ...SEARCH, ...PRICES]),
  ...row('GET', '/variants/season/{barcode}', ['seasonName', ...PRICES]),
  ...row('GET', '/variants', [...SEARCH, 'search', ...ON_ORDER]),
  ...row('GET', '/variants/{barcode}', ON_ORDER),
  ...row('POST', '/webhook-portal'),
  ...row('GET', '/openapi.json'),
  ...row('GET', '/docs'),
];

const V2_RESOURCE = '/pdm/(?:styles|colors|style-colors|brands|types|genders|countries)';
const V2_NAMES = '/pdm/(?:brands|types)';

const V2_ROWS: readonly ContractRow[] = [
  ...row('POST', '/auth/login'),
  ...row('POST', '/webhook-portal'),
  ...row('GET', '/openapi.json'),
  ...row('GET', '/docs'),
  ...row('GET', V2_RESOURCE),
  ...row('GET', `${V2_RESOURCE}/{id}`),
  ...row('GET', '/pdm/styles/{id}/style-colors'),
  ...row('POST', '/pdm/styles'),
  ...row('PATCH', '/pdm/styles/{id}'),
  ...row('POST', V2_NAMES),
  ...row('PATCH DELETE', `${V2_NAMES}/{id}`),
];

/** Page parameters and filters belong to collections only. */
function v2Allows(path: string, name: string): boolean {
  if (!path.startsWith('/pdm/')) return false;
  if (DOCUMENT.some((pattern) => pattern.test(name))) return true;
  const collection = !/^\/pdm\/[^/]+\/[^/]+$/.test(path);
  return collection && /^(?:filter\[\w+\]|page\[(?:limit|token|offset)\])$/.test(name);
}

/** Why the contract has no such request, one sentence each. */
interface Breaches {
  /** There is no such path, or not with this method. */
  readonly endpoint: readonly string[];
  readonly parameters: readonly string[];
}

export function contractBreaches(method: string, path: string, query: string): Breaches {
  const base = /^\/api\/(v[12])(\/.*)$/.exec(path);
  const rows = base?.[1] === 'v2' ? V2_ROWS : V1_ROWS;
  const rest = base?.[2] ?? path;
  const onPath = base ? rows.filter((entry) => entry.path.test(rest)) : [];
  if (onPath.length === 0) return { endpoint: [`${path}: no such path`], parameters: [] };
  const named = onPath.filter((entry) => entry.method === method);
  if (named.length === 0) return { endpoint: [`${path}: no ${method} here`], parameters: [] };
  const breaches: string[] = [];
  const seen = new Set<string>();
  for (const name of new URLSearchParams(query).keys()) {
    const allowed =
      base?.[1] === 'v2' ? v2Allows(rest, name) : named.some((r) => r.query.includes(name));
    if (!allowed) breaches.push(`${name}: no such parameter of ${method} ${path}`);
    else if (seen.has(name)) breaches.push(`${name}: given more than once`);
    seen.add(name);
  }
  return { endpoint: [], parameters: breaches };
}
