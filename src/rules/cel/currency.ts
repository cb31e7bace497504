/**
 * A bare number has no currency, an amount has. A rule that compares the two must say for which
 * currency the number is meant: `order.currency == "DKK"`, or a table with a row per currency.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import type { Shape } from './shape.ts';
import { textOf } from './tree.ts';

/** Whose currency an amount is in: that of the order, or that of the ERP's credit figures. */
export type CurrencyOwner = 'order' | 'credit';

function isZero(node: ASTNode): boolean {
  return node.op === 'value' && (node.args === 0n || node.args === 0);
}

/** The owner of `amount` when it meets a number that no currency belongs to. */
export function bareAmountOwner(
  amount: ASTNode,
  other: ASTNode,
  shapeOf: (node: ASTNode) => Shape,
): CurrencyOwner | undefined {
  const owner = amountOwner(amount, shapeOf);
  if (!owner || isZero(other) || amountOwner(other, shapeOf)) return undefined;
  return isTableByCurrency(other, owner) ? undefined : owner;
}

/** Whose amount an expression is; undefined when it is no amount. */
function amountOwner(node: ASTNode, shapeOf: (node: ASTNode) => Shape): CurrencyOwner | undefined {
  if (node.op === '.') {
    const shape = shapeOf(node);
    if (shape.kind !== 'field' || shape.field.type !== 'money') return undefined;
    return shape.path.startsWith('customer.credit') ? 'credit' : 'order';
  }
  if (node.op === '+' || node.op === '-' || node.op === '*') {
    return amountOwner(node.args[0], shapeOf) ?? amountOwner(node.args[1], shapeOf);
  }
  return node.op === '?:' ? amountOwner(node.args[1], shapeOf) : undefined;
}

const CURRENCY_PATHS: Readonly<Record<string, CurrencyOwner>> = {
  'delivery.currency': 'order',
  'order.currency': 'order',
  'customer.credit.currency': 'credit',
};

/** The owner that a path such as `order.currency` names. */
function currencyPath(node: ASTNode): CurrencyOwner | undefined {
  const names: string[] = [];
  let inner = node;
  while (inner.op === '.') {
    names.unshift(inner.args[1]);
    inner = inner.args[0];
  }
  return inner.op === 'id' ? CURRENCY_PATHS[[inner.args, ...names].join('.')] : undefined;
}

/** `tables.limits[order.currency]` holds one number per currency. */
function isTableByCurrency(node: ASTNode, owner: CurrencyOwner): boolean {
  return node.op === '[]' && currencyPath(node.args[1]) === owner;
}

/** Currencies that a condition fixes: `order.currency == "DKK"`, alone or joined with `&&`. */
export function pinnedCurrencies(node: ASTNode): readonly CurrencyOwner[] {
  if (node.op === '&&') return node.args.flatMap(pinnedCurrencies);
  if (node.op !== '==') return [];
  const [left, right] = node.args;
  const owner = currencyPath(left) ?? currencyPath(right);
  const fixed = textOf(left) ?? textOf(right);
  return owner !== undefined && fixed !== undefined ? [owner] : [];
}
