/**
 * Finds amounts that are compared with a bare number, which has no currency. A rule with such a
 * comparison must say which currency the number is in: by `order.currency == "DKK"`, or by a table
 * with a row per currency.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import type { CurrencyOwner } from '../facts/table.ts';
import type { Shape } from './shape.ts';
import { textOf } from './tree.ts';

function isZero(node: ASTNode): boolean {
  return node.op === 'value' && (node.args === 0n || node.args === 0);
}

/**
 * Side of a comparison, sum or difference; `owner` is undefined if no path in it names an
 * amount.
 */
export interface Side {
  readonly node: ASTNode;
  readonly owner: CurrencyOwner | undefined;
}

export interface BareAmount {
  readonly start: number;
  readonly end: number;
  readonly owner: Exclude<CurrencyOwner, 'base'>;
}

/** Whether the node is an amount, by the type that the library's checker has stored in it. */
function isAmount(node: ASTNode): boolean {
  return 'checkedType' in node && String(node.checkedType) === 'Money';
}

/**
 * Finds amounts that are compared with a number to which no currency belongs.
 *
 * @param owners of all amounts that the condition reads: an amount from a list or a choice may have
 * any of them.
 */
export function bareAmounts(
  meetings: readonly (readonly [Side, Side])[],
  owners: ReadonlySet<CurrencyOwner>,
): readonly BareAmount[] {
  const bothWays = meetings.flatMap(([left, right]) => [
    { amount: left, other: right.node },
    { amount: right, other: left.node },
  ]);
  return bothWays.flatMap(({ amount, other }) => {
    const { node, owner } = amount;
    if (!isAmount(node) || isAmount(other) || isZero(other)) return [];
    const { start, end } = node;
    // A number compared with an amount in the base currency is in that currency, by the settings.
    return [...(owner ? [owner] : owners)].flatMap((one) =>
      one === 'base' || isTableByCurrency(other, one) ? [] : [{ start, end, owner: one }],
    );
  });
}

/** Owner of an expression's currency; undefined if no path in it names an amount. */
export function amountOwner(
  node: ASTNode,
  shapeOf: (node: ASTNode) => Shape,
): CurrencyOwner | undefined {
  if (node.op === '.') return fieldOwner(shapeOf(node));
  if (node.op === '+' || node.op === '-' || node.op === '*') {
    return amountOwner(node.args[0], shapeOf) ?? amountOwner(node.args[1], shapeOf);
  }
  return undefined;
}

/** Owner of a fact's currency; undefined if the fact is no amount. */
export function fieldOwner(shape: Shape): CurrencyOwner | undefined {
  if (shape.kind !== 'field' || shape.field.type !== 'money') return undefined;
  if (shape.field.unit === 'order.base_currency') return 'base';
  return shape.path.startsWith('customer.credit') ? 'credit' : 'order';
}

const CURRENCY_PATHS: Readonly<Record<string, CurrencyOwner>> = {
  'delivery.currency': 'order',
  'order.currency': 'order',
  'customer.credit.currency': 'credit',
};

/** Owner of the currency that a path such as `order.currency` names. */
function currencyPath(node: ASTNode): CurrencyOwner | undefined {
  const names: string[] = [];
  let inner = node;
  while (inner.op === '.') {
    names.unshift(inner.args[1]);
    inner = inner.args[0];
  }
  return inner.op === 'id' ? CURRENCY_PATHS[[inner.args, ...names].join('.')] : undefined;
}

/** Whether an expression is `order.currency`, or a sum of texts with it. */
function namesCurrency(node: ASTNode, owner: CurrencyOwner): boolean {
  if (node.op === '+') return node.args.some((part) => namesCurrency(part, owner));
  return currencyPath(node) === owner;
}

/**
 * Whether an expression is a table by currency, such as `tables.limits[order.currency]`, which has
 * one number per currency whatever other keys it has.
 */
function isTableByCurrency(node: ASTNode, owner: CurrencyOwner): boolean {
  if (node.op !== '[]') return false;
  return namesCurrency(node.args[1], owner) || isTableByCurrency(node.args[0], owner);
}

/**
 * Owners whose currency a condition fixes, by `order.currency == "DKK"` alone or joined with `&&`.
 */
export function pinnedCurrencies(node: ASTNode): readonly CurrencyOwner[] {
  if (node.op === '&&') return node.args.flatMap(pinnedCurrencies);
  if (node.op !== '==') return [];
  const [left, right] = node.args;
  const owner = currencyPath(left) ?? currencyPath(right);
  const fixed = textOf(left) ?? textOf(right);
  return owner !== undefined && fixed !== undefined ? [owner] : [];
}
