/**
 * Rewrites the data of an answer or an event into the values of a dialect: types, empty and absent
 * values, times, statuses, names. The JSON tree is walked, and the name of a member decides how its
 * value is rewritten.
 */
import { isJsonObject } from '../../lib/json.ts';
import type { Dialect } from '../control/dialect-knobs.ts';
import { hasMember, type LevelledShape } from './levels.ts';
import { spelled, spelledBarcode } from './names.ts';
import { type Account, variantRow } from './variants.ts';

type TimeDialect = Pick<Dialect, 'times' | 'timeZone' | 'timeFormat'>;

/** The time in the zone, as in `2026-01-02T03:04:05.678`. */
function localIso(ms: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    fractionalSecondDigits: 3,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const at = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  const day = `${at('year').padStart(4, '0')}-${at('month')}-${at('day')}`;
  return `${day}T${at('hour')}:${at('minute')}:${at('second')}.${at('fractionalSecond')}`;
}

/** Offset of a zone from UTC, as in `+01:00`, from the zone's time. */
function offsetOf(ms: number, local: string): string {
  const minutes = Math.round((Date.parse(`${local}Z`) - ms) / 60_000);
  if (minutes === 0) return 'Z';
  const two = (value: number): string => String(Math.trunc(value)).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`;
}

/** The time in the account's format; a text that is no time stays as it is. */
function spelledTime(iso: string, { times, timeZone, timeFormat }: TimeDialect): string {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return iso;
  const local = localIso(ms, timeZone);
  const zone = times === 'local' ? '' : offsetOf(ms, local);
  return timeFormat === 'sql'
    ? local.replace('T', ' ').replace(/\.\d+$/, '') + zone
    : `${local}${zone}`;
}

type Members = Record<string, unknown>;

/**
 * Suffix for the name of a member that occurs twice: an object cannot have it twice, its text can.
 */
export const DUPLICATES = '#twice';

const AMOUNTS = new Set(
  (
    'price wspPrice b2cSalePrice priceOriginal freightAmount wspPriceOriginal ' +
    'wspPriceWithDiscount'
  ).split(' '),
);
const COUNTS = new Set(
  (
    'count quantity fulfilledQuantity sizeQuantity fulfilledSizeQuantity refundedQuantity ' +
    'refundedSizeQuantity weight discountPercentage'
  ).split(' '),
);
const IDS = new Set(['orderId', 'orderDeliveryId', 'orderRefundId', 'pendingRefundId']);
const NAMES = new Set(
  'brandName seasonName SeasonName season delivery deliveryNames freightType'.split(' '),
);
const TIMES = new Set(['createdAt', 'updatedAt']);
const TEXTS = new Set(['comment', 'styleDescription', 'description']);
const ADDRESS_OPTIONAL = new Set(['address2', 'company', 'provinceCode', 'accountNo']);
const ROW_QUANTITIES = ['quantity', 'fulfilledQuantity', 'refundedQuantity'];

/** Members that an object may lack, by a member that only such an object has. */
const OPTIONAL: Readonly<Record<string, readonly string[]>> = {
  orderLineItems: ['SeasonName'],
  fulfilledQuantity: ['season', 'delivery'],
  freightAmount: ['freightType', 'parcelShopId', 'warehouseCode'],
  refundedLineItems: ['pendingRefundId'],
  refundedQuantity: ['refundType'],
  refundLineItems: ['comment'],
};

/**
 * Kinds of objects of which a level lacks some members, by a member that only such an object has.
 */
const LEVELLED: Readonly<Record<string, LevelledShape>> = {
  orderLineItems: 'order',
  freightAmount: 'freight',
  refundedLineItems: 'refund',
  orderStatus: 'created',
};

function amountText(value: number, { currency, numbers }: Dialect): string {
  if (numbers === 'comma') {
    const digits = { minimumFractionDigits: 2, maximumFractionDigits: 4 };
    return value.toLocaleString('de-DE', digits);
  }
  if (currency === 'JPY') return String(value);
  const [whole = '', fraction = ''] = String(value).split('.');
  return `${whole}.${fraction.padEnd(2, '0')}`;
}

function numberValue(value: number, name: string, dialect: Dialect): unknown {
  if (IDS.has(name)) return dialect.ids === 'text' ? String(value) : value;
  if (dialect.numbers === 'number') return value;
  if (AMOUNTS.has(name)) return amountText(value, dialect);
  return COUNTS.has(name) ? String(value) : value;
}

function flagValue(value: boolean, { flags }: Dialect): unknown {
  if (flags === 'boolean') return value;
  if (flags === 'letter') return value ? 'Y' : 'N';
  return flags === 'number' ? Number(value) : String(Number(value));
}

function statusValue(status: string, dialect: Dialect, ofDelivery: boolean): string {
  const name = (ofDelivery ? dialect.statusNames[status] : undefined) ?? status;
  if (dialect.statusCase === 'upper') return name.toUpperCase();
  if (dialect.statusCase === 'lower') return name;
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function barcodeValue(barcode: string, dialect: Dialect): unknown {
  return dialect.barcodes !== 'text' && /^[1-9]\d{0,14}$/.test(barcode)
    ? Number(barcode)
    : spelledBarcode(barcode, dialect.names);
}

function textValue(value: string, name: string, dialect: Dialect): unknown {
  if (name === 'barcode') return barcodeValue(value, dialect);
  if (NAMES.has(name) && value !== '') return spelled(value, dialect.names);
  if (name === 'status' || name === 'orderStatus') return statusValue(value, dialect, false);
  if (TIMES.has(name)) return spelledTime(value, dialect);
  if (ADDRESS_OPTIONAL.has(name) && value === '' && dialect.absent === 'null') return null;
  return dialect.nulCharacters && TEXTS.has(name) ? `${value}\u0000` : value;
}

/** Puts null or an empty text where a member is missing. */
function withAbsent(members: Members, { absent }: Dialect): Members {
  if (absent === 'omit') return members;
  const optional = Object.keys(OPTIONAL).flatMap((mark) =>
    Object.hasOwn(members, mark) ? (OPTIONAL[mark] ?? []) : [],
  );
  const filler = absent === 'null' ? null : '';
  return { ...Object.fromEntries(optional.map((name) => [name, filler])), ...members };
}

function ofLevel(members: Members, level: string): Members {
  const mark = Object.keys(LEVELLED).find((name) => Object.hasOwn(members, name));
  const shape = mark === undefined ? undefined : LEVELLED[mark];
  if (shape === undefined) return members;
  return Object.fromEntries(
    Object.entries(members).filter(([name]) => hasMember(level, shape, name)),
  );
}

function isHidden(name: string, members: Members, dialect: Dialect): boolean {
  if (name === 'createdAt') return !dialect.createdAt;
  if (name === 'SeasonName') return !dialect.orderSeason;
  const ofOrder = Object.hasOwn(members, 'orderLineItems');
  return name === 'currency' && ofOrder && !dialect.orderCurrency;
}

function isEmptyTracking(members: Members): boolean {
  const lists = [members.trackingNumbers, members.trackingLinks];
  return lists.every((list) => Array.isArray(list) && list.length === 0);
}

/** Changes which members an object has, before their values are translated. */
function reshaped(value: Members, name: string, account: Account): Members {
  const { level, dialect } = account;
  const isVariant = name === 'variants' || name === 'variant';
  const members = isVariant ? variantRow(value, account) : value;
  if (dialect.emptyObject === 'array' && isEmptyTracking(members)) return {};
  if (dialect.countExtra > 0 && Array.isArray(members.variants)) {
    return { ...members, count: Number(members.count) + dialect.countExtra };
  }
  return withAbsent(ofLevel(members, level), dialect);
}

/** Value in the dialect; undefined: the member is left out. */
type Translated = unknown;

function translateObject(value: Members, name: string, account: Account): Translated {
  const { dialect } = account;
  const members = reshaped(value, name, account);
  const ofDelivery = Object.hasOwn(members, 'orderDeliveryId');
  const out: Members = {};
  for (const [member, inner] of Object.entries(members)) {
    if (inner === undefined || isHidden(member, members, dialect)) continue;
    const isStatus = ofDelivery && member === 'status' && typeof inner === 'string';
    const translated = isStatus
      ? statusValue(inner, dialect, true)
      : translateValue(inner, member, account);
    if (translated !== undefined) out[member] = translated;
  }
  return Object.keys(out).length === 0 && dialect.emptyObject === 'array' ? [] : out;
}

/** The first row of a list with its quantity twice, the wrong one first. */
function withRepeatedMember(row: unknown): unknown {
  if (!isJsonObject(row)) return row;
  const name = ROW_QUANTITIES.find((one) => Object.hasOwn(row, one));
  if (name === undefined) return row;
  return { [`${name}${DUPLICATES}`]: Number(row[name]) + 1, ...row };
}

/** A list as the account writes it: objects by number or by a key, or a single one alone. */
function listed(rows: readonly unknown[], { lists }: Dialect): Translated {
  if (lists === 'indexed') return { ...rows };
  if (lists === 'array' || !rows.every(isJsonObject)) return rows;
  if (lists === 'single') return rows.length === 1 ? rows[0] : rows;
  return Object.fromEntries(rows.map((row, at) => [`row-${at + 1}`, row]));
}

function translateList(list: readonly unknown[], name: string, account: Account): Translated {
  const { dialect } = account;
  if (list.length === 0) {
    if (dialect.emptyList === 'object') return {};
    if (dialect.emptyList === 'null') return null;
    return dialect.emptyList === 'absent' ? undefined : [];
  }
  const rows: unknown[] = list.map((one) => translateValue(one, name, account) ?? null);
  if (dialect.repeatedMember) rows[0] = withRepeatedMember(rows[0]);
  return listed(rows, dialect);
}

/** Translates a value of V1 that belongs to the member of this name. */
export function translateValue(value: unknown, name: string, account: Account): Translated {
  const { dialect } = account;
  if (Array.isArray(value)) return translateList(value, name, account);
  if (isJsonObject(value)) return translateObject(value, name, account);
  if (typeof value === 'number') return numberValue(value, name, dialect);
  if (typeof value === 'boolean') return flagValue(value, dialect);
  return typeof value === 'string' ? textValue(value, name, dialect) : value;
}

/** Translates a value of V2, where lists and names stay as JSON:API has them. */
export function translateResource(value: unknown, name: string, dialect: Dialect): unknown {
  if (Array.isArray(value)) return value.map((one) => translateResource(one, name, dialect));
  if (isJsonObject(value)) {
    const members = Object.entries(value);
    if (members.length === 0 && dialect.emptyObject === 'array') return [];
    return Object.fromEntries(
      members.map(([member, inner]) => [member, translateResource(inner, member, dialect)]),
    );
  }
  if (typeof value === 'boolean') return flagValue(value, dialect);
  if (typeof value !== 'string') return value;
  if (name === 'id') return dialect.v2Ids === 'number' && /^\d+$/.test(value) ? +value : value;
  return TIMES.has(name) || TEXTS.has(name) ? textValue(value, name, dialect) : value;
}
