/**
 * The facts of a delivery's lines: stock, prices, and what the product data say of style and color.
 *
 * Free stock of a line = mirrored stock, less what other deliveries claim (reserved.ts), less what
 * earlier lines of this delivery take: no piece is counted on twice.
 */
import { type AliasedExpression, sql } from 'kysely';
import { isJsonObject, parseJsonObject } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
import { countryOf, currencyOf, emptyToNull, nameOf, spellingsOf } from '../../lib/strings.ts';
import {
  byBarcode,
  isLookedFor,
  type SameBarcodes,
  sameBarcodes,
} from '../../mirror/catalog/spelt.ts';
import type { LineFacts } from '../../rules/facts/plain.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Tx } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { keptAmong, keptForAll, keptOf } from '../../store/transaction/together.ts';
import { windowFacts } from '../calendar.ts';
import type { StylesRead } from '../fact-streams.ts';
import type { IsRead } from './customer.ts';
import { type Delivered, type DeliveredAs, reservedPieces } from './reserved.ts';
import { flagOf, stylesOf } from './styles.ts';

const linesOfOrder = keptAmong(
  (db, among) =>
    db
      .selectFrom('sales_order_line')
      .select([
        'order_id',
        'barcode',
        'quantity',
        'size_quantity',
        'price',
        'season_name',
        'delivery_name',
      ])
      .where(among('order_id'))
      .orderBy('line_no'),
  'order_id',
);

/** Reads the lines of an order; empty names become null. */
export async function orderLines(tx: Tx, orderId: number): Promise<readonly OrderLine[]> {
  return (await linesOfOrder(tx, orderId)).map(withNames);
}

function withNames<T extends PackedLine>(line: T): T {
  return {
    ...line,
    season_name: nameOf(line.season_name),
    delivery_name: nameOf(line.delivery_name),
  };
}

export interface OrderLine {
  /** Barcode of the line; null, like the quantity, when it could not be read. */
  readonly barcode: string | null;
  readonly quantity: number | null;
  /** Number of single pieces, with those inside assortments. */
  readonly size_quantity: number | null;
  readonly price: number | null;
  readonly season_name: string | null;
  readonly delivery_name: string | null;
}

interface OrderOfLines {
  readonly lines: readonly OrderLine[];
  readonly currency: string | null;
  /** Name of the season, if the order is a pre-order. */
  readonly season: string | null;
}

interface StockRead {
  /** Time of the last complete pull of the stock, in epoch milliseconds; 0: there was none. */
  readonly at: number;
  readonly unlisted: 0 | null;
}

const stockState = keptForAll((db) =>
  db
    .selectFrom('stream_state')
    .select(['complete_at', 'unlisted'])
    .where('stream', '=', sql.lit('stock')),
);

/**
 * Reads when the stock was last pulled completely, and the free pieces of a variant that the stock
 * list lacks: 0 for an account whose list has only what is in stock, else unknown.
 */
export async function readStock(tx: Tx): Promise<StockRead> {
  const [row] = await stockState(tx);
  const at = row?.complete_at ?? 0;
  return { at, unlisted: at > 0 && row?.unlisted === 'zero' ? 0 : null };
}

const LISTED = [
  'barcode',
  'currency',
  'wsp_price',
  'net_price',
  'net_currency',
  'discount_percent',
  'style_no',
  'style_name',
  'color_code',
  'color_name',
  'size',
  'brand_name',
  'color_active',
  'category',
  'gender',
] as const;

interface Listed extends Pick<Tables['season_variant'], (typeof LISTED)[number]> {
  /** JSON of the service's members that have no column; null if no rule reads a fact from it. */
  readonly extra: string | null;
}

const EXTRA_FACTS = ['type', 'weight', 'country_of_origin'];

/** Whether a rule reads a fact from the column `extra`, which costs a look-up for each row. */
function isExtraRead(isRead: IsRead): boolean {
  return isRead('delivery.weight') || EXTRA_FACTS.some((name) => isRead(`delivery.lines.${name}`));
}

