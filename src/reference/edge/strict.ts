/** Checks of requests against the wire contract: paths, methods, query parameters and bodies. */
import { isJsonObject } from '../../lib/json.ts';
import { needsBrand } from '../dialect/levels.ts';
import { type EdgeAnswer, errorAnswer } from './answers.ts';
import type { JournalEntry } from './journal.ts';

interface ContractRow {
  readonly method: string;
  /** Path as the contract writes it, with the base of its API. */
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
/** Query parameters of one resource of V2; `*` stands for the rest of a name. */
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
  ...v2('GET', '/pdm/styles/{id}/style-colors/{id}', V2_SINGLE),
  ...v2('POST', '/pdm/styles', V2_SINGLE),
  ...v2('PATCH', '/pdm/styles/{id}', V2_SINGLE),
  ...V2_NAMES.flatMap((path) => v2('POST', `/pdm/${path}`, V2_SINGLE)),
  ...V2_NAMES.flatMap((path) => v2('PATCH', `/pdm/${path}/{id}`, V2_SINGLE)),
  ...V2_NAMES.flatMap((path) => v2('DELETE', `/pdm/${path}/{id}`)),
];

/**
 * Endpoints of the contract. A fixed path precedes one with a parameter in its place, because the
 * first match counts.
 */
export const CONTRACT: readonly ContractRow[] = [...V1_ROWS, ...V2_ROWS];

/** Parameter's name as the table of endpoints has it: `fields_*` for `fields_style`. */
export function parameterKind(name: string): string {
  return name.replace(/^fields_\w+$/, 'fields_*').replace(/^filter\[\w+\]$/, 'filter[*]');
}

/** Reasons for which the contract has no such request, one sentence each. */
interface Breaches {
  /** Reason if the path does not exist, or not with this method. */
  readonly endpoint: readonly string[];
  readonly parameters: readonly string[];
}

/** Name of a request as the contract writes it: `POST /api/v1/orders/{order}/refunds`. */
function requestName(method: string, path: string): string {
  return `${method} ${CONTRACT.find((entry) => entry.path.test(path))?.name ?? path}`;
}

/**
 * Finds violations of the contract by a request. `also` has parameters of older levels, which the
 * contract names for other paths only.
 */
function contractBreaches(
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

const ADDRESS = [
  'address',
  'address2',
  'city',
  'company',
  'countryCode',
  'firstName',
  'lastName',
  'phone',
  'email',
  'provinceCode',
  'zip',
  'accountNo',
];
const FREIGHT = ['freightAmount', 'freightType', 'parcelShopId', 'warehouseCode'];

function below(member: string, names: readonly string[]): string[] {
  return names.map((name) => `${member}.${name}`);
}

const ORDER = [
  'reference',
  'comment',
  'SeasonName',
  ...below('orderLineItems[]', ['barcode', 'quantity', 'price', 'DeliveryName']),
  ...below('shippingAddress', ADDRESS),
  ...below('Freight', FREIGHT),
  ...below('freight', FREIGHT),
];
const REFUND_LINE = ['barcode', 'quantity', 'price', 'refundType', 'restock'];
const PENDING_REFUND = ['reference', 'comment', ...below('refundLineItems[]', REFUND_LINE)];

/** Members of request bodies, by method and path as the contract writes them. */
const BODIES: Readonly<Record<string, readonly string[]>> = {
  'POST /api/v1/auth/login': ['clientID', 'clientSecret'],
  'POST /api/v1/orders': ORDER,
  'POST /api/v1/orders/{order}/deliveries/{delivery}': ['status'],
  'POST /api/v1/orders/{order}/refunds/{refund}': ['status'],
  'POST /api/v1/orders/{order}/pending-refunds': PENDING_REFUND,
};

/** Paths of all values inside a body, such as `orderLineItems[].barcode`. */
function leavesOf(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(item, `${at}[]`));
  if (!isJsonObject(value)) return [at];
  return Object.entries(value).flatMap(([name, inner]) =>
    leavesOf(inner, at === '' ? name : `${at}.${name}`),
  );
}

/** Members of a body that the contract does not name, each once. */
function unknownMembers(request: string, body: unknown): string[] {
  const named = BODIES[request];
  if (!named || !isJsonObject(body)) return [];
  return [...new Set(leavesOf(body))].filter((leaf) => !named.includes(leaf));
}

/** Statuses that only a wrong request gets. */
const MISTAKE_STATUSES = new Set([400, 403, 405, 406, 410, 413, 414, 415, 422, 429]);

const ONE_VARIANT = /^\/api\/v1\/variants\/[^/]+$/;

/** Refuses a request that the contract does not have; undefined: the contract has it. */
export function judgeRequest(entry: JournalEntry, level: string): EdgeAnswer | undefined {
  const { method, path, query } = entry;
  // Accounts of old levels demand the brand for a single variant as well.
  const also = needsBrand(level) && ONE_VARIANT.test(path) ? ['brandName'] : [];
  const { endpoint, parameters } = contractBreaches(method, path, query, also);
  entry.mistakes.push(...endpoint, ...parameters);
  if (endpoint.length > 0) return errorAnswer(path, 404, 'There is no such endpoint');
  const status = path.startsWith('/api/v2') ? 400 : 422;
  return parameters.length > 0 ? errorAnswer(path, status, parameters.join('; ')) : undefined;
}

/** Refuses a body with members that the contract does not have; undefined: there are none. */
export function judgeBody(entry: JournalEntry, body: unknown): EdgeAnswer | undefined {
  const unknown = unknownMembers(requestName(entry.method, entry.path), body);
  if (unknown.length === 0) return undefined;
  const lines = unknown.map((member) => `${member}: no such member of the body`);
  entry.mistakes.push(...lines);
  return errorAnswer(entry.path, 422, lines.join('; '));
}

/** Notes as a mistake of the client that a route refused its request. */
export function judgeStatus(entry: JournalEntry, status: number): void {
  if (entry.mistakes.length === 0 && MISTAKE_STATUSES.has(status)) {
    entry.mistakes.push(`refused with ${status}`);
  }
}
