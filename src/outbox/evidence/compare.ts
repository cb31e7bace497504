/**
 * Compares orders and refunds of the service with documents; a member that one side omits is not
 * compared. Lines are compared as sums, because a service may join, split or sort them.
 */
import type { NewOrder } from '../../client/v1/order-body.ts';
import type { NewPendingRefund } from '../../client/v1/refunds.ts';
import { amountUnits, formatAmount } from '../../lib/money.ts';
import { countryOf, nameOf } from '../../lib/strings.ts';
import { keysAmong } from '../../mirror/catalog/spelt.ts';
import { type SeasonsShown, unseenSeason } from './seasons.ts';
import { foldReference } from './spelling.ts';

/** Text in the place of an unreadable value; it equals nothing that was sent. */
const UNREADABLE = '(cannot be read)';

interface Line {
  readonly barcode: string;
  /** Barcode in the form in which both sides are compared. */
  readonly key: string;
  readonly quantity: number;
  readonly priceUnits: number | null;
  /** Delivery name of an order line, or refund kind of a refund line. */
  readonly more: string | null;
}

interface Sum {
  readonly line: Line;
  quantity: number;
}

/** Barcodes whose prices, or delivery names, can be compared: every line of both sides has one. */
interface Known {
  readonly priced: ReadonlySet<string>;
  readonly named: ReadonlySet<string>;
}

function knownOf(lines: readonly Line[], withPrices: boolean): Known {
  const named = new Set(lines.map(({ key }) => key));
  const priced = withPrices ? new Set(named) : new Set<string>();
  for (const { key, priceUnits, more } of lines) {
    if (priceUnits === null) priced.delete(key);
    if (more === null) named.delete(key);
  }
  return { priced, named };
}

function sumsOf(lines: readonly Line[], { priced, named }: Known): Map<string, Sum> {
  const sums = new Map<string, Sum>();
  for (const line of lines) {
    const { key, priceUnits, more, quantity } = line;
    const price = priced.has(key) ? priceUnits : '';
    const name = named.has(key) ? foldReference(more ?? '') : '';
    const whole = `${key} ${price} ${name}`;
    const sum = sums.get(whole);
    if (sum) sum.quantity += quantity;
    else sums.set(whole, { line, quantity });
  }
  return sums;
}

function piecesText(quantity: number | undefined): string {
  return Number.isNaN(quantity) ? UNREADABLE : String(quantity);
}

/** Keys that compare folded barcodes of two sides: without leading zeros, if that tells enough. */
function keysOf(sent: Iterable<string>, shown: Iterable<string>): (key: string) => string {
  const [own, theirs] = [[...sent], [...shown]];
  // Most barcodes have no zero before, and walks compare very many.
  const hasZeros = [own, theirs].some((keys) => keys.some((key) => key.startsWith('0')));
  return hasZeros ? keysAmong(own, theirs) : (key) => key;
}

/** Describes lines that only one side has; members that one side omits are not compared. */
function lineDifferences(
  ours: readonly Line[],
  theirs: readonly Line[],
  { prices }: { readonly prices: boolean },
): string[] {
  const keyOf = keysOf(
    ours.map(({ key }) => key),
    theirs.map(({ key }) => key),
  );
  const keyed = (lines: readonly Line[]) =>
    lines.map((line) => ({ ...line, key: keyOf(line.key) }));
  const [sent, shown] = [keyed(ours), keyed(theirs)];
  const known = knownOf([...sent, ...shown], prices);
  const textOf = ({ barcode, key, priceUnits, more }: Line): string => {
    const isPriced = known.priced.has(key) && priceUnits !== null;
    const price = isPriced ? ` at ${formatAmount(priceUnits)}` : '';
    return `${barcode}${price}${known.named.has(key) ? ` for ${more}` : ''}`;
  };
  const [own, other] = [sumsOf(sent, known), sumsOf(shown, known)];
  const differences: string[] = [];
  for (const [whole, { line, quantity }] of own) {
    const there = other.get(whole)?.quantity;
    if (there === quantity) continue;
    const missing = `not at the service: ${quantity} × ${textOf(line)}`;
    const changed = `pieces: sent ${quantity}, shown ${piecesText(there)} × ${textOf(line)}`;
    differences.push(there === undefined ? missing : changed);
  }
  for (const [whole, { line, quantity }] of other) {
    const only = `only at the service: ${piecesText(quantity)} × ${textOf(line)}`;
    if (!own.has(whole)) differences.push(only);
  }
  return differences;
}

function lineOf(
  shown: string | null,
  pieces: number | null,
  priceUnits: number | null,
  more: string | null,
): Line {
  const barcode = shown ?? UNREADABLE;
  const quantity = pieces ?? Number.NaN;
  return { barcode, key: foldReference(barcode), quantity, priceUnits, more };
}

