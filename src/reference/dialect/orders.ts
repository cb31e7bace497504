/**
 * Changes new orders as an account stores them: the spelling of the reference, and the division
 * into lines.
 */
import type { JsonObject } from '../../lib/json.ts';
import type { Dialect } from '../control/dialect-knobs.ts';

const REFERENCE_CHARS_MAX = 20;
/** Maximum number of lines of one piece into which a line is split. */
const SPLIT_LINES_MAX = 1_000;

/** The reference of an order as the account stores it. */
export function spelledReference(reference: string, how: Dialect['references']): string {
  switch (how) {
    case 'cut20':
      return reference.slice(0, REFERENCE_CHARS_MAX);
    case 'upper':
      return reference.toUpperCase();
    case 'lower':
      return reference.toLowerCase();
    case 'spaces':
      return reference.trim().replaceAll(/\s+/g, ' ');
    case 'noHash':
      return reference.replaceAll('#', '');
    case 'prefix':
      return `WEB-${reference}`;
    case 'suffix':
      return `${reference}/1`;
    case 'empty':
      return '';
    case 'punctuation':
      return reference.replaceAll(/[^\p{L}\p{N}]/gu, '');
    case 'digits':
      return reference.replaceAll(/\D/g, '');
    default:
      return reference;
  }
}

interface Line {
  readonly barcode: string;
  readonly quantity: number;
  readonly price: number;
  readonly delivery?: string;
}

function joined<L extends Line>(lines: readonly L[]): L[] {
  const byKey = new Map<string, L>();
  for (const line of lines) {
    const key = JSON.stringify([line.barcode, line.price, line.delivery]);
    const before = byKey.get(key);
    byKey.set(key, before ? { ...before, quantity: before.quantity + line.quantity } : line);
  }
  return [...byKey.values()];
}

function split<L extends Line>(line: L): L[] {
  if (line.quantity > SPLIT_LINES_MAX) return [line];
  return Array.from({ length: line.quantity }, () => ({ ...line, quantity: 1 }));
}

/** The lines of an order as the account stores them; no piece is lost. */
export function keptLines<L extends Line>(lines: readonly L[], how: Dialect['orderLines']): L[] {
  if (how === 'joined') return joined(lines);
  if (how === 'split') return lines.flatMap(split);
  if (how === 'kept') return [...lines];
  return lines.toSorted((a, b) => (a.barcode < b.barcode ? 1 : -1));
}

/** Number that is added to the id of a delivery or an order for its alias. */
const ALIASES_FROM = 5_000_000;

/** A delivery as this kind of answer shows it: under its alias and that of its order, if any. */
export function aliasedDelivery(
  shape: JsonObject,
  { deliveryAliases, orderAliases }: Pick<Dialect, 'deliveryAliases' | 'orderAliases'>,
  where: 'answers' | 'lists',
): JsonObject {
  const ofOrder = aliasedOrder(shape, { orderAliases });
  if (deliveryAliases !== 'lists' && deliveryAliases !== where) return ofOrder;
  return { ...ofOrder, orderDeliveryId: Number(shape.orderDeliveryId) + ALIASES_FROM };
}

/** The own id of a delivery that this id names: itself, or what it is the alias of. */
export function unaliased(id: number, { deliveryAliases }: Dialect): number {
  return deliveryAliases !== 'none' && id > ALIASES_FROM ? id - ALIASES_FROM : id;
}

/** Tells whether the status of a delivery is set under this id. */
export function takesStatusOf(id: number, { deliveryAliases, deliveryTakenAs }: Dialect): boolean {
  if (deliveryAliases === 'none' || deliveryTakenAs === 'both') return true;
  return id > ALIASES_FROM === (deliveryTakenAs === 'alias');
}

/** An order as its address shows it. */
export function aliasedOrder(
  shape: JsonObject,
  { orderAliases }: Pick<Dialect, 'orderAliases'>,
): JsonObject {
  if (!orderAliases) return shape;
  return { ...shape, orderId: Number(shape.orderId) + ALIASES_FROM };
}