const EXTRA = sql<string | null>`extra`.as('extra');
const NO_EXTRA = sql<string | null>`null`.as('extra');

function textIn(members: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = members[name];
  return typeof value === 'string' ? nameOf(value) : null;
}

/** Facts of the product that the lists of variants have in `extra`, by its JSON text. */
export function extraFacts(extra: string | null) {
  const details = extra === null ? undefined : parseJsonObject(extra).details;
  const members = isJsonObject(details) ? details : {};
  const { weight } = members;
  return {
    type: textIn(members, 'type'),
    // Weights are rounded up, so that a weight above a limit never looks equal to it.
    weight: typeof weight === 'number' && weight >= 0 ? Math.ceil(weight) : null,
    country_of_origin: countryOf(textIn(members, 'countryOfOrigin')),
  };
}

/** Reads the season's variants with these barcodes for a pre-order; empty for other orders. */
async function seasonVariants(
  tx: Tx,
  season: string | null,
  barcodes: readonly string[],
  isRead: IsRead,
): Promise<ReadonlyMap<string, Listed>> {
  if (season === null) return new Map();
  return byBarcode(tx, barcodes, (asked) =>
    tx
      .selectFrom('season_variant')
      .select(LISTED)
      .select(isExtraRead(isRead) ? EXTRA : NO_EXTRA)
      .where(inKeys('barcode', asked))
      .where(inKeys('season_name', spellingsOf(season)))
      .where('deleted_at', 'is', null)
      .execute(),
  );
}

/**
 * The value that all these order lines share; null if they differ, because nobody knows which of
 * them was packed. An order may name a barcode once per delivery window, each with its own price.
 */
function agreed<T>(lines: readonly OrderLine[], read: (line: OrderLine) => T): T | null {
  const [value, other] = new Set(lines.map(read));
  return value === undefined || other !== undefined ? null : value;
}

/**
 * Price of the order line that a packed line is: the one that all its order lines share, else that
 * of the order line with the packed price, as long as no more pieces are packed at it than were
 * ordered at it, in all deliveries. So goods given free beside the same goods paid have a price of
 * their own, and more than were given free have none; neither have lines of several windows.
 */
function ownPrice(
  packed: { readonly name: string | null; readonly price: number | null },
  {
    meant,
    ordered,
  }: { readonly meant: readonly OrderLine[]; readonly ordered: readonly OrderLine[] },
  delivered: DeliveredAs,
): number | null {
  const { name, price } = packed;
  const prices = new Set(meant.map((line) => line.price));
  const windows = new Set(meant.map((line) => `${line.season_name}/${line.delivery_name}`));
  // Nobody knows which window was packed, if several have the barcode.
  if (prices.size < 2 || windows.size > 1) return agreed(meant, (line) => line.price);
  if (name === null || price === null || !prices.has(price) || prices.has(null)) return null;
  const given = delivered.at(name, price);
  const wanted = piecesOf(ordered.filter((line) => line.price === price));
  return given !== null && wanted !== null && given <= wanted ? price : null;
}

interface PackedLine {
  readonly season_name: string | null;
  readonly delivery_name: string | null;
}

/** Sum of the pieces of these lines; null when the quantity of one is unknown. */
export function piecesOf(lines: readonly OrderLine[]): number | null {
  let sum = 0;
  for (const { quantity } of lines) {
    if (quantity === null) return null;
    sum += quantity;
  }
  return sum;
}

/**
 * The order lines with the barcode of a packed line; if the packed line names a delivery window,
 * only those of that window.
 */
function ofWindow(lines: readonly OrderLine[], packed: PackedLine): readonly OrderLine[] {
  const same = (names: 'season_name' | 'delivery_name', line: OrderLine): boolean =>
    packed[names] === null || line[names] === null || line[names] === packed[names];
  const own = lines.filter((line) => same('season_name', line) && same('delivery_name', line));
  return own.length > 0 ? own : lines;
}