interface ShownLine {
  readonly barcode: string | null;
  readonly quantity: number | null;
  readonly price?: number | null | undefined;
}

export interface ShownOrder {
  readonly freight?: { readonly freightAmount?: number | null | undefined } | null | undefined;
  readonly SeasonName?: string | null | undefined;
  readonly shippingAddress?: ShownAddress | null | undefined;
  readonly orderLineItems:
    | readonly (ShownLine & {
        readonly season?: string | null | undefined;
        readonly delivery?: string | null | undefined;
      })[]
    | null;
}

export interface ShownPendingRefund {
  readonly refundLineItems:
    | readonly (ShownLine & { readonly refundType?: string | null | undefined })[]
    | null;
}

export interface OrderDifferences {
  /** Differences in pieces, prices or delivery names: the order is another one, or was changed. */
  readonly lines: readonly string[];
  readonly isPriceOnly: boolean;
  readonly season: readonly string[];
  /** Whether the document is a pre-order and nothing shows that the service took it as one. */
  readonly isSeasonUnseen: boolean;
  readonly address: readonly string[];
  readonly amounts: readonly string[];
}

export interface OrderReport {
  readonly differences: readonly string[];
  /** Whether the differences could make goods leave too early, go elsewhere, or be other goods. */
  readonly holds: boolean;
}

export function describeOrder(
  found: OrderDifferences,
  sent: NewOrder,
  shown: SeasonsShown,
): OrderReport {
  const { lines, isPriceOnly, address, amounts } = found;
  const { seasonName } = sent;
  const isUnseen = found.isSeasonUnseen && seasonName !== undefined;
  const season = [...found.season, ...(isUnseen ? unseenSeason(seasonName, shown) : [])];
  const isOther = lines.length > 0 && !isPriceOnly;
  return {
    differences: [...lines, ...season, ...address, ...amounts],
    holds: isOther || season.length > 0 || address.length > 0,
  };
}

function namesDeliveries({ orderLineItems }: ShownOrder): boolean {
  return (orderLineItems ?? []).some(({ delivery }) => nameOf(delivery) !== null);
}

function isSameName(own: string, other: string): boolean {
  return foldReference(own) === foldReference(other);
}

/** Names of the seasons that an order shows in its head or, without one there, in its lines. */
function seasonsOf({ SeasonName, orderLineItems }: ShownOrder): string[] {
  const head = nameOf(SeasonName);
  if (head !== null) return [head];
  return [...new Set((orderLineItems ?? []).flatMap(({ season }) => nameOf(season) ?? []))];
}

function seasonDifferences(
  { seasonName: own }: NewOrder,
  shown: ShownOrder,
): Pick<OrderDifferences, 'season' | 'isSeasonUnseen'> {
  // A plain order may be shown with the season of its styles.
  if (own === undefined) return { season: [], isSeasonUnseen: false };
  const seasons = seasonsOf(shown);
  const season = seasons
    .filter((name) => !isSameName(own, name))
    .map((name) => `season: sent ${own}, shown ${name}`);
  return { season, isSeasonUnseen: seasons.length === 0 && !namesDeliveries(shown) };
}

export function compareOrder(sent: NewOrder, shown: ShownOrder): OrderDifferences {
  const amounts: string[] = [];
  const freight = amountUnits(shown.freight?.freightAmount);
  if (sent.freight && freight !== null && freight !== sent.freight.freightAmountUnits) {
    const own = formatAmount(sent.freight.freightAmountUnits);
    amounts.push(`freight: sent ${own}, shown ${formatAmount(freight)}`);
  }
  // If one line of the order names its delivery, a line without a name belongs to none.
  const isNamed = namesDeliveries(shown);
  const own = sent.lines.map(({ barcode, quantity, priceUnits, deliveryName }) =>
    lineOf(barcode, quantity, priceUnits, deliveryName ?? null),
  );
  const theirs = (shown.orderLineItems ?? []).map(({ barcode, quantity, price, delivery }) => {
    const name = nameOf(delivery) ?? (isNamed ? 'no delivery' : null);
    return lineOf(barcode, quantity, amountUnits(price), name);
  });
  const differences = (prices: boolean) => lineDifferences(own, theirs, { prices });
  const lines = differences(true);
  return {
    lines,
    isPriceOnly: lines.length === 0 || differences(false).length === 0,
    ...seasonDifferences(sent, shown),
    address: addressDifferences(sent.shippingAddress, shown.shippingAddress),
    amounts,
  };
}

