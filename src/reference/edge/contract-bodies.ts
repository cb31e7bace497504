/**
 * The members of V1's bodies that the wire contract names. V1 passes over the rest, as services
 * do; strict mode refuses it, because a member that nobody reads is a mistake of the client. V2
 * refuses such members by itself.
 */
import { isJsonObject } from '../../lib/json.ts';

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

/** By method and path, as the contract writes it. */
const BODIES: Readonly<Record<string, readonly string[]>> = {
  'POST /api/v1/auth/login': ['clientID', 'clientSecret'],
  'POST /api/v1/orders': ORDER,
  'POST /api/v1/orders/{order}/deliveries/{delivery}': ['status'],
  'POST /api/v1/orders/{order}/refunds/{refund}': ['status'],
  'POST /api/v1/orders/{order}/pending-refunds': PENDING_REFUND,
};

/** `orderLineItems[].barcode` for every leaf. */
function leavesOf(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(item, `${at}[]`));
  if (!isJsonObject(value)) return [at];
  return Object.entries(value).flatMap(([name, inner]) =>
    leavesOf(inner, at === '' ? name : `${at}.${name}`),
  );
}

/** Members that the contract does not name, each once. */
export function unknownMembers(request: string, body: unknown): string[] {
  const named = BODIES[request];
  if (!named || !isJsonObject(body)) return [];
  return [...new Set(leavesOf(body))].filter((leaf) => !named.includes(leaf));
}
