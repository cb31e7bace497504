/**
 * The levels of V1 in one table: which level introduced which endpoint, parameter and member. An
 * account has a level, and the service then behaves as that version did.
 */

export const LEVEL_FIRST = '1.2.6';
export const LEVEL_LAST = '1.4.14';
/**
 * Level that introduced the stock and season lists, and with them `details`; variants were flat
 * before.
 */
const LISTS = '1.4.0';
const TRADE = '1.3.0';

/**
 * Level that introduced an endpoint, by method and path; one that is left out existed from the
 * first level on.
 */
const ENDPOINTS: Readonly<Record<string, string>> = {
  'GET /brands': '1.2.7',
  'GET /freight': '1.2.7',
  'GET /orders/:orderId/deliveries': TRADE,
  'GET /orders/:orderId/deliveries/:orderDeliveryId': TRADE,
  'POST /orders/:orderId/deliveries/:orderDeliveryId': TRADE,
  'GET /orders/:orderId/refunds': TRADE,
  'GET /orders/:orderId/refunds/:orderRefundId': TRADE,
  'POST /orders/:orderId/refunds/:orderRefundId': TRADE,
  'POST /webhook-portal': TRADE,
  'GET /seasons': LISTS,
  'GET /variants/stock': LISTS,
  'GET /variants/stock/:barcode': LISTS,
  'GET /variants/season': LISTS,
  'GET /variants/season/:barcode': LISTS,
  'POST /orders/:orderId/pending-refunds': '1.4.11',
  'GET /orders/:orderId/pending-refunds': '1.4.11',
  'GET /orders/:orderId/pending-refunds/:pendingRefundId': '1.4.11',
};

/** Level that introduced a query parameter, whatever the endpoint. */
const PARAMETERS: Readonly<Record<string, string>> = {
  detailed: LISTS,
  includeVariantsOnOrder: '1.4.9',
  detailedPricing: '1.4.14',
};

/** Level that introduced a member of a new order or of its lines. */
const BODY: Readonly<Record<string, string>> = {
  warehouseCode: '1.2.54',
  SeasonName: LISTS,
  DeliveryName: LISTS,
};

export type LevelledShape = 'variant' | 'order' | 'freight' | 'refund' | 'created';

/** Turns "level: its members" into a table of levels by member. */
function since(levels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(levels).flatMap(([level, names]) => names.split(' ').map((one) => [one, level])),
  );
}

/**
 * Level that introduced a member of answers, per kind of object; members of `details` count as the
 * variant's.
 */
const MEMBERS: Readonly<Record<LevelledShape, Readonly<Record<string, string>>>> = {
  variant: since({
    '1.2.8': 'styleDescription wash category quality type gender',
    '1.2.14': 'variantType',
    '1.2.17': 'b2bHidden colorActive tags weight customsTariffNumber countryOfOrigin',
    '1.2.37': 'wspPrice',
    '1.2.38': 'seasonName',
    '1.2.45': 'designer',
    '1.2.50': 'priceOriginal',
    '1.2.56':
      'colorCode careLabelWash careLabelIron careLabelDry careLabelDryClean careLabelBleach',
    '1.4.1': 'b2cSalePrice',
    '1.4.14': 'pricing',
  }),
  order: { SeasonName: LISTS },
  freight: { warehouseCode: '1.2.54' },
  refund: { pendingRefundId: '1.4.11' },
  created: { salesOrder: '1.4.4', deliveries: '1.4.12' },
};

type Place = readonly [first: number, second: number, third: number];

function placeOf(level: string): Place {
  const [first = 0, second = 0, third = 0] = level.split('.').map(Number);
  return [first, second, third];
}

function isAtLeast(level: string, since: string): boolean {
  const wanted = placeOf(since);
  for (const [at, part] of placeOf(level).entries()) {
    if (part !== wanted[at]) return part > (wanted[at] ?? 0);
  }
  return true;
}

export function isLevel(text: string): boolean {
  const isVersion = /^\d{1,2}\.\d{1,2}\.\d{1,2}$/.test(text);
  return isVersion && isAtLeast(text, LEVEL_FIRST) && isAtLeast(LEVEL_LAST, text);
}

export function hasEndpoint(level: string, method: string, path: string): boolean {
  return isAtLeast(level, ENDPOINTS[`${method} ${path}`] ?? LEVEL_FIRST);
}

export function hasParameter(level: string, name: string): boolean {
  return isAtLeast(level, PARAMETERS[name] ?? LEVEL_FIRST);
}

export function hasBodyMember(level: string, name: string): boolean {
  return isAtLeast(level, BODY[name] ?? LEVEL_FIRST);
}

export function hasMember(level: string, shape: LevelledShape, name: string): boolean {
  return isAtLeast(level, MEMBERS[shape][name] ?? LEVEL_FIRST);
}

/**
 * Tells whether a variant of this level has its details inside `details`, not beside barcode and
 * quantity.
 */
export function hasDetails(level: string): boolean {
  return isAtLeast(level, LISTS);
}

/** Tells whether `/variants` and `/variants/{barcode}` need a brand at this level. */
export function needsBrand(level: string): boolean {
  return !isAtLeast(level, LISTS);
}

export function needsFreight(level: string): boolean {
  return !isAtLeast(level, '1.3.3');
}

export function needsAddress(level: string): boolean {
  return !isAtLeast(level, '1.2.55');
}

/** Tells whether an account of this level has events, which the relay delivers. */
export function hasEvents(level: string): boolean {
  return isAtLeast(level, TRADE);
}