/** Prices that the service lists now, in the currency of the order. */
function listedPrices(listed: Listed | undefined, currency: string | null) {
  const isOurs = (other: string | null | undefined): boolean =>
    currency !== null && currencyOf(other) === currency;
  const net = listed?.net_price ?? null;
  const discount = listed?.discount_percent ?? null;
  return {
    list_price: isOurs(listed?.currency) ? (listed?.wsp_price ?? null) : null,
    net_price: isOurs(listed?.net_currency ?? listed?.currency) ? net : null,
    discount: discount === null ? null : String(decimalOf(discount)),
  };
}

function stockedWith(extra: AliasedExpression<string | null, 'extra'>) {
  return keptOf(
    (db, among) =>
      db
        .selectFrom('stock_variant')
        .select(LISTED)
        .select(['quantity', 'season_name', 'changed_at'])
        .select(extra)
        .where(among('barcode'))
        .where('deleted_at', 'is', null),
    'barcode',
  );
}

const stockedWhole = stockedWith(EXTRA);
const stockedBare = stockedWith(NO_EXTRA);

function freeOf(quantity: number | null, others: number | null): number | null {
  return quantity === null || others === null ? null : Math.max(0, quantity - others);
}

/**
 * Milliseconds since the stock figure was read; null when it never was, or the clock was set back
 * since.
 */
function stockAge(
  variant: { readonly changed_at: number } | undefined,
  read: StockRead,
  now: number,
): number | null {
  const unlistedAt = read.unlisted === 0 ? read.at : 0;
  const at = variant ? Math.max(read.at, variant.changed_at) : unlistedAt;
  return at === 0 || at > now ? null : now - at;
}

/** Milliseconds since the last complete pull of the stock; null when there was none. */
export function stockFacts({ at }: StockRead, now: number): { readonly age: number | null } {
  return { age: at === 0 || at > now ? null : now - at };
}

/**
 * Pieces of a barcode that are ordered but not packed; null if the order does not have the barcode.
 */
function remainingOf(ordered: number | null, packed: number | null): number | null {
  return ordered === null || packed === null ? null : ordered - packed;
}

interface Taking {
  readonly barcodes: readonly string[];
  readonly same: SameBarcodes;
  readonly readAt: number;
}

/** Pieces that other deliveries claim, under one name for each barcode; null: unknown. */
async function takenPieces(
  tx: Tx,
  orderDeliveryId: number,
  { barcodes, same, readAt }: Taking,
): Promise<Map<string, number | null>> {
  const taken = new Map<string, number | null>();
  for (const [form, pieces] of await reservedPieces(tx, orderDeliveryId, barcodes, readAt)) {
    const name = same.nameOf(form);
    const before = taken.has(name) ? (taken.get(name) ?? null) : 0;
    taken.set(name, before === null || pieces === null ? null : before + pieces);
  }
  return taken;
}

export interface LinesContext {
  readonly delivered: Delivered;
  readonly read: StockRead;
  readonly isRead: IsRead;
  readonly stylesRead: StylesRead;
  readonly settings: RuleSet['settings'];
  readonly now: number;
}

interface ReadLines {
  readonly lines: readonly LineFacts[];
  /** Names the styles of which nothing is known for sure, if live rules rest on them. */
  readonly unread: readonly string[];
}

const packedLines = keptAmong(
  (db, among) =>
    db.selectFrom('delivery_line').selectAll().where(among('order_delivery_id')).orderBy('line_no'),
  'order_delivery_id',
);

