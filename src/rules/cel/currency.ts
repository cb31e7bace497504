/**
 * A bare number has no currency, an amount has. A rule that compares the two must say for which
 * currency the number is meant: `order.currency == "DKK"`, or a table with a row per currency.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import type { CurrencyOwner } from '../facts/table.ts';
import type { Shape } from './shape.ts';
import { textOf } from './tree.ts';

function isZero(node: ASTNode): boolean {
  return node.op === 'value' && (node.args === 0n || node.args === 0);
}

/** A side of a comparison, sum or quotient; `owner` is known only where a path names an amount. */
export interface Side {
  readonly node: ASTNode;
  readonly owner: CurrencyOwner | undefined;
}

export interface BareAmount {
  readonly start: number;
  readonly end: number;
  readonly owner: Exclude<CurrencyOwner, 'base'>;
}

/** Reads the type that the library's checker found, so the condition must be checked before. */
function isAmount(node: ASTNode): boolean {
  return 'checkedType' in node && String(node.checkedType) === 'Money';
}

/**
 * Amounts that meet a number which no currency belongs to.
 *
 * @param owners of all amounts that the condition reads: an amount that came by way of a list or a
 *   choice may be any of them.
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
    // The settings fix the base currency, so that a bare number has one.
    return [...(owner ? [owner] : owners)].flatMap((one) =>
      one === 'base' || isTableByCurrency(other, one) ? [] : [{ start, end, owner: one }],
    );
  });
}

/** The currency owner of an expression; undefined when no path in it tells. */
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

/** The currency owner of a fact; undefined when it is not an amount. */
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

/** `order.currency`, also joined with other texts. */
function namesCurrency(node: ASTNode, owner: CurrencyOwner): boolean {
  if (node.op === '+') return node.args.some((part) => namesCurrency(part, owner));
  return currencyPath(node) === owner;
}

/** `tables.limits[order.currency]` holds one number per currency, whatever other keys it has. */
function isTableByCurrency(node: ASTNode, owner: CurrencyOwner): boolean {
  if (node.op !== '[]') return false;
  return namesCurrency(node.args[1], owner) || isTableByCurrency(node.args[0], owner);
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
