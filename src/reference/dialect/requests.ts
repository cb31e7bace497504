/**
 * Reads requests as an account of this level and dialect does: it ignores or refuses what it does
 * not know, requires what it needs, and wants names in its own spelling.
 */
import { isJsonObject } from '../../lib/json.ts';
import { invalid } from '../v1/answer.ts';
import type { Route } from '../v1/route.ts';
import { hasBodyMember, hasParameter, needsAddress, needsBrand, needsFreight } from './levels.ts';
import { unspelled, unspelledBarcode } from './names.ts';
import type { Account } from './variants.ts';

type Members = Record<string, unknown>;

interface Request {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

const BY_BRAND = new Set(['/variants/stock', '/variants/season', '/seasons', '/variants']);
const OLD_VARIANTS = new Set(['/variants', '/variants/:barcode']);
const NAMES = new Set(['brandName', 'seasonName', 'SeasonName', 'DeliveryName', 'freightType']);
const FREIGHT = new Set(['freight', 'Freight']);

function members(value: unknown): Members {
  return isJsonObject(value) ? value : {};
}

export function demandsBrand(route: Route, { level, dialect }: Account): boolean {
  if (OLD_VARIANTS.has(route.path) && needsBrand(level)) return true;
  return dialect.brandRequired && BY_BRAND.has(route.path);
}

/** Tells whether this endpoint has the parameter at this level. */
export function takesParameter(route: Route, name: string, account: Account): boolean {
  const isBrand = name === 'brandName' && demandsBrand(route, account);
  return (isBrand || Object.hasOwn(route.query.shape, name)) && hasParameter(account.level, name);
}

function queryOf(route: Route, query: Members, account: Account, problems: string[]): Members {
  const refuses = account.dialect.unknownParameters === 'refuse';
  const out: Members = {};
  for (const [name, value] of Object.entries(query)) {
    if (takesParameter(route, name, account)) out[name] = value;
    else if (refuses) problems.push(`${name}: is not known`);
  }
  if (demandsBrand(route, account) && !out.brandName) problems.push('brandName: is required');
  const isOld = OLD_VARIANTS.has(route.path) && needsBrand(account.level);
  return isOld ? { ...out, detailed: 'true' } : out;
}

function takesMember(name: string, { level, dialect }: Account): boolean {
  if (!hasBodyMember(level, name)) return false;
  const { freightSpelling } = dialect;
  return !FREIGHT.has(name) || freightSpelling === 'both' || freightSpelling === name;
}

const PRE_ORDER: ReadonlySet<string> = new Set(['SeasonName', 'DeliveryName']);

/** Names under which the account heeds season and delivery of a new order. */
const PRE_ORDER_MEMBERS: Readonly<
  Record<Account['dialect']['preOrderNames'], Readonly<Record<string, string>>>
> = {
  heed: { SeasonName: 'SeasonName', DeliveryName: 'DeliveryName' },
  ignore: {},
  small: { seasonName: 'SeasonName', deliveryName: 'DeliveryName' },
};

function takenBarcode(barcode: string, { dialect: { names, barcodes } }: Account): string {
  if (barcodes === 'lostZeros') return barcode.replace(/^0/, '');
  return barcodes === 'number' ? barcode : unspelledBarcode(barcode, names);
}

/** The body without members that the account does not know, with names as the world has them. */
function bodyOf(value: unknown, name: string, account: Account, problems: string[]): unknown {
  const { names, barcodes, unknownParameters, preOrderNames } = account.dialect;
  if (Array.isArray(value)) return value.map((one) => bodyOf(one, name, account, problems));
  if (isJsonObject(value)) {
    const out: Members = {};
    for (const [member, inner] of Object.entries(value)) {
      const heeded = PRE_ORDER_MEMBERS[preOrderNames];
      const own = heeded[member] ?? member;
      if (PRE_ORDER.has(own) && !Object.hasOwn(heeded, member)) continue;
      if (takesMember(own, account)) out[own] = bodyOf(inner, own, account, problems);
      else if (unknownParameters === 'refuse') problems.push(`${member}: is not known`);
    }
    return out;
  }
  if (name === 'barcode' && typeof value === 'number' && barcodes !== 'text') return `${value}`;
  if (typeof value !== 'string') return value;
  if (name === 'barcode') return takenBarcode(value, account);
  return NAMES.has(name) ? unspelled(value, names) : value;
}

function demandOrder(body: Members, { level }: Account, problems: string[]): void {
  if (needsFreight(level) && !body.freight && !body.Freight) problems.push('freight: is required');
  if (needsAddress(level) && !body.shippingAddress) problems.push('shippingAddress: is required');
}

function isNewOrder({ method, path }: Route): boolean {
  return method === 'POST' && path === '/orders';
}

/** The request as the route expects it; throws a 422 with all problems. */
export function takeRequest(route: Route, request: Request, account: Account): Request {
  const { names, statusCase, statusNames } = account.dialect;
  const problems: string[] = [];
  const query = queryOf(route, members(request.query), account, problems);
  const body =
    route.body === undefined ? request.body : bodyOf(request.body, '', account, problems);
  if (isNewOrder(route)) demandOrder(members(body), account, problems);
  if (problems.length > 0) throw invalid([...new Set(problems)]);
  const params = { ...members(request.params) };
  if (typeof params.barcode === 'string') params.barcode = takenBarcode(params.barcode, account);
  for (const name of ['brandName', 'seasonName']) {
    const given = query[name];
    if (typeof given === 'string') query[name] = unspelled(given, names);
  }
  const isOurs = statusCase === 'lower' && Object.keys(statusNames).length === 0;
  return { params, query, body: isOurs ? body : withStatus(body, statusNames) };
}

/** Replaces a status in the account's words by the contract's; both are accepted. */
function withStatus(body: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!isJsonObject(body) || typeof body.status !== 'string') return body;
  const given = body.status.toLowerCase();
  const ours = Object.keys(names).find((name) => names[name]?.toLowerCase() === given);
  return { ...body, status: ours ?? given };
}