export async function lineFacts(
  tx: Tx,
  orderDeliveryId: number,
  order: OrderOfLines,
  { delivered, read, isRead, stylesRead, settings, now }: LinesContext,
): Promise<ReadLines> {
  const packed = await packedLines(tx, orderDeliveryId);
  const lines = packed.map(withNames);
  const readable = lines.flatMap(({ barcode }) => (barcode === null ? [] : [barcode]));
  const barcodes = [...new Set(readable)];
  const stocked = isExtraRead(isRead) ? stockedWhole : stockedBare;
  const stock = await byBarcode(tx, barcodes, (asked) => stocked(tx, asked));
  const ahead = await seasonVariants(tx, order.season, barcodes, isRead);
  const prices: ReadonlyMap<string, Listed> = order.season === null ? stock : ahead;
  const known = [...stock.values(), ...ahead.values()];
  const styleNos = new Set(known.flatMap(({ style_no: no }) => (no === null ? [] : [no])));
  const styles = await stylesOf(tx, [...styleNos]);
  const ordered = order.lines.flatMap(({ barcode }) => (barcode === null ? [] : [barcode]));
  const same = await sameBarcodes(tx, [...barcodes, ...ordered]);
  const orderedAs = Map.groupBy(order.lines, (line) => same.nameOf(line.barcode ?? ''));
  const deliveredAs = delivered.by(same.nameOf);
  const taken = await takenPieces(tx, orderDeliveryId, { barcodes, same, readAt: read.at });
  const odd = new Set<string>();
  const facts = lines.map((line): LineFacts => {
    const barcode = line.barcode ?? '';
    const found = stock.get(barcode);
    // Pieces that others claim under a spelling that nobody looks for would be counted on twice.
    const variant = found && isLookedFor(barcode, found.barcode) ? found : undefined;
    const name = same.nameOf(barcode);
    const others = taken.has(name) ? (taken.get(name) ?? null) : 0;
    const own = line.fulfilled_quantity;
    taken.set(name, others === null || own === null ? null : others + own);
    const ordered = orderedAs.get(name) ?? [];
    const meant = ofWindow(ordered, line);
    const packedAs = { name: line.barcode && name, price: line.price };
    const alike = variant ? [] : same.listed(barcode);
    if (alike.length > 1) {
      odd.add(`the barcode ${barcode} (the stock lists ${alike.join(' and ')})`);
    }
    const price = prices.get(barcode);
    // Variants that are sold by pre-order only are missing from the stock list.
    const about: Listed | undefined = variant ?? price;
    const { unread: oddStyle, ...style } = styles(about);
    if (oddStyle && stylesRead[oddStyle.of]) {
      odd.add(`the style ${about?.style_no} (it ${oddStyle.why})`);
    }
    const orderedPieces = ordered.length > 0 ? piecesOf(ordered) : null;
    const season = line.season_name ?? nameOf(variant?.season_name);
    const deliveryName = line.delivery_name ?? agreed(meant, (one) => one.delivery_name);
    return {
      barcode: line.barcode,
      quantity: line.fulfilled_quantity,
      size_quantity: line.fulfilled_size_quantity,
      price: line.price,
      order_price: ownPrice(packedAs, { meant, ordered }, deliveredAs),
      ...listedPrices(price, order.currency),
      ordered: orderedPieces,
      remaining_quantity: remainingOf(orderedPieces, deliveredAs.of(name)),
      stock_free: variant ? freeOf(variant.quantity, others) : read.unlisted,
      stock_age: stockAge(variant, read, now),
      category: emptyToNull(about?.category),
      gender: emptyToNull(about?.gender),
      ...(isExtraRead(isRead) && extraFacts(about?.extra ?? null)),
      ...windowFacts(season, deliveryName, settings),
      style_no: about?.style_no ?? null,
      style_name: nameOf(about?.style_name),
      color_name: nameOf(about?.color_name),
      size_name: nameOf(about?.size),
      brand: about?.brand_name ?? null,
      season,
      delivery_name: deliveryName,
      ...style,
      color_active: flagOf(about?.color_active) ?? style.color_active,
    };
  });
  return { lines: facts, unread: [...odd] };
}