export function comparePendingRefund(sent: NewPendingRefund, shown: ShownPendingRefund): string[] {
  const own = sent.lines.map(({ barcode, quantity, priceUnits, refundType }) =>
    lineOf(barcode, quantity, priceUnits ?? null, refundType ?? null),
  );
  const theirs = (shown.refundLineItems ?? []).map(({ barcode, quantity, price, refundType }) =>
    lineOf(barcode, quantity, amountUnits(price), refundType ?? null),
  );
  return lineDifferences(own, theirs, { prices: true });
}

export type Pieces = ReadonlyMap<string, number>;

/** Sums the pieces of lines by barcode; unreadable lines equal nothing that was sent. */
export function piecesOf(lines: readonly Pick<ShownLine, 'barcode' | 'quantity'>[] | null): Pieces {
  const pieces = new Map<string, number>();
  for (const { barcode, quantity } of lines ?? []) {
    const key = foldReference(barcode ?? UNREADABLE);
    pieces.set(key, (pieces.get(key) ?? 0) + (quantity ?? Number.NaN));
  }
  return pieces;
}

/**
 * Relation of an order's pieces to those of a document. `alike`: the same. `related`: fewer or
 * more, as a service may make of an order that it cannot take as a whole. `other`: neither.
 */
export type Relation = 'alike' | 'related' | 'other';

export function relate(sent: Pieces, shown: Pieces): Relation {
  if (shown.size === 0) return 'other';
  const keyOf = keysOf(sent.keys(), shown.keys());
  const own = new Map([...sent].map(([barcode, pieces]) => [keyOf(barcode), pieces]));
  let equal = 0;
  let common = 0;
  for (const [barcode, pieces] of shown) {
    const wanted = own.get(keyOf(barcode));
    if (wanted !== undefined) common += 1;
    if (wanted === pieces) equal += 1;
  }
  if (equal === sent.size && equal === shown.size) return 'alike';
  return common === shown.size || equal === sent.size ? 'related' : 'other';
}

// Addresses: services rewrite them ("Str.", capitals, no accents, a cut); only another place or
// account is a difference.

type SentAddress = NonNullable<NewOrder['shippingAddress']>;
type ShownAddress = Readonly<Record<string, unknown>>;

/** Minimum share of common letter pairs in two names of one place: "Hauptstrasse", "Hauptstr.". */
const ALIKE_MIN = 0.5;

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
}

function plain(text: string): string {
  const letters = text.normalize('NFKD').toLowerCase().replaceAll('ß', 'ss');
  return letters.replace(/[^\p{L}\p{N}]/gu, '');
}

function pairsOf(text: string): Map<string, number> {
  const pairs = new Map<string, number>();
  for (let at = 0; at + 1 < text.length; at += 1) {
    const pair = text.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

/** Share of the shorter text's letter pairs that the longer text has as well. */
function likeness(one: string, other: string): number {
  const [own, theirs] = [pairsOf(one), pairsOf(other)];
  let common = 0;
  for (const [pair, count] of own) common += Math.min(count, theirs.get(pair) ?? 0);
  return common / Math.max(1, Math.min(one.length, other.length) - 1);
}

/** Whether two names may mean the same place; an empty name fits any, and a name may be cut. */
function isSamePlace(sent: string, shown: string): boolean {
  const [own, theirs] = [plain(sent), plain(shown)];
  if (own === '' || theirs === '' || own.startsWith(theirs) || theirs.startsWith(own)) return true;
  return likeness(own, theirs) >= ALIKE_MIN;
}

function numbersOf(text: string): string[] {
  return text.match(/\d+/g) ?? [];
}

/**
 * Whether two streets may be the same; house numbers may be in the second line, but must be equal.
 */
function isSameStreet(sent: SentAddress, shown: ShownAddress): boolean {
  if (!isSamePlace(sent.address, textOf(shown.address))) return false;
  const theirs = new Set(numbersOf(`${textOf(shown.address)} ${textOf(shown.address2)}`));
  return theirs.size === 0 || numbersOf(sent.address).every((number) => theirs.has(number));
}

/**
 * Describes members of the shown address that mean another place; omitted ones are not compared.
 */
function addressDifferences(
  sent: NewOrder['shippingAddress'],
  shown: ShownAddress | null | undefined,
): string[] {
  if (!sent || !shown) return [];
  const differences: string[] = [];
  const compare = (name: keyof SentAddress, isSame: (own: string, other: string) => boolean) => {
    const [own, other] = [textOf(sent[name]), textOf(shown[name])];
    if (own === '' || other === '' || isSame(own, other)) return;
    differences.push(`address: ${name} sent ${own}, shown ${other}`);
  };
  const isEqual = (own: string, other: string): boolean => plain(own) === plain(other);
  compare('countryCode', (own, other) => countryOf(own) === countryOf(other));
  compare('zip', isEqual);
  compare('city', isSamePlace);
  compare('address', () => isSameStreet(sent, shown));
  compare('accountNo', isEqual);
  return differences;
}
